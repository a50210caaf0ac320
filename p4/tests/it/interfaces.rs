//! The built switch between network interfaces: two pairs of veth in a namespace that the test makes.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use p4::Tables;
use p4::client::SwitchClient;

use crate::frames::Made;
use crate::process::PATIENCE;

/// Hosts at h1 and h2, the switch at s1 and s2; nothing else speaks there.
const NAMESPACE: &str = "
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
for host in 1 2; do
    ip link add h$host type veth peer name s$host
    ip link set h$host mtu 9200 up
    ip link set s$host mtu 9200 up
done
exec \"$@\"
";

#[test]
fn a_switch_between_interfaces_forwards_and_tells_of_what_the_system_dropped() {
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-ec", NAMESPACE, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "interfaces::in_a_namespace", "--ignored", "--nocapture"])
        .output()
        .expect("`unshare` is there");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// The end of a cable: what a host has of the network.
struct Host(OwnedFd);

impl Host {
    fn at(name: &str) -> Self {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).unwrap();
        let all = getifaddrs().unwrap().filter(|interface| interface.interface_name == name);
        let mut addresses = all.filter_map(|interface| interface.address);
        let address: LinkAddr = addresses.find_map(|address| address.as_link_addr().copied()).unwrap();
        bind(socket.as_raw_fd(), &address).unwrap();
        Self(socket)
    }

    fn send(&self, frame: &[u8]) {
        assert_eq!(send(self.0.as_raw_fd(), frame, MsgFlags::empty()), Ok(frame.len()));
    }

    fn receive(&self) -> Vec<u8> {
        self.receive_within(PATIENCE).expect("a frame is to come")
    }

    fn receive_within(&self, patience: Duration) -> Option<Vec<u8>> {
        setsockopt(&self.0, ReceiveTimeout, &TimeVal::milliseconds(patience.as_millis() as i64)).unwrap();
        let mut frame = vec![0; 1 << 16];
        let length = recv(self.0.as_raw_fd(), &mut frame, MsgFlags::empty()).ok()?;
        frame.truncate(length);
        Some(frame)
    }
}

/// The switch's process, which ends with this.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "changes the network: the test above runs it in a namespace"]
fn in_a_namespace() {
    let mut switch = Switch(
        Command::new(env!("CARGO_BIN_EXE_lumina-switch"))
            .args(["--port", "if:s1", "--port", "if:s2", "--listen", "127.0.0.1:0", "--die-with-parent"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut address = String::new();
    BufReader::new(switch.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = runtime.block_on(SwitchClient::connect(&address.trim().parse().unwrap())).unwrap();
    let hosts = [Host::at("h1"), Host::at("h2")];
    let of = |psn, payload| Made { psn, payload, ..Made::default() }.frame();

    runtime.block_on(client.program(&Tables::default())).unwrap();
    for psn in 0..100 {
        hosts[0].send(&of(psn, 1024));
        assert_eq!(hosts[1].receive(), of(psn, 1024));
    }
    let captured = runtime.block_on(client.collect()).unwrap();
    assert_eq!((captured.trace.records().len(), captured.losses), (100, vec![]));

    runtime.block_on(client.program(&Tables::default())).unwrap();
    // A switch that stands still for longer than the system has room.
    let process = Pid::from_raw(switch.0.id().cast_signed());
    kill(process, Signal::SIGSTOP).unwrap();
    waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
    const SENT: u64 = 30_000;
    let frame = of(7, 9000);
    for _ in 0..SENT {
        hosts[0].send(&frame);
    }
    kill(process, Signal::SIGCONT).unwrap();
    // The system tells of what it dropped with a later frame. The host's own socket drops as well while it is full.
    let (mut more, last, started) = (0, of(8, 64), Instant::now());
    loop {
        assert!(started.elapsed() < PATIENCE, "nothing comes any more");
        hosts[0].send(&last);
        more += 1;
        if std::iter::from_fn(|| hosts[1].receive_within(Duration::from_millis(50))).any(|one| one == last) {
            break;
        }
    }
    let captured = runtime.block_on(client.collect()).unwrap();
    assert_eq!(captured.losses.len(), 1, "{:?}", captured.losses);
    let losses = captured.losses[0];
    assert_eq!((losses.port, losses.overflow, losses.absent, losses.refused), (1, 0, 0, 0));
    assert!(losses.missed > 0);
    assert_eq!(captured.trace.records().len() as u64 + losses.missed, SENT + more);
}
