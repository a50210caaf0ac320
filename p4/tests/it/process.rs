//! The built `lumina-switch` between two fake guests, over real sockets.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dumper::serve::Address;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use p4::client::SwitchClient;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Longer than anything takes here, on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Time in which no frame may come where none should.
const SILENCE: Duration = Duration::from_millis(100);

/// A switch with two guests, requester's first. Everything ends with it.
pub(crate) struct Rig {
    folder: TempDir,
    pub(crate) switch: Child,
    pub(crate) address: Address,
    pub(crate) guests: [UnixDatagram; 2],
    pub(crate) runtime: Runtime,
}

impl Rig {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        Self::listening(|folder| format!("unix:{}", folder.join("control").display()), arguments)
    }

    /// With the services on TCP.
    pub(crate) fn start_over_tcp() -> Self {
        Self::listening(|_| "127.0.0.1:0".to_owned(), &[])
    }

    fn listening(listen: impl Fn(&Path) -> String, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let guests = [0, 1].map(|at| guest(folder.path(), at));
        let (switch, address) = start(folder.path(), &listen(folder.path()), arguments);
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder, switch, address, guests, runtime }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("it takes less") })
    }

    pub(crate) fn client(&self) -> SwitchClient {
        self.wait(SwitchClient::connect(&self.address, None)).unwrap()
    }

    /// A guest sends a frame, waiting while the switch is busy.
    pub(crate) fn send(&self, guest: usize, frame: &[u8]) {
        self.guests[guest].send_to(frame, self.path().join(format!("port-{guest}"))).unwrap();
    }

    /// The next frame for a guest.
    pub(crate) fn receive(&self, guest: usize) -> Vec<u8> {
        receive(&self.guests[guest], PATIENCE).expect("a frame is to come")
    }

    /// Nothing comes for either guest.
    pub(crate) fn assert_silence(&self) {
        for guest in &self.guests {
            assert_eq!(receive(guest, SILENCE), None);
        }
    }

    /// A guest ends; its socket's path may stay behind.
    pub(crate) fn shut_down(&mut self, guest_at: usize, leaves_its_socket: bool) {
        self.guests[guest_at] = UnixDatagram::unbound().unwrap();
        if !leaves_its_socket {
            std::fs::remove_file(self.guest_path(guest_at)).unwrap();
        }
    }

    /// A guest that was shut down starts, and has a new socket.
    pub(crate) fn boot(&mut self, guest_at: usize) {
        // It may not be there.
        let _ = std::fs::remove_file(self.guest_path(guest_at));
        self.guests[guest_at] = guest(self.path(), guest_at);
    }

    fn guest_path(&self, at: usize) -> PathBuf {
        self.path().join(format!("guest-{at}"))
    }

    /// Ends the switch and returns its exit code, its stderr, and the sockets that it left.
    pub(crate) fn terminate(mut self, signal: Signal) -> (Option<i32>, String, Vec<PathBuf>) {
        kill(Pid::from_raw(self.switch.id() as i32), signal).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.switch.stderr.take().unwrap(), &mut said).unwrap();
        (self.switch.wait().unwrap().code(), said, sockets(self.path()))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.switch.kill();
        let _ = self.switch.wait();
    }
}

fn guest(folder: &Path, at: usize) -> UnixDatagram {
    UnixDatagram::bind(folder.join(format!("guest-{at}"))).unwrap()
}

fn receive(guest: &UnixDatagram, patience: Duration) -> Option<Vec<u8>> {
    guest.set_read_timeout(Some(patience)).unwrap();
    let mut frame = vec![0; 1 << 17];
    match guest.recv(&mut frame) {
        Ok(len) => {
            frame.truncate(len);
            Some(frame)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The program, with both ports in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lumina-switch"));
    for at in 0..2 {
        let path = |name: &str| folder.join(format!("{name}-{at}")).display().to_string();
        command.args(["--port", &format!("unix:{}:{}", path("port"), path("guest"))]);
    }
    command
}

fn start(folder: &Path, listen: &str, arguments: &[&str]) -> (Child, Address) {
    let mut command = command(folder);
    // A test that panics or is killed leaves no switch behind.
    command.args(["--die-with-parent", "--listen", listen]).args(arguments);
    let mut switch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(switch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().parse().unwrap_or_else(|error| panic!("{error}: {line:?}"));
    (switch, address)
}

/// Waits until a process is gone.
pub(crate) fn assert_gone(pid: i32) {
    let begun = Instant::now();
    let alive =
        || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while alive() {
        assert!(begun.elapsed() < PATIENCE, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Folder of the switch's sockets.
pub(crate) fn sockets(folder: &Path) -> Vec<PathBuf> {
    ["port-0", "port-1", "control"]
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.exists())
        .collect()
}
