//! For tests: network namespaces with cables, which are pairs of veth.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is how a test says no")]

use std::process::Command;

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
pub enum Root {
    /// A user namespace, which anyone may make.
    OfUser,
    /// The machine, for what the kernel lets no user namespace do: programs of AF_XDP.
    OfMachine,
}

/// Runs an ignored test of the same program in a namespace with so many cables.
///
/// # Panics
/// When the test fails, or `unshare` or `ip` is missing.
pub fn in_namespace(cables: u32, test: &str) {
    in_namespace_of(Root::OfUser, cables, test, &[]);
}

/// The same with the capabilities of some root, and variables.
///
/// # Panics
/// As [`in_namespace`].
pub fn in_namespace_of(root: Root, cables: u32, test: &str, variables: &[(&str, &str)]) {
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
