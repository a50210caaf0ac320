//! The software switch: packets per second of processor time, and the latency that it adds, over unix sockets and between network
//! interfaces, with mirroring on.
//!
//! Everything is on one machine, in a network namespace that the benchmark makes: two hosts and a dumper, each at a pair of veth,
//! or the hosts at unix sockets. The switch has one processor, all else the other. Its processor time is that of its process, with the softirqs
//! that interrupted it, and what the other processor spent in softirqs: there packets come in at its ports.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot run says so")]

mod cost;
mod host;
mod latency;
mod packets;
mod rig;

use std::env;
use std::process::Command;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use rig::Kind;

/// Hosts at h1 and h2, the switch at s1 and s2, a dumper at h3; a and b are the ends of a cable without a switch.
const NAMESPACE: &str = "
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
for cable in 'h1 s1' 'h2 s2' 'h3 s3' 'a b'; do
    ip link add name ${cable% *} type veth peer name ${cable#* }
    for end in $cable; do ip link set dev $end mtu 4300 up; done
done
exec \"$LUMINA_BENCH\" --inside
";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--switch") => rig::serve(&arguments[1..]),
        Some("--inside") => measure(),
        // What `cargo bench` and `cargo test` say.
        _ => {
            let root = nix::unistd::geteuid().is_root();
            let user: &[&str] = if root { &[] } else { &["--user", "--map-root-user"] };
            let status = Command::new("unshare")
                .args(user)
                .args(["--net", "sh", "-ec", NAMESPACE, "sh"])
                .env("LUMINA_BENCH", env::current_exe().unwrap())
                .status()
                .expect("`unshare` is there");
            std::process::exit(status.code().unwrap_or(1));
        }
    }
}

/// Has this process run on one processor: the switch on the second, all else on the first.
fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor).unwrap();
    sched_setaffinity(Pid::from_raw(0), &set).expect("the machine has two processors");
}

fn measure() {
    pin(0);
    println!("Packets of {} bytes per second of processor time:", packets::BYTES);
    for kind in Kind::ALL {
        for entries in [10, 100_000] {
            cost::measure(kind, entries);
        }
    }
    println!("Added latency, one way, of one packet at a time:");
    for kind in Kind::ALL {
        latency::measure(kind);
    }
}
