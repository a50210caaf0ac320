//! Cables between hosts and a switch: pairs of veth in a namespace that the test makes.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

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

/// Runs an ignored test in a namespace with so many cables.
pub(crate) fn in_namespace(cables: u32, test: &str) {
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-ec", NAMESPACE, "sh", &cables.to_string()])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .expect("`unshare` is there");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "{said}");
    print!("{said}");
}

/// The end of a cable: what a host has of the network.
pub(crate) struct Host(OwnedFd);

impl Host {
    pub(crate) fn at(name: &str) -> Self {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).unwrap();
        let all = getifaddrs().unwrap().filter(|interface| interface.interface_name == name);
        let mut addresses = all.filter_map(|interface| interface.address);
        let address: LinkAddr = addresses.find_map(|address| address.as_link_addr().copied()).unwrap();
        bind(socket.as_raw_fd(), &address).unwrap();
        Self(socket)
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        assert_eq!(send(self.0.as_raw_fd(), frame, MsgFlags::empty()), Ok(frame.len()));
    }

    pub(crate) fn receive(&self) -> Vec<u8> {
        self.receive_within(PATIENCE).expect("a frame is to come")
    }

    pub(crate) fn receive_within(&self, patience: Duration) -> Option<Vec<u8>> {
        setsockopt(&self.0, ReceiveTimeout, &TimeVal::milliseconds(patience.as_millis() as i64)).unwrap();
        let mut frame = vec![0; 1 << 16];
        let length = recv(self.0.as_raw_fd(), &mut frame, MsgFlags::empty()).ok()?;
        frame.truncate(length);
        Some(frame)
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
