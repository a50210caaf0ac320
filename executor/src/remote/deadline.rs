//! Time limits of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use corpus::{Pattern, TestConfig, Traffic, Verb};
use dumper::timers::{LATEST_EXPIRY, rnr_wait};
use p4::{Actions, Entry, Key, Tables};

/// Time limits for hosts.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Part of the limit that every test gets: posting, a few packets.
    pub base: Duration,
    /// An ACK timer expires after so many times its setting, at the latest; 4 at most (IBA vol. 1, 9.7.6.1.3).
    pub latest: u32,
    /// Silence after which no packet is taken to be under way: longer than an ACK takes across a host.
    pub silence: Duration,
    /// Largest number of such waits: enough for the answers to retransmissions by timers, but not for a QP that never ends.
    pub silences: u32,
}

/// Goodput that an emulated host reaches at the least, in bytes a millisecond: less than a tenth of the one
/// measured at an MTU of 1024 (docs/vm-testbed.md).
const BYTES_PER_MS: u64 = 800;

/// Longest time of a message that another host waits for, without that of its bytes.
const TURN_MS: u64 = 1;

/// Longest wait for any test, besides its pauses: longer than tests within the limits of a testbed need.
const LONGEST: Duration = Duration::from_secs(120);

/// Time-outs that are waited for in a row, beyond those until a QP fails: each packet that is touched can cost one.
const MAX_TIMEOUTS: u32 = 64;

/// The ACK timer of exponent 0: 4.096 us (IBA vol. 1, 9.7.6.1.3).
const TIMEOUT_UNIT_NS: u64 = 4_096;

/// Deadline for a requester: messages that have not completed by then are outstanding. `tables` are those of
/// the injector.
pub(super) fn of(config: &TestConfig, tables: &Tables, patience: Patience) -> Duration {
    let traffic = &config.traffic;
    let messages = u64::from(traffic.load.connections()) * u64::from(traffic.num_msgs_per_qp);
    let bytes = messages.saturating_mul(traffic.message_size.into());
    let timeout = Duration::from_nanos(TIMEOUT_UNIT_NS << traffic.min_retransmit_timeout.min(31));
    // At the end a QP that hangs has been silent for longer than any timer may take to expire.
    let until_it_fails = (u32::from(traffic.max_retransmit_retry) + 1) * patience.latest;
    let expiries =
        until_it_fails.max(LATEST_EXPIRY) + losses(config, tables).min(MAX_TIMEOUTS) * patience.latest;
    let silent = timeout.saturating_mul(expiries);
    let turns = if traffic.pattern == Pattern::PingPong { messages } else { 0 };
    let moving = Duration::from_millis(bytes / BYTES_PER_MS + turns * TURN_MS);
    let waits = [silent, not_ready(traffic), Duration::from_nanos(config.longest_hold_ns())];
    let busy = waits.into_iter().fold(patience.base + moving, Duration::saturating_add).min(LONGEST);
    busy + Duration::from_nanos(traffic.pauses_ns())
}

/// Longest delay that RNR NAKs may cause: a wait for each Send of a connection for which no Receive is posted
/// yet, and the waits until its QP fails.
fn not_ready(traffic: &Traffic) -> Duration {
    // Those of an incomplete batch are not posted.
    if traffic.recv_depth - (traffic.receives_at_once() - 1) >= traffic.tx_depth {
        return Duration::ZERO;
    }
    // Where any connection carries Sends the first one does, and none carries more.
    let verbs = (0..traffic.num_msgs_per_qp).map(|message| traffic.load.verb(1, message));
    let sends = verbs.filter(|verb| *verb == Verb::Send).count();
    let waits = if sends == 0 { 0 } else { sends + usize::from(traffic.rnr_retry) };
    let wait = Duration::from_nanos(rnr_wait(traffic.min_rnr_timer).0);
    wait.saturating_mul(u32::try_from(waits).unwrap_or(u32::MAX))
}

/// Packets of one connection, of the one with most, that the injector does more to than to mark them, or may lose. Timers
/// of different connections run side by side.
fn losses(config: &TestConfig, tables: &Tables) -> u32 {
    events(tables).saturating_add(lost_at_random(config))
}

/// Most losses of a connection that are to be expected: their mean for its data packets and as many answers, and four standard
/// deviations more. Where the hosts post in turn, a connection waits for the other one of its pair.
fn lost_at_random(config: &TestConfig) -> u32 {
    let network = &config.network;
    if !network.loses() {
        return 0;
    }
    let pair = if config.traffic.pattern == Pattern::PingPong { 2.0 } else { 1.0 };
    let packets = 2.0 * pair * config.traffic.shape().packets() as f64;
    let mean = packets * f64::from(network.links) * f64::from(network.loss_ppb) / 1e9;
    (mean + 4.0 * mean.sqrt()).ceil() as u32
}

/// Packets of one connection, of the one with most, that events name and do more to than to mark them.
fn events(tables: &Tables) -> u32 {
    let mut losses: BTreeMap<u32, u32> = BTreeMap::new();
    for Entry { key, actions } in tables.entries() {
        if actions == (Actions { ecn: actions.ecn, ..Actions::default() }) {
            continue;
        }
        let (flow, packets) = match key {
            Key::Data { flow, .. } => (flow, 1),
            Key::Control { flow, nth, .. } => (flow, nth.iter().take(MAX_TIMEOUTS as usize).count() as u32),
        };
        *losses.entry(flow.connection()).or_default() += packets;
    }
    losses.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::{Action, ActionKind, Form};
    use dumper::Psn;
    use dumper::{Connection, Endpoint};

    const PATIENCE: Patience =
        Patience { base: Duration::from_secs(2), latest: 4, silence: Duration::ZERO, silences: 0 };

    fn test(text: &str) -> TestConfig {
        corpus::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn deadline(text: &str) -> Duration {
        let config =
            test(&format!("[traffic]\nmin-retransmit-timeout = 14\nmax-retransmit-retry = 7\n{text}"));
        let end = |host: u8, qpn| Endpoint {
            ip: [10, 0, 0, host].into(),
            qpn: Some(qpn),
            initial_psn: Some(Psn::new(0)),
        };
        let connections: Vec<Connection> = (1..=config.traffic.load.connections())
            .map(|qpn| Connection { requester: end(1, qpn), responder: end(2, qpn) })
            .collect();
        of(&config, &p4::translate(&config, &connections).unwrap(), PATIENCE)
    }

    #[test]
    fn a_test_that_exhausts_its_retries_is_waited_for() {
        // Eight times 67 ms, each at its latest.
        let latest = Duration::from_micros(67_108 * 4);
        let exhausts = deadline("");
        assert!(exhausts > PATIENCE.base + latest * 8);
        let event =
            |action: &str, packet: &str| format!("[[event]]\nqpn = [1, 2]\n{packet}\ntype = \"{action}\"\n");
        let two = "num-connections = 2\nmessage-size = 4096\n";
        let at = |events: &[String]| deadline(&format!("{two}{}", events.concat())) - deadline(two);
        // Two packets of each connection, side by side with those of the other.
        let lost = at(&[event("drop", "psn = 1"), event("corrupt", "psn = 2")]);
        assert!(lost >= latest * 2 && lost < latest * 3, "{lost:?}");
        // Marks cost no time; of control packets there may be any number.
        assert!(
            at(&[event("ecn", "psn = 1"), event("ecn", "packet = \"ack\"\nnth = 1\nevery = 1")]) < latest
        );
        let acks = at(&[event("drop", "packet = \"ack\"\nnth = 1\nevery = 1")]);
        assert!(acks >= latest * 64 && acks < latest * 65, "{acks:?}");
        let endless = test("[traffic]\nmin-retransmit-timeout = 31\n");
        assert_eq!(of(&endless, &Tables::default(), PATIENCE), LONGEST);
    }

    /// Of 100 packets and as many answers 2 are lost, and nearly never more than 8.
    #[test]
    fn losses_at_random_are_waited_for() {
        let latest = Duration::from_micros(67_109 * 4);
        let of = |text: &str| {
            deadline(&format!("message-size = 1024\nnum-msgs-per-qp = 100\n{text}"))
                - deadline("message-size = 1024\nnum-msgs-per-qp = 100\n")
        };
        let expiries = |text: &str| of(text).as_secs_f64() / latest.as_secs_f64();
        assert!((expiries("[network]\nloss-ppb = 10_000_000\n") - 8.0).abs() < 0.1);
        // Both links of each direction.
        assert!((expiries("[network]\nloss-ppb = 5_000_000\nlinks = 2\n") - 8.0).abs() < 0.1);
        assert!((expiries("[network]\nloss-ppb = 500_000_000\n") - 64.0).abs() < 0.1);
    }

    #[test]
    fn receives_that_come_late_are_waited_for() {
        let sends = |receives: u32, batch: u32| {
            deadline(&format!(
                "rdma-verb = \"send\"\nnum-msgs-per-qp = 10\ntx-depth = 4\nrecv-depth = {receives}\n\
                 recv-batch = {batch}\nmin-rnr-timer = 0\nrnr-retry = 6\n"
            ))
        };
        // A wait for each Send, and those until the QP fails.
        let late = Duration::from_micros(655_360 * 16);
        assert_eq!(sends(1, 1) - sends(4, 1), late);
        assert_eq!(sends(6, 4) - sends(6, 3), late, "of six, three are posted while four have not completed");
        assert_eq!(sends(4, 9), sends(4, 4));
    }

    #[test]
    fn pauses_are_waited_for_however_long_the_rest_takes() {
        let paused = |text: &str| deadline(&format!("num-msgs-per-qp = 9\ngap-ns = 5000000000\n{text}"));
        let plain = deadline("num-msgs-per-qp = 9\n");
        assert_eq!(paused("") - plain, Duration::from_secs(8 * 5));
        assert_eq!(paused("tx-depth = 4\n") - plain, Duration::from_secs(2 * 5));
        let endless = test("[traffic]\nmin-retransmit-timeout = 31\ngap-ns = 5000000000\n");
        assert_eq!(of(&endless, &Tables::default(), PATIENCE), LONGEST + Duration::from_secs(9 * 5));
    }

    #[test]
    fn a_delay_is_waited_for() {
        for kind in ActionKind::ALL.iter().filter(|kind| kind.form() == Form::Time) {
            let (name, operand) = (kind.name(), Action::operand_of(*kind).unwrap());
            let event =
                format!("[[event]]\nqpn = 1\npsn = 1\ntype = {name:?}\n{} = 3_000_000\n", operand.field.key);
            assert_eq!(test(&event).longest_hold_ns(), 3_000_000, "{name}");
            // What is held may be missed, too: an ACK timer at its latest.
            let expiry = Duration::from_nanos((TIMEOUT_UNIT_NS << 14) * 4);
            assert_eq!(deadline(&event) - deadline(""), expiry + Duration::from_millis(3), "{name}");
        }
        assert_eq!(TestConfig::default().longest_hold_ns(), 0);
    }
}
