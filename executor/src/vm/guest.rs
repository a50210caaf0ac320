//! A guest: started from a snapshot or booted, watched, and ended.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::thread;
use std::time::{Duration, Instant};

use super::Image;
use super::cable::Cable;
use super::monitor::Monitor;
use super::qemu::{Qemu, arguments_of_start};
use super::snapshot::Snapshot;
use dumper::serve::tls::{CA, CERTIFICATE, KEY};

use crate::guests::Console;
use crate::guests::GuestError;
use crate::guests::child::Child;
use crate::guests::error::At as _;
use crate::guests::tool::QEMU;

/// Longest time for a boot: some 4 s with TCG on an idle machine, many times that on a busy one.
const BOOT: Duration = Duration::from_secs(240);

/// Longest time until a guest that starts from a snapshot is ready: some 0.2 s on an idle machine.
const RESTORE: Duration = Duration::from_secs(30);

/// Longest wait for one answer of the agent.
const ANSWER: Duration = Duration::from_secs(5);

/// The first wait for it, which is doubled each time: what is sent before the guest runs is lost in QEMU.
const FIRST_ANSWER: Duration = Duration::from_millis(100);

/// Longest wait until the agent has keys.
const KEYS: Duration = Duration::from_secs(60);

/// Lines of the console that a message shows.
const SHOWN: usize = 12;

/// Kind of start of a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Its kernel was booted.
    Booted,
    /// It went on from a snapshot.
    Restored,
}

/// The connections of a guest.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// Its NIC's.
    pub cable: Cable,
    /// QEMU's monitor.
    pub monitor: PathBuf,
}

/// A running guest. It ends when this is dropped, and with this process, however that ends.
#[derive(Debug)]
pub struct Guest {
    host: u8,
    start: Start,
    child: Child,
    console: Console,
    words: ChildStdin,
    monitor: Monitor,
    agent: SocketAddr,
}

impl Guest {
    /// Starts the guest of a host (1: the requester's, 2: the responder's) and waits until its agent answers.
    /// It goes on from a snapshot if there is one that fits and works; else it boots, and leaves a snapshot
    /// for the next.
    ///
    /// # Errors
    /// QEMU cannot be started, or the guest ends or does not answer in time; with the last lines of the
    /// console.
    pub fn start(qemu: &Qemu, image: &Image, host: u8, sockets: &Sockets) -> Result<Self, GuestError> {
        let snapshot = Snapshot::of(qemu, image, host);
        if let Some(state) = snapshot.usable() {
            match Self::run(qemu, image, host, sockets, Some(&state)) {
                Ok(guest) => return Ok(guest),
                // Whatever is wrong with it, a boot makes a new one.
                Err(_) => snapshot.discard(),
            }
        }
        let mut guest = Self::run(qemu, image, host, sockets, None)?;
        let saved = snapshot.save(|path| guest.monitor.save(path, BOOT));
        if let Err(error) = saved {
            // A guest without snapshot is as good; one that does not go on is not.
            guest
                .answers(ANSWER)
                .map_err(|_| guest.wrong(&format!("it does not go on after its snapshot ({error})")))?;
        }
        Ok(guest)
    }

    fn run(
        qemu: &Qemu,
        image: &Image,
        host: u8,
        sockets: &Sockets,
        snapshot: Option<&Path>,
    ) -> Result<Self, GuestError> {
        let local = match &sockets.cable {
            Cable::Sockets { local, .. } => Some(local),
            Cable::Tap(_) => None,
        };
        for socket in local.into_iter().chain([&sockets.monitor]) {
            // Left by the guest that was here before.
            match fs::remove_file(socket) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).at("remove", socket);
                }
                _ => {}
            }
        }
        let mut arguments = qemu.fixed_arguments(image, host);
        arguments.extend(arguments_of_start(&sockets.cable, &sockets.monitor, snapshot));
        let (child, words, stdout) = Child::spawn(QEMU.program, arguments)?;
        let console = Console::of(stdout);
        let told = Monitor::connect(&sockets.monitor, || child.ended().is_none())
            .and_then(|mut monitor| monitor.forwarded_port().map(|port| (monitor, port)));
        let (monitor, port) = told.map_err(|error| {
            child.wait(Duration::from_millis(200));
            GuestError::Guest { host, why: format!("QEMU does not start ({error})"), said: child.stderr() }
        })?;
        let (start, limit) = match snapshot {
            Some(_) => (Start::Restored, RESTORE),
            None => (Start::Booted, BOOT),
        };
        let agent = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let guest = Self { host, start, child, console, words, monitor, agent };
        guest.wait_ready(limit)?;
        Ok(guest)
    }

    fn wait_ready(&self, limit: Duration) -> Result<(), GuestError> {
        let started = Instant::now();
        let mut patience = FIRST_ANSWER;
        loop {
            self.alive()?;
            match self.answers(patience) {
                Ok(()) => return Ok(()),
                Err(error) if started.elapsed() > limit => {
                    let seconds = limit.as_secs();
                    return Err(self.wrong(&format!("its agent does not answer after {seconds} s ({error})")));
                }
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
            patience = (patience * 2).min(ANSWER);
        }
    }

    /// Checks that the agent answers, as far as HTTP/2 goes, on which gRPC runs: the port itself is QEMU's,
    /// and open in any case.
    fn answers(&self, patience: Duration) -> io::Result<()> {
        let mut stream = TcpStream::connect_timeout(&self.agent, patience)?;
        stream.set_read_timeout(Some(patience))?;
        // RFC 9113, 3.4: the client's preface, and an empty SETTINGS frame.
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")?;
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        // The server's preface is a SETTINGS frame too.
        if header[3] == 4 { Ok(()) } else { Err(io::Error::other("it speaks no gRPC")) }
    }

    /// Checks that QEMU runs.
    ///
    /// # Errors
    /// It has ended; with its exit status, its last output and the console's.
    pub fn alive(&self) -> Result<(), GuestError> {
        match self.child.ended() {
            None => Ok(()),
            Some(status) => {
                self.console.wait_end(Duration::from_secs(2));
                Err(self.wrong(&format!("QEMU ended ({status})")))
            }
        }
    }

    fn wrong(&self, why: &str) -> GuestError {
        let said = format!("{}{}", self.console.tail(SHOWN), self.child.stderr());
        GuestError::Guest { host: self.host, why: why.to_owned(), said }
    }

    /// Says a line to the guest's first process.
    ///
    /// # Errors
    /// Its console is closed.
    pub fn say(&mut self, line: &str) -> Result<(), GuestError> {
        let said = self.words.write_all(format!("{line}\n").as_bytes());
        said.map_err(|error| self.wrong(&format!("its console cannot be written to ({error})")))
    }

    /// Gives the guest's agent the keys in a folder: from then on it serves orchestrators of their testbed alone.
    ///
    /// # Errors
    /// A file cannot be read, or the guest does not take them.
    pub fn give_keys(&mut self, folder: &Path) -> Result<(), GuestError> {
        for name in [CA, CERTIFICATE, KEY] {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).at("read", &path)?;
            for line in text.lines().filter(|line| !line.is_empty()) {
                self.say(&format!("key {name} {line}"))?;
            }
        }
        let mark = self.console.mark();
        self.say("keys")?;
        let taken = |line: &str| (line == "guest: agent has keys").then_some(());
        let said = self.console.wait_for(mark, KEYS, taken);
        said.ok_or_else(|| self.wrong("its agent does not take the keys"))
    }

    /// Has the guest ping the other one's first address; whether it was answered.
    ///
    /// # Errors
    /// The guest does not say.
    pub fn ping(&mut self) -> Result<bool, GuestError> {
        let mark = self.console.mark();
        self.say("ping")?;
        let said = self.console.wait_for(mark, Duration::from_secs(60), |line| match line {
            "guest: ping answered" => Some(true),
            "guest: ping unanswered" => Some(false),
            _ => None,
        });
        said.ok_or_else(|| self.wrong("it does not say whether its ping was answered"))
    }

    /// Address of its agent.
    #[must_use]
    pub fn agent(&self) -> SocketAddr {
        self.agent
    }

    /// Kind of its start.
    #[must_use]
    pub fn start_kind(&self) -> Start {
        self.start
    }

    /// Its console.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// QEMU's process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }
}
