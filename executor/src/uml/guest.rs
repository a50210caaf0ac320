//! A user-mode guest: its process, its devices, and its part in the calendar.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

use dumper::Nanos;
use dumper::observation::kernel::SPINNING;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::UmlError;
use super::core::Core;
use super::host::Host;
use super::image::Image;
use super::mode::Mode;
use super::net::{self, Net};
use super::port::{self, Port};
use super::shared::Shared;
use super::time::{Message, Op, TimeSocket};
use super::vhost::Device;
use super::watchdog::{self, Trouble, Watch};
use crate::guests::child::Child;
use crate::guests::tool::SETARCH;
use crate::guests::{Console, Fed, MTU, mac_of};

/// Memory of a guest, in MB, and of one whose kernel watches its memory: freed pages are held back for a while.
const MEMORY: u32 = 128;
const MEMORY_IF_WATCHED: u32 = 256;

/// Lines of the console that a message shows.
const SHOWN: usize = 12;

/// Real time without a word of a guest, after which its watchdog looks at it.
const LOOK: Duration = Duration::from_secs(1);

/// Time of day at which all guests begin: 2026-01-01, in ns of Unix time.
const TIME_OF_DAY: Nanos = Nanos(1_767_225_600_000_000_000);

/// A guest.
#[derive(Debug)]
pub(super) struct Guest {
    host: Host,
    child: Child,
    /// Ends it and all that it started when it is closed.
    _stdin: ChildStdin,
    stdout: ChildStdout,
    console: Fed,
    time: TimeSocket,
    shared: Arc<Shared>,
    state: State,
    /// Request that is not in the shared page.
    request: Option<Nanos>,
    net: Slot<Net>,
    port: Slot<Port>,
    mode: Mode,
    linux: PathBuf,
    /// The watchdog's report on a guest that was given up.
    report: Vec<String>,
}

/// State of a guest in the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It has not begun: this message is to be answered.
    Started(Message),
    Waits,
    Runs,
}

/// A device, whose driver connects when it is probed.
#[derive(Debug)]
enum Slot<T> {
    Listens(UnixListener),
    Connected(T),
}

impl<T> Slot<T> {
    fn device(&mut self) -> io::Result<&mut T> {
        match self {
            Self::Connected(device) => Ok(device),
            Self::Listens(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// A device of a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Net,
    Port,
}

/// What a guest that runs did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// It put buffers into a device's queues. This is to be answered.
    Kicked(Which),
    /// It sleeps.
    Waits,
}

impl Guest {
    /// Starts the process of a guest, which waits for its first turn; its sockets are in the folder.
    pub(super) fn start(
        host: Host,
        image: &Image,
        folder: &Path,
        mode: Mode,
        (shared, core): (Arc<Shared>, Option<Core>),
    ) -> Result<Self, UmlError> {
        let id = host.number();
        let at = |name: &str| folder.join(format!("{id}.{name}"));
        let listen = |name: &str| UnixListener::bind(at(name));
        let (time, net, port) = (listen("time")?, listen("net")?, listen("port")?);
        // The kernel's random numbers begin with its command line: no path in it differs from one run to the next.
        let here = |name: &str| format!("{id}.{name}");
        symlink(image.initramfs(), at("initramfs"))?;
        let is_watched = image.manifest.kernel.without_options().1.kasan;
        let memory = if is_watched { MEMORY_IF_WATCHED } else { MEMORY };
        let mut words: Vec<String> = vec!["-R".into(), image.linux().display().to_string()];
        words.extend([
            format!("time-travel=ext:{id}:{}", here("time")),
            format!("virtio_uml.device={}:{}", here("net"), net::TYPE),
            format!("virtio_uml.device={}:{}", here("port"), port::TYPE),
            format!("mem={memory}M"),
            format!("initrd={}", here("initramfs")),
            "uml_dir=./".into(),
            format!("umid=guest{id}"),
        ]);
        let fixed =
            "rdinit=/bin/lumina-agent oops=panic con=null con0=null,fd:1 virtio_net.napi_tx=0 panic=-1";
        words.extend(fixed.split_whitespace().map(String::from));
        // What the kernel does not know it puts into the environment of the first process.
        words.push(format!("LUMINA_GUEST={id}"));
        // Everything in it is at the same addresses in every run.
        let ended = |what: String| UmlError::Ended { host, what, said: String::new() };
        let (child, stdin, stdout) =
            Child::spawn_kept(folder, SETARCH.program, words).map_err(|error| ended(error.to_string()))?;
        if let Some(core) = core {
            core.give(child.pid());
        }
        let came = wait_for([time.as_fd(), stdout.as_fd()], child.pid())?;
        if !came.is_ok_and(|[came, _]| came) {
            let status =
                child.ended().map_or_else(|| "it does nothing".to_owned(), |status| status.to_string());
            return Err(ended(format!("it does not start ({status}) {}", child.stderr())));
        }
        let mut time = TimeSocket::new(time.accept()?.0);
        let state = State::Started(time.read()?);
        Ok(Self {
            host,
            child,
            _stdin: stdin,
            stdout,
            console: Fed::default(),
            time,
            shared,
            state,
            request: None,
            net: Slot::Listens(net),
            port: Slot::Listens(port),
            mode,
            linux: image.linux(),
            report: Vec::new(),
        })
    }

    /// Returns true if it uses the shared page.
    fn shares(&self) -> bool {
        self.shared.is_used_by(self.host)
    }

    /// Time at which the guest wants to run, if it does.
    pub(super) fn request(&self) -> Option<Nanos> {
        if let State::Started(_) = self.state {
            return Some(Nanos::ZERO);
        }
        let shared = if self.shares() { self.shared.request(self.host) } else { None };
        [self.request, shared].into_iter().flatten().min()
    }

    /// Lets the guest run, at a time that it has asked for, until another one.
    pub(super) fn run(&mut self, now: Nanos, free_until: Nanos) -> Result<(), UmlError> {
        let before = std::mem::replace(&mut self.state, State::Runs);
        self.request = None;
        self.shared.set_running(self.host, now, free_until);
        match before {
            State::Started(message) => {
                self.time.answer_start(message, self.host.number().into(), self.shared.descriptors())?;
            }
            State::Waits | State::Runs if self.shares() => {
                self.time.tell(Op::Run, now)?;
            }
            State::Waits | State::Runs => {
                self.tell(Op::FreeUntil, free_until, now)?;
                self.tell(Op::Run, now, now)?;
            }
        }
        Ok(())
    }

    /// The guest that runs must ask from an earlier time on.
    pub(super) fn shorten(&mut self, free_until: Nanos, now: Nanos) -> Result<(), UmlError> {
        if self.shares() {
            self.shared.shorten(free_until);
            return Ok(());
        }
        self.tell(Op::FreeUntil, free_until, now)
    }

    /// Sends a message and awaits its answer; the guest may say something else before it.
    fn tell(&mut self, op: Op, time: Nanos, now: Nanos) -> Result<(), UmlError> {
        let number = self.time.tell(op, time)?;
        loop {
            let message = self.time.read()?;
            if message.op == Op::Ack && message.number == number {
                return Ok(());
            }
            self.take_time(message, &mut now.clone())?;
        }
    }

    /// Serves the guest that runs, until it has done something.
    pub(super) fn serve(&mut self, now: &mut Nanos) -> Result<Did, UmlError> {
        loop {
            let ready = self.wait()?;
            if ready.console && self.read_console()? == 0 {
                return Err(self.says("its console is closed"));
            }
            if ready.net {
                match &mut self.net {
                    Slot::Connected(net) => {
                        if net.device.serve()?.is_some() {
                            self.look_at_time(now);
                            return Ok(Did::Kicked(Which::Net));
                        }
                    }
                    Slot::Listens(listener) => {
                        let mac = mac_of(self.host.number());
                        self.net = Slot::Connected(Net::new(listener.accept()?.0, mac, MTU, self.mode)?);
                    }
                }
            } else if ready.port {
                match &mut self.port {
                    Slot::Connected(port) => {
                        if port.device.serve()?.is_some() {
                            self.look_at_time(now);
                            return Ok(Did::Kicked(Which::Port));
                        }
                    }
                    Slot::Listens(listener) => {
                        self.port = Slot::Connected(Port::new(listener.accept()?.0, self.mode)?);
                    }
                }
            } else if ready.time {
                let message = self.time.read()?;
                if self.take_time(message, now)? {
                    self.read_console()?;
                    self.look_at_time(now);
                    return Ok(Did::Waits);
                }
            }
        }
    }

    /// Answers what [`Self::serve`] returned.
    pub(super) fn answer(&mut self, which: Which) -> Result<(), UmlError> {
        Ok(self.device(which)?.answer_kick()?)
    }

    /// Returns true if a device is there.
    pub(super) const fn has(&self, which: Which) -> bool {
        match which {
            Which::Net => matches!(self.net, Slot::Connected(_)),
            Which::Port => matches!(self.port, Slot::Connected(_)),
        }
    }

    /// Returns true if the port to its agent is there.
    pub(super) const fn has_port(&self) -> bool {
        self.has(Which::Port)
    }

    /// The network device.
    pub(super) fn net(&mut self) -> io::Result<&mut Net> {
        self.net.device()
    }

    /// The port to its agent.
    pub(super) fn port(&mut self) -> io::Result<&mut Port> {
        self.port.device()
    }

    /// Gives the guest, which sleeps, what waits for it at its devices, and interrupts it if it wants that.
    pub(super) fn fill(&mut self, which: Which, now: Nanos) -> Result<(), UmlError> {
        let queue = match which {
            Which::Net => self.net.device()?.fill()?,
            Which::Port => self.port.device()?.fill()?,
        };
        queue.map_or(Ok(()), |queue| self.interrupt(which, queue, now))
    }

    /// Tells the guest, which sleeps, that its frames were taken, if it waits for that.
    pub(super) fn tell_taken(&mut self, now: Nanos) -> Result<(), UmlError> {
        let queue = self.net.device()?.taken();
        queue.map_or(Ok(()), |queue| self.interrupt(Which::Net, queue, now))
    }

    /// Interrupts the guest, which sleeps, for a queue of a device, if its driver wants that.
    fn interrupt(&mut self, which: Which, queue: usize, now: Nanos) -> Result<(), UmlError> {
        self.shared.set_time(now);
        if !self.device(which)?.call(queue)? {
            return Ok(());
        }
        // The driver asks for the time, and for its turn, before it answers.
        loop {
            let calls = match which {
                Which::Net => self.net.device()?.device.calls_fd(),
                Which::Port => self.port.device()?.device.calls_fd(),
            };
            let calls = calls.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
            let [time, answered] = match wait_for([self.time.fd(), calls], self.child.pid())? {
                Ok(ready) => ready,
                Err(trouble) => return Err(self.give_up(trouble)),
            };
            if time {
                let message = self.time.read()?;
                self.take_time(message, &mut now.clone())?;
            } else if answered {
                return Ok(self.device(which)?.called()?);
            }
        }
    }

    fn device(&mut self, which: Which) -> io::Result<&mut Device> {
        Ok(match which {
            Which::Net => &mut self.net.device()?.device,
            Which::Port => &mut self.port.device()?.device,
        })
    }

    fn look_at_time(&self, now: &mut Nanos) {
        if self.shares() {
            *now = (*now).max(self.shared.time());
        }
    }

    /// Takes a message of the time protocol; true if the guest sleeps now.
    fn take_time(&mut self, message: Message, now: &mut Nanos) -> Result<bool, UmlError> {
        match message.op {
            Op::Wait => {
                self.state = State::Waits;
                if !self.shares() {
                    self.time.answer(message, *now)?;
                }
                return Ok(true);
            }
            Op::Request => {
                self.request = Some(message.time);
                self.time.answer(message, *now)?;
            }
            Op::Update => {
                *now = (*now).max(message.time);
                self.time.answer(message, *now)?;
            }
            Op::Get | Op::Broadcast => self.time.answer(message, *now)?,
            Op::GetTimeOfDay => self.time.answer(message, TIME_OF_DAY)?,
            Op::Ack | Op::Start | Op::Run | Op::FreeUntil => {
                return Err(self.says(&format!("its clock says {message:?}")));
            }
        }
        Ok(false)
    }

    /// Waits until the guest says something.
    fn wait(&mut self) -> Result<Ready, UmlError> {
        let net = match &self.net {
            Slot::Listens(listener) => listener.as_fd(),
            Slot::Connected(net) => net.device.fd(),
        };
        let port = match &self.port {
            Slot::Listens(listener) => listener.as_fd(),
            Slot::Connected(port) => port.device.fd(),
        };
        match wait_for([self.time.fd(), net, port, self.stdout.as_fd()], self.child.pid())? {
            Ok([time, net, port, console]) => Ok(Ready { time, net, port, console }),
            Err(trouble) => Err(self.give_up(trouble)),
        }
    }

    /// Gives a guest up that says nothing any more, with a report if its kernel spins.
    fn give_up(&mut self, trouble: Trouble) -> UmlError {
        match trouble {
            Trouble::Silent => self.says("it says nothing, or its machine stands still"),
            Trouble::Spins => {
                let calls = watchdog::calls(self.child.pid(), &self.linux);
                let place = calls.first().map(|place| format!("RIP: 0033:{place}"));
                let callers = calls.iter().skip(1).map(|call| format!(" {call}"));
                const SPINS: &str = "its kernel computes without end";
                let headline = [format!("{SPINNING}{SPINS}")];
                self.report = headline.into_iter().chain(place).chain(callers).collect();
                self.says(SPINS)
            }
        }
    }

    /// The watchdog's report on a guest that was given up, as its kernel would have written it.
    pub(super) fn report(&self) -> &[String] {
        &self.report
    }

    /// Takes what is on the console; how many bytes.
    fn read_console(&mut self) -> Result<usize, UmlError> {
        let mut bytes = [0; 4096];
        let mut all = 0;
        while is_readable(self.stdout.as_fd())? {
            match self.stdout.read(&mut bytes)? {
                0 => break,
                read => {
                    self.console.feed(&bytes[..read]);
                    all += read;
                }
            }
        }
        Ok(all)
    }

    /// It has ended, or does not do what a guest does.
    pub(super) fn says(&self, what: &str) -> UmlError {
        let what =
            self.child.ended().map_or_else(|| what.to_owned(), |status| format!("it ended ({status})"));
        UmlError::Ended { host: self.host, what, said: self.console.console().tail(SHOWN) }
    }

    /// The process of its kernel.
    pub(super) fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Its console.
    pub(super) const fn console(&self) -> &Console {
        self.console.console()
    }
}

struct Ready {
    time: bool,
    net: bool,
    port: bool,
    console: bool,
}

/// Which of some descriptors can be read from, or are closed; waits for one, until something is wrong with the guest whose
/// kernel is that process.
fn wait_for<const N: usize>(fds: [BorrowedFd<'_>; N], kernel: i32) -> io::Result<Result<[bool; N], Trouble>> {
    let mut polled = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let limit = PollTimeout::try_from(LOOK).expect("it is short");
    let mut watch = None;
    loop {
        match poll(&mut polled, limit) {
            Ok(0) => {
                if let Some(trouble) = watch.get_or_insert_with(|| Watch::on(kernel)).trouble() {
                    return Ok(Err(trouble));
                }
            }
            Ok(_) => return Ok(Ok(polled.map(|fd| fd.any().unwrap_or(true)))),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = [PollFd::new(fd, PollFlags::POLLIN)];
    let ready = poll(&mut polled, PollTimeout::ZERO).map_err(io::Error::from)?;
    Ok(ready > 0)
}
