//! Transmission selection (Lumina §6.2.1): classes that do not get the bandwidth that others leave.

use corpus::{Ets, TestConfig, TrafficClass};
use executor::NicProfile;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use scoring::Anomaly;
use scoring::score::Assessment;

use crate::{judged, nic, profiles, signatures, test};

const WITHHELD: &str = "non-work-conserving/port/bandwidth-withheld/weighted";

/// A test in which the data's sender selects between classes of these weights, with a QP for each entry of `classes`.
fn shared(verb: &str, weights: &[u8], classes: &[u8], more: &str) -> TestConfig {
    let mut config = test(&format!(
        "[traffic]\nnum-connections = {}\nrdma-verb = \"{verb}\"\nnum-msgs-per-qp = 4\nmessage-size = 65_536\n\
         mtu = 1024\n{more}",
        classes.len()
    ));
    let sender = if verb == "read" { &mut config.responder } else { &mut config.requester };
    sender.traffic_class = Some(TrafficClass::PerConnection(classes.to_vec()));
    sender.ets = Some(Ets { weights: weights.to_vec(), strict: Vec::new() });
    config
}

fn ceiling(percent: u32) -> [NicProfile; 2] {
    let nic = nic(&format!("[ets]\nceiling-percent = {percent}\n"));
    [nic.clone(), nic]
}

fn number(finding: &Anomaly, name: &str) -> f64 {
    finding.evidence.numbers[name] as f64
}

/// The one finding, whose ceiling is measured right.
fn found(assessment: &Assessment, percent: u32, what: &str) {
    assert_eq!(signatures(assessment), [WITHHELD], "{what}");
    let finding = assessment.findings().next().unwrap();
    let (told, right) = (number(finding, "ceiling-percent"), f64::from(percent));
    assert!((told - right).abs() <= 0.1 * right, "{what}: {finding:?}");
}

/// One class is active; its ceiling is below the link.
#[test]
fn a_class_that_is_alone_and_held_back_is_found() {
    for verb in ["write", "send", "read"] {
        for (percent, weights) in [
            (100, &[50, 50][..]),
            (150, &[50, 50]),
            (120, &[30, 30, 40]),
            (200, &[25, 25, 25, 25]),
            (200, &[40, 30, 30]),
            (100, &[10, 90]),
            (120, &[70, 30]),
        ] {
            let (_, assessment) = judged(&shared(verb, weights, &[0], ""), &ceiling(percent));
            found(&assessment, percent, &format!("{verb}, {percent}, {weights:?}"));
            // On the link, nothing holds it back.
            let (_, usual) = judged(&shared(verb, weights, &[0], ""), &ceiling(0));
            assert_eq!(signatures(&usual), [""; 0]);
        }
    }
}

/// Several classes are active, of several QPs each, and leave what others do not use.
#[test]
fn classes_that_are_held_back_together_are_found() {
    for (percent, weights, classes) in [
        (100, &[25, 25, 25, 25][..], &[0, 1, 2][..]),
        (120, &[25, 25, 25, 25], &[0, 1, 2]),
        (150, &[10, 20, 70], &[0, 0, 1, 1]),
        (200, &[20, 20, 60], &[0, 1, 1, 0]),
        (100, &[60, 30, 10], &[0, 0, 0, 1]),
        (200, &[10, 10, 80], &[0, 1]),
    ] {
        let (_, assessment) = judged(&shared("write", weights, classes, ""), &ceiling(percent));
        found(&assessment, percent, &format!("{percent}, {weights:?}, {classes:?}"));
    }
}

/// The published experiment: two classes of equal weight, one of 50 packets of the first QP marked, so that
/// it slows down.
#[test]
fn a_class_that_cannot_use_what_dcqcn_leaves_is_found() {
    let marks = "[[event]]\nqpn = 1\npsn = 50\nevery = 50\ntype = \"ecn\"\n";
    let mut config = shared("write", &[50, 50], &[0, 1], marks);
    config.traffic.message_size = 1 << 20;
    let (_, assessment) = judged(&config, &ceiling(100));
    found(&assessment, 100, "published");
    assert_eq!(number(assessment.findings().next().unwrap(), "class"), 1.0);
    assert_eq!(signatures(&judged(&config, &ceiling(0)).1), [""; 0]);
    // One queue for both.
    config.requester.ets = None;
    assert_eq!(signatures(&judged(&config, &ceiling(100)).1), [""; 0]);
}

/// A test with random weights, of messages long enough to see how they are spaced.
fn random(rng: &mut ChaCha8Rng) -> TestConfig {
    let served = rng.random_range(2..=4_u8);
    let weights: Vec<u8> = (0..served).map(|_| rng.random_range(1..=100)).collect();
    let classes: Vec<u8> = (0..rng.random_range(1..=6)).map(|_| rng.random_range(0..served)).collect();
    let verb = ["write", "send", "read"][rng.random_range(0..3)];
    let mut config = shared(verb, &weights, &classes, "");
    config.traffic.message_size = rng.random_range(16..=200) * 1024 + rng.random_range(0..1024);
    config.traffic.tx_depth = rng.random_range(1..=4);
    config
}

/// With any weights and classes in use: a class that is held below the bandwidth that others leave is found
/// with its ceiling; where none is, none is found.
#[test]
fn ceilings_are_told_right() {
    let mut below = 0;
    for seed in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let config = random(&mut rng);
        let percent = [100, 120, 150, 200][rng.random_range(0..4)];
        let sender =
            [&config.requester, &config.responder].into_iter().find(|host| host.ets.is_some()).unwrap();
        let weights = &sender.ets.as_ref().unwrap().weights;
        let all: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
        let used: std::collections::BTreeSet<u8> =
            sender.traffic_class.as_ref().unwrap().classes().iter().copied().collect();
        let part: u32 = used.iter().map(|class| u32::from(weights[usize::from(*class)])).sum();
        let (_, assessment) = judged(&config, &ceiling(percent));
        let what = format!("seed {seed}: {percent}, {weights:?}, {sender:?}");
        // All classes in use together reach less than nine tenths of the link.
        if part * percent < all * 90 {
            below += 1;
            found(&assessment, percent, &what);
        } else {
            for finding in assessment.findings() {
                // One of them ends later than the others.
                let told = number(finding, "ceiling-percent");
                assert!((told - f64::from(percent)).abs() <= 0.1 * f64::from(percent), "{what}: {finding:?}");
            }
        }
        assert_eq!(signatures(&judged(&config, &ceiling(0)).1), [""; 0], "{what}");
    }
    assert!(below > 50, "{below}");
}

/// Conforming NICs of every rate, burst, pipeline and latency keep no bandwidth back, with marks and losses or without.
#[test]
fn conforming_nics_keep_nothing_back() {
    for seed in 0..1_000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut config = random(&mut rng);
        for (psn, what) in [(7, "ecn"), (33, "drop")] {
            if rng.random_bool(0.5) {
                let connections = config.traffic.load.connections();
                let event = format!(
                    "[traffic]\nnum-connections = {connections}\nnum-msgs-per-qp = 4\nmessage-size = 65_536\n\
                     [[event]]\nqpn = {}\npsn = {psn}\nevery = 41\ntype = \"{what}\"\n",
                    rng.random_range(1..=connections)
                );
                config.events.extend(test(&event).events);
            }
        }
        let strict = rng.random_bool(0.3);
        for ets in [&mut config.requester.ets, &mut config.responder.ets].into_iter().flatten() {
            if strict {
                (ets.weights[1], ets.strict) = (0, vec![1]);
            }
        }
        if config.is_valid() {
            let nics = ["requester", "responder"].map(|host| profiles::draw(seed, host));
            let found = signatures(&judged(&config, &nics).1);
            assert!(
                !found.iter().any(|one| one.starts_with("non-work-conserving")),
                "seed {seed}: {found:?}"
            );
        }
    }
}

/// A Read response that is lost is repeated behind the rest of the first one, which takes as long as its
/// class is held back; a responder that is slow besides is found.
#[test]
fn a_class_that_is_held_back_is_no_slow_retransmission() {
    let config = test(
        "[responder]\ntraffic-class = 1\nets = { weights = [50, 10, 50, 50], strict = [] }\n\
         [traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 1\nmtu = 2048\nmessage-size = 83_685\n\
         [[event]]\nqpn = 1\npsn = 1\ntype = \"drop\"\n",
    );
    assert_eq!(signatures(&judged(&config, &ceiling(100)).1), [""; 0]);
    let slow = nic("[ets]\nceiling-percent = 100\n[retransmission.nack-reaction-ns]\nread = 250_000\n");
    let (_, assessment) = judged(&config, &[slow.clone(), slow]);
    assert_eq!(signatures(&assessment), ["slow-retransmission/responder/slow-nack/reaction-read"]);
}
