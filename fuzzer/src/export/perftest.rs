//! A test as command lines of perftest (`ib_write_bw`, `ib_read_bw`, `ib_send_bw`), which every host with an RDMA NIC has or can
//! install, and in words what they cannot say.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use corpus::{Host, Load, TestConfig, Traffic, TrafficField, Verb, plural};
use dumper::script::Scope;
use executor::script::settings;

use crate::report;

/// Device of a host that the test does not name; to be replaced.
const DEVICE: &str = "mlx5_0";

/// TCP port of the first command's control connection, the default of perftest; the next command has the next port.
const PORT: u16 = 18_515;

/// Messages of a QP (`MIN_ITER` of perftest).
const MESSAGES: RangeInclusive<u32> = 5..=u32::MAX;

/// Bytes of a message (perftest's check of `-s`).
const BYTES: RangeInclusive<u32> = 1..=0x7fff_ffff;

/// Requests of a send queue (`MIN_TX` and `MAX_TX` of perftest).
const TX_DEPTH: RangeInclusive<u32> = 1..=15_000;

/// Requests of a receive queue (`MIN_RX` and `MAX_RX` of perftest).
const RX_DEPTH: RangeInclusive<u32> = 1..=16_384;

/// Retries of a QP that perftest makes without the connection manager.
const RETRIES: u8 = 7;

/// Fields that the command lines say.
const SAID: [&str; 6] =
    ["num-msgs-per-qp", "mtu", "message-size", "tx-depth", "min-retransmit-timeout", "max-retransmit-retry"];

/// Settings of a host that the command lines say, and those that name it.
const OF_HOSTS: [&str; 11] = [
    "nic",
    "ip-list",
    "if-name",
    "switch-port",
    "pci-addr",
    "ib-device",
    "ib-port",
    "control-ip",
    "workspace",
    "traffic-class",
    "ets",
];

/// The command lines of both hosts, the injected events, and every setting that perftest does not have.
#[must_use]
pub fn commands(config: &TestConfig) -> String {
    let mut text = String::new();
    let groups = groups(&config.traffic);
    // Writing to a String cannot fail.
    for (title, host, server) in [
        ("On the responder's host, first:", &config.responder, None),
        ("On the requester's host:", &config.requester, config.responder.ip_list.first()),
    ] {
        let _ = writeln!(text, "# {title}");
        for (port, group) in (PORT..).zip(&groups) {
            let mut line = command(config, host, group, port);
            if let Some(server) = server {
                let _ = write!(line, " {}", server.addr);
            }
            if groups.len() > 1 {
                line += " &";
            }
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "# In between, the injector:");
    for event in report::events(config) {
        let _ = writeln!(text, "#   {event}");
    }
    let left_out = left_out(config, &groups);
    if !left_out.is_empty() {
        let _ = writeln!(text, "\n# perftest cannot say:");
    }
    for one in left_out {
        let _ = writeln!(text, "#   {one}");
    }
    text
}

/// What a command runs: messages of one verb.
struct Group {
    verb: Verb,
    connections: u32,
    /// On each connection.
    messages: u32,
}

fn groups(traffic: &Traffic) -> Vec<Group> {
    let messages = traffic.num_msgs_per_qp;
    let group = |verb, connections, messages| Group { verb, connections, messages };
    let mut groups = match traffic.load {
        Load::Same { verb, connections } => vec![group(verb, connections, messages)],
        Load::Split { send, read } => {
            vec![group(Verb::Send, send, messages), group(Verb::Read, read, messages)]
        }
        // The first message is a Send.
        Load::Alternating { connections } => vec![
            group(Verb::Send, connections, messages.div_ceil(2)),
            group(Verb::Read, connections, messages / 2),
        ],
    };
    groups.retain(|group| group.messages > 0);
    groups
}

/// The value nearest to that of a test within the limits of a command line.
fn nearest(value: u32, limits: &RangeInclusive<u32>) -> u32 {
    value.clamp(*limits.start(), *limits.end())
}

fn command(config: &TestConfig, host: &Host, group: &Group, port: u16) -> String {
    let traffic = &config.traffic;
    let Group { verb, connections, messages } = *group;
    let program = match verb {
        Verb::Write => "ib_write_bw",
        Verb::Read => "ib_read_bw",
        Verb::Send => "ib_send_bw",
    };
    let device = host.physical.ib_device.as_deref().unwrap_or(DEVICE);
    let mut line = format!(
        "{program} -F -d {} -i {} -p {port} -q {connections} -s {} -n {} -m {} -t {} -u {}",
        quoted(device),
        host.physical.ib_port.unwrap_or(1),
        nearest(traffic.message_size, &BYTES),
        nearest(messages, &MESSAGES),
        traffic.mtu.bytes(),
        nearest(traffic.tx_depth, &TX_DEPTH),
        traffic.min_retransmit_timeout,
    );
    // Writing to a String cannot fail.
    if verb == Verb::Send {
        let _ = write!(line, " -r {}", nearest(traffic.recv_depth, &RX_DEPTH));
    }
    if verb == Verb::Read {
        let _ = write!(line, " -o {}", traffic.max_rd_atomic);
    }
    if traffic.max_retransmit_retry != RETRIES {
        let _ = write!(line, " -R --retry_count={}", traffic.max_retransmit_retry);
    }
    line
}

/// A word of a shell command, whatever is in it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace(|c: char| c.is_control(), " ").replace('\'', r"'\''"))
    }
}

/// Settings of the test that the command lines do not have.
fn left_out(config: &TestConfig, groups: &[Group]) -> Vec<String> {
    let traffic = &config.traffic;
    let mut left = Vec::new();
    if matches!(traffic.load, Load::Alternating { .. }) && groups.len() > 1 {
        left.push(
            "Sends and Reads by turns on one connection; here each verb has connections of its own".into(),
        );
    }
    let has = |verb| groups.iter().any(|group| group.verb == verb);
    let fewest = groups.iter().map(|group| group.messages).min();
    for (key, value, limits, unit) in [
        ("num-msgs-per-qp", fewest, MESSAGES, "message"),
        ("message-size", Some(traffic.message_size), BYTES, "byte"),
        ("tx-depth", Some(traffic.tx_depth), TX_DEPTH, "request"),
        ("recv-depth", has(Verb::Send).then_some(traffic.recv_depth), RX_DEPTH, "request"),
    ] {
        let Some(value) = value else { continue };
        let said = nearest(value, &limits);
        if said != value {
            left.push(format!(
                "{key} of {}: the nearest that it takes is {said}",
                plural(value.into(), unit)
            ));
        }
    }
    if config.requester.traffic_class.is_some() || config.requester.ets.is_some() {
        left.push("traffic classes of single connections; --tclass is for all of a command".into());
    }
    let of_verbs =
        |key: &str| (key == "recv-depth" && has(Verb::Send)) || (key == "max-rd-atomic" && has(Verb::Read));
    for field in TrafficField::ALL {
        if !SAID.contains(&field.key) && !of_verbs(field.key) && !field.is_default(traffic) {
            left.push(format!("{} = {}", field.key, field.text(traffic)));
        }
    }
    let of_nics = settings(config).into_iter().filter(|setting| match setting.scope {
        Scope::Requester | Scope::Responder => !OF_HOSTS.contains(&setting.key.value.as_str()),
        Scope::Control => true,
        Scope::Hosts | Scope::Traffic | Scope::Network => false,
    });
    left.extend(of_nics.map(|setting| setting.to_string()));
    left
}
