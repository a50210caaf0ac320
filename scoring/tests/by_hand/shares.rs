//! Transmission selection, pairs of NICs and retries, just below and just above each threshold.

use dumper::wire::Opcode::{Cnp, WriteFirst, WriteLast, WriteMiddle};
use dumper::{Counters, HostCounters, Nanos, Observation};
use scoring::score::{
    Assessment, Baseline, Burst, Objective, Reference, References, references_needed, score,
};

use crate::hand::{Hand, NAK, analysis, burst_of, config, rules, signatures};

const WITHHELD: &str = "non-work-conserving/port/bandwidth-withheld/weighted";
const PAIR: &str = "interop-discard/port/pair-discards";
const UNEXPLAINED: &str = "unexplained-discard/port/discards-unexplained";

const TWO_CLASSES: &str =
    "[requester]\ntraffic-class = 0\nets = { weights = [50, 50] }\n[traffic]\nnum-msgs-per-qp = 1\n";

/// A Write whose packets have such gaps in nanoseconds, and something in between.
fn spaced(gaps: &[u64], and: impl FnOnce(&mut Hand, dumper::FlowId, dumper::FlowId)) -> Observation {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    let mut time = 1_000;
    hand.packet(time, there, WriteFirst, 10);
    for (gap, psn) in gaps.iter().zip(11..) {
        time += gap;
        let last = psn == 10 + gaps.len() as u32;
        if last {
            hand.last(time, there, WriteLast, psn);
        } else {
            hand.packet(time, there, WriteMiddle, psn);
        }
    }
    hand.ack(time + 3_000, back, 10 + gaps.len() as u32, 1);
    and(&mut hand, there, back);
    hand.observation()
}

/// Assessment where a packet usually follows the one before it after so many picoseconds.
fn sharing(observation: &Observation, text: &str, usual: u64) -> Assessment {
    let config = config(text);
    let analysis = analysis(&config, observation);
    assert_eq!(references_needed(&config, observation, &analysis), [Reference::WithoutEts]);
    let baseline = Baseline { spacing_ps: [usual, usual], ..Baseline::default() };
    let references = References { without_ets: Some(baseline), ..References::default() };
    score(&config, observation, &analysis, &references)
}

fn found(gaps: &[u64], usual: u64) -> bool {
    let found = signatures(&sharing(&spaced(gaps, |_, _, _| ()), TWO_CLASSES, usual));
    assert!(found.is_empty() || found == [WITHHELD], "{found:?}");
    !found.is_empty()
}

#[test]
fn idle_links() {
    assert!(!found(&[110; 20], 100_000));
    assert!(found(&[111; 20], 100_000));
    // A nanosecond may be the time stamps'.
    assert!(!found(&[10; 20], 9_000));
    assert!(found(&[11; 20], 9_000));
    // A reference without packets cannot be compared with.
    assert!(!found(&[200; 20], 0));
}

#[test]
fn a_hiccup_is_no_limit() {
    let with_slow = |slow: usize| {
        let mut gaps = [100; 100];
        gaps[20..20 + slow].fill(200);
        found(&gaps, 100_000)
    };
    let mut gaps = [100; 20];
    gaps[7] = 1_000_000;
    assert!(!found(&gaps, 100_000));
    // Of 93 stretches of eight gaps those with two slow ones: four make 9, five make 10, which is a tenth.
    assert!(!with_slow(4));
    assert!(with_slow(5));
}

#[test]
fn a_reference_needs_something_to_compare() {
    let config = config(TWO_CLASSES);
    let asks = |gaps: &[u64]| {
        let observation = spaced(gaps, |_, _, _| ());
        references_needed(&config, &observation, &analysis(&config, &observation))
    };
    assert_eq!(asks(&[100; 7]), []);
    assert_eq!(asks(&[100; 8]), [Reference::WithoutEts]);
    // What the reference itself is worth.
    let usual = |gaps: &[u64]| {
        let observation = spaced(gaps, |_, _, _| ());
        Baseline::of(&observation, &analysis(&config, &observation)).spacing_ps
    };
    assert_eq!(usual(&[100; 7]), [0, 0]);
    assert_eq!(usual(&[100; 8]), [100_000, 0]);
    assert_eq!(usual(&[90, 90, 99, 101, 101, 99, 500, 90]), [97_250, 0]);
}

#[test]
fn what_the_class_gets_is_told() {
    let assessment = sharing(&spaced(&[200; 20], |_, _, _| ()), TWO_CLASSES, 100_000);
    let finding = assessment.findings().next().unwrap();
    let numbers = &finding.evidence.numbers;
    assert_eq!(
        numbers.iter().map(|(name, number)| (*name, *number)).collect::<Vec<_>>(),
        [("ceiling-percent", 100), ("class", 0), ("guaranteed-percent", 50), ("used-percent", 50)]
    );
    let times = &finding.evidence.times_ns;
    assert_eq!((times["gap"], times["usual-gap"]), (Nanos(200), Nanos(100)));
    // (ln 3 - ln 2) / (ln 9 - ln 2): it could have used twice as much.
    let sharing =
        assessment.objectives[Objective::ALL.iter().position(|one| *one == Objective::Sharing).unwrap()];
    assert!((sharing - 0.2696).abs() < 1e-3, "{sharing}");
}

#[test]
fn who_is_slowed_down_for_a_reason_says_nothing() {
    let config = config(TWO_CLASSES);
    let asks = |and: fn(&mut Hand, dumper::FlowId, dumper::FlowId)| {
        let observation = spaced(&[200; 20], and);
        references_needed(&config, &observation, &analysis(&config, &observation))
    };
    assert_eq!(asks(|_, _, _| ()), [Reference::WithoutEts]);
    assert_eq!(asks(|hand, _, back| _ = hand.packet(9_000, back, Cnp, 0)), []);
    assert_eq!(asks(|hand, _, back| _ = hand.answer(9_000, back, 30, NAK, 0)), []);
    assert_eq!(asks(|hand, there, _| _ = hand.packet(9_000, there, WriteFirst, 10)), []);
    assert_eq!(asks(|hand, there, _| _ = hand.packet(9_000, there, WriteMiddle, 31)), []);
}

/// A pair of NICs whose responder counts so many discards, where frames of so many bytes come at once.
fn pair(discards: u64, frames: u32, references: &References) -> Assessment {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    for psn in 0..frames {
        let opcode = match psn {
            0 => WriteFirst,
            _ if psn + 1 == frames => WriteLast,
            _ => WriteMiddle,
        };
        hand.with(1_000 + u64::from(psn), there, opcode, 10 + psn, |record| {
            record.frame_len = 1_000;
            record.flags |= if opcode == WriteLast { dumper::trace::flags::ACK_REQ } else { 0 };
        });
    }
    hand.ack(9_000, back, 9 + frames, 1);
    let counters = |discards| Counters {
        ethtool_counters: [("rx_discards_phy".to_owned(), discards)].into(),
        ..Counters::default()
    };
    let responder = Some(HostCounters { start: counters(0), finish: counters(discards) });
    let observation = Observation { responder, ..hand.observation() };
    let mut config = config("[traffic]\n");
    config.responder.nic = "another".into();
    let analysis = analysis(&config, &observation);
    let pairs = [Reference::RequesterWithItself, Reference::ResponderWithItself];
    let needed = references_needed(&config, &observation, &analysis);
    assert_eq!(needed, if discards > 0 { &pairs[..] } else { &[] });
    score(&config, &observation, &analysis, references)
}

/// References in which so many bytes come at once to the responder's NIC, and so many packets are discarded.
fn with_themselves(burst: u64, discards: u64) -> References {
    spaced_by([100, 100], burst, discards)
}

/// The same, where the responder's NIC and the requester's have so many picoseconds between two packets that they send.
fn spaced_by([own, other]: [u64; 2], burst: u64, discards: u64) -> References {
    let (bursts, discards) = ([Burst::default(), burst_of(burst)], [0, discards]);
    let baseline = Baseline { bursts, discards, spacing_ps: [own, 0], ..Baseline::default() };
    References {
        requester_with_itself: Some(Baseline {
            spacing_ps: [other, 0],
            bursts: [Burst::default(), burst_of(1)],
            ..baseline.clone()
        }),
        responder_with_itself: Some(baseline),
        ..References::default()
    }
}

#[test]
fn pairs_that_discard() {
    let none: [&str; 0] = [];
    let gives = |discards, frames, references: &References| signatures(&pair(discards, frames, references));
    // Nothing comes at once that the smallest buffer does not hold.
    assert_eq!(gives(0, 9, &with_themselves(9_000, 0)), none);
    assert_eq!(gives(1, 9, &with_themselves(1_000, 0)), [PAIR]);
    assert_eq!(gives(1, 9, &with_themselves(9_000, 1)), none);
    // More comes at once: a few may have had no room.
    assert_eq!(gives(10, 20, &with_themselves(20_000, 0)), none);
    assert_eq!(gives(11, 20, &with_themselves(20_000, 0)), [PAIR]);
    // A quarter more than of its own kind.
    assert_eq!(gives(11, 20, &with_themselves(16_000, 0)), [PAIR]);
    assert_eq!(gives(11, 20, &with_themselves(15_999, 0)), none);
    // Closer together than from its own kind, or at an unknown distance.
    assert_eq!(gives(11, 20, &spaced_by([125, 100], 20_000, 0)), [PAIR]);
    assert_eq!(gives(11, 20, &spaced_by([126, 100], 20_000, 0)), none);
    assert_eq!(gives(11, 20, &spaced_by([0, 0], 20_000, 0)), none);
    // A quarter more packets than of its own kind.
    let packets = |packets| {
        let mut references = with_themselves(20_000, 0);
        references.responder_with_itself.as_mut().unwrap().bursts[1].packets = packets;
        gives(11, 20, &references)
    };
    assert_eq!(packets(16), [PAIR]);
    assert_eq!(packets(15), none);
    // A reference is missing.
    for only_one in [Reference::RequesterWithItself, Reference::ResponderWithItself] {
        let mut references = with_themselves(20_000, 0);
        references.set(only_one, None);
        assert_eq!(gives(11, 20, &references), [UNEXPLAINED]);
        assert_eq!(gives(10, 20, &references), none);
    }
    assert_eq!(gives(11, 20, &References::default()), [UNEXPLAINED]);
}

/// A Write that is repeated twice after its time-out, where one retry is configured, while another connection sends a
/// packet after every so many nanoseconds.
fn retried(every: u64) -> Vec<&'static str> {
    let mut hand = Hand::new();
    let (there, _) = hand.connection();
    let (busy, _) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
    let mut packets: Vec<(u64, bool)> = [0, 500_000, 1_000_000].map(|time| (time, true)).into();
    packets.extend((0..=1_000_000 / every).map(|at| (at * every + 1, false)));
    packets.sort_unstable();
    let mut psn = 50;
    for (time, repeated) in packets {
        if repeated {
            hand.last(1_000 + time, there, dumper::wire::Opcode::WriteOnly, 10);
        } else {
            hand.packet(1_000 + time, busy, if psn == 50 { WriteFirst } else { WriteMiddle }, psn);
            psn += 1;
        }
    }
    let config = config("[traffic]\nmin-retransmit-timeout = 6\nmax-retransmit-retry = 1\n");
    let ends = |requester, responder, psn| {
        let end = |n, qpn| dumper::Endpoint { qpn: Some(qpn), ..dumper::Endpoint::new(crate::hand::host(n)) };
        let initial_psn = Some(dumper::Psn::new(psn));
        let requester = dumper::Endpoint { initial_psn, ..end(1, requester) };
        dumper::Connection { requester, responder: end(2, responder) }
    };
    let connections = vec![ends(0x11, 0x22, 10), ends(0x33, 0x44, 50)];
    let observation = Observation { connections, ..hand.observation() };
    rules(&analysis(&config, &observation))
}

/// T is 262 µs. A retry follows a silence of 50 µs and more of all that its host sends.
#[test]
fn a_retry_follows_a_silence() {
    assert_eq!(retried(50_000), [""; 0]);
    assert_eq!(retried(50_001), ["retries-beyond-budget"]);
}
