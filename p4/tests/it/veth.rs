//! Cables between hosts and a switch: pairs of veth in a namespace that the test makes.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dumper::ring::{Frames, Interface, sender};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use crate::process::PATIENCE;

/// Hosts at h1, h2 and so on, the switch at s1, s2 and so on; nothing else speaks there.
const NAMESPACE: &str = "
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
for host in $(seq $1); do
    ip link add h$host type veth peer name s$host
    ip link set h$host mtu 9200 up
    ip link set s$host mtu 9200 up
done
shift
exec \"$@\"
";

/// Where the capabilities of a namespace come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// A user namespace, which anyone may make.
    OfUser,
    /// The machine, for what the kernel lets no user namespace do: programs of AF_XDP.
    OfMachine,
}

/// Runs an ignored test in a namespace with so many cables.
pub(crate) fn in_namespace(cables: u32, test: &str) {
    in_namespace_of(Root::OfUser, cables, test, &[]);
}

/// The same with the capabilities of some root, and variables.
pub(crate) fn in_namespace_of(root: Root, cables: u32, test: &str, variables: &[(&str, &str)]) {
    let user: &[&str] = match root {
        Root::OfUser => &["--user", "--map-root-user"],
        Root::OfMachine => &[],
    };
    let ran = Command::new("unshare")
        .args(user)
        .args(["--net", "sh", "-ec", NAMESPACE, "sh", &cables.to_string()])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .expect("`unshare` is there");
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}{errors}");
    assert!(said.contains("1 passed"), "{said}");
    print!("{said}{errors}");
}

/// The end of a cable: what a host has of the network.
pub(crate) struct Host {
    out: OwnedFd,
    frames: RefCell<Frames>,
}

/// Bytes of frames that wait for a host.
const WAITING: usize = 16 << 20;

impl Host {
    pub(crate) fn at(name: &str) -> Self {
        let interface = Interface::named(name).unwrap();
        let frames = Frames::open(interface, WAITING).unwrap().into();
        Self { out: sender(interface).unwrap(), frames }
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        assert_eq!(send(self.out.as_raw_fd(), frame, MsgFlags::empty()), Ok(frame.len()));
    }

    pub(crate) fn receive(&self) -> Vec<u8> {
        self.receive_within(PATIENCE).expect("a frame is to come")
    }

    pub(crate) fn receive_within(&self, patience: Duration) -> Option<Vec<u8>> {
        let mut frames = self.frames.borrow_mut();
        let until = Instant::now() + patience;
        loop {
            let mut received = None;
            frames.take(1, |frame| received = Some(frame.to_vec()));
            if received.is_some() {
                return received;
            }
            let rest = until.checked_duration_since(Instant::now())?;
            let rest = PollTimeout::try_from(rest.as_millis() + 1).unwrap();
            poll(&mut [PollFd::new(frames.socket(), PollFlags::POLLIN)], rest).unwrap();
        }
    }
}

/// A process that ends with this.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
