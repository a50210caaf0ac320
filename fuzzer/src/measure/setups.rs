//! Tests that measure a number, on any NICs: the caller chooses the hosts.

use std::fmt::Write as _;

use corpus::{Cidr, Ets, Load, Role, TestConfig, TrafficClass, Verb};

/// Messages of [`tails`].
pub const TAILS: u32 = 5;
/// Packets of each of them.
const TAIL_PACKETS: u32 = 10;
/// Losses of a tail that is not to arrive: more than any NIC was measured to retry (Lumina (preprint) table 2: 13).
pub const FATAL_LOSSES: u32 = 20;

/// A test on default hosts from constants and numbers of this program.
pub fn test(traffic: &str, events: &str) -> TestConfig {
    let text = format!("[traffic]\n{traffic}{events}");
    corpus::from_toml("test", &text).expect("made from parts that are valid, which tests check")
}

/// An event in a test's file; `qpn` and `rest` are TOML.
pub fn event(qpn: &str, psn: u32, rest: &str) -> String {
    format!("[[event]]\nqpn = {qpn}\npsn = {psn}\n{rest}")
}

/// The loss of a packet of the first connection.
pub fn drop(psn: u32, iter: u32) -> String {
    event("1", psn, &format!("iter = {iter}\ntype = \"drop\"\n"))
}

/// One QP, messages of so many packets one after the other: the first loses its first packet, the second its second,
/// and so on but for the tail packet (Lumina, SIGCOMM'23, §6.1).
pub fn losses(verb: Verb, packets: u32) -> TestConfig {
    let traffic = format!(
        "num-msgs-per-qp = {}\nmessage-size = {}\niter-mode = \"per-message\"\n",
        packets - 1,
        packets * 1024
    );
    let events: String = (1..packets).map(|place| drop((place - 1) * packets + place, 1)).collect();
    of_verb(test(&traffic, &events), verb)
}

/// One QP with Reads of one packet, two at a time, whose every fifth request is lost: the next one shows that to the
/// responder.
pub fn lost_requests() -> TestConfig {
    let traffic = "rdma-verb = \"read\"\nnum-msgs-per-qp = 60\nmessage-size = 1024\ntx-depth = 2\n";
    let loss = "[[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 3\nevery = 5\ntype = \"drop\"\n";
    test(traffic, loss)
}

/// One QP with [`TAILS`] messages, each of which loses its tail packet so many times in a row.
pub fn tails(verb: Verb, losses: impl IntoIterator<Item = u32>) -> TestConfig {
    let traffic = format!(
        "num-msgs-per-qp = {TAILS}\nmessage-size = {}\niter-mode = \"per-message\"\n",
        TAIL_PACKETS * 1024
    );
    let mut events = String::new();
    for (message, losses) in (1..).zip(losses) {
        for iter in 1..=losses {
            // Writing to a String cannot fail.
            let _ = write!(events, "{}", drop(message * TAIL_PACKETS, iter));
        }
    }
    of_verb(test(&traffic, &events), verb)
}

/// One QP that sends so many messages of 1 MB whose packets are all marked: its CNPs show the interval.
pub fn interval(verb: Verb, messages: u32) -> TestConfig {
    let traffic = format!("num-msgs-per-qp = {messages}\nmessage-size = 1_024_000\n");
    of_verb(test(&traffic, &all_marked()), verb)
}

/// So many QPs that fill the link.
pub fn bulk(verb: Verb, connections: u32, events: &str) -> TestConfig {
    let traffic = format!(
        "num-connections = {connections}\nnum-msgs-per-qp = 20\nmessage-size = 1_024_000\ntx-depth = 4\n"
    );
    of_verb(test(&traffic, events), verb)
}

/// Connections of which the first `guilty` lose their first packet, and innocent ones beside them, with messages of so many
/// bytes.
pub fn neighbours(verb: Verb, guilty: u32, innocents: u32, bytes: u32) -> TestConfig {
    let traffic =
        format!("num-connections = {}\nnum-msgs-per-qp = 4\nmessage-size = {bytes}\n", guilty + innocents);
    let loss = event(&format!("{{ first = {guilty} }}"), 1, "type = \"drop\"\n");
    of_verb(test(&traffic, &loss), verb)
}

/// Connections that begin at once, with messages of so many bytes.
pub fn together(verb: Verb, connections: u32, bytes: u32) -> TestConfig {
    let traffic = format!("num-connections = {connections}\nnum-msgs-per-qp = 4\nmessage-size = {bytes}\n");
    of_verb(test(&traffic, ""), verb)
}

/// With traffic classes of such weights at both hosts, and QPs in these.
pub fn in_classes(mut config: TestConfig, class: &TrafficClass, weights: &[u8]) -> TestConfig {
    for role in Role::ALL {
        let host = config.host_mut(role);
        host.traffic_class = Some(class.clone());
        host.ets = Some(Ets { weights: weights.to_vec(), strict: Vec::new() });
    }
    config
}

/// Four QPs over two addresses of each host, whose packets are all marked. The messages are short, so that the QPs take
/// turns more often than an interval ends: its scope shows in which of them are answered.
pub fn scope(verb: Verb, messages: u32) -> TestConfig {
    let traffic = format!("num-connections = 4\nnum-msgs-per-qp = {messages}\nmessage-size = 4096\n");
    let mut config = of_verb(test(&traffic, &all_marked()), verb);
    for (host, last) in [(&mut config.requester, [1, 11]), (&mut config.responder, [2, 12])] {
        host.ip_list = last.map(ipv4).into();
    }
    config.traffic.multi_gid = true;
    config
}

/// 10.0.0.`last`/24.
pub fn ipv4(last: u8) -> Cidr {
    Cidr { addr: [10, 0, 0, last].into(), prefix: 24 }
}

/// Marks on all packets of all connections.
fn all_marked() -> String {
    event("\"all\"", 1, "every = 1\ntype = \"ecn\"\n")
}

fn of_verb(mut config: TestConfig, verb: Verb) -> TestConfig {
    config.traffic.load = Load::Same { verb, connections: config.traffic.load.connections() };
    config
}
