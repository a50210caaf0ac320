//! The model of ConnectX-5, and what that of ConnectX-6 Dx shares with it, against what was published (Lumina
//! §6.1, Lumina (preprint) §6.2).

use super::latencies::{Latencies, by_position, latencies};
use super::measure::{assert_between, assert_within, config, mean, signatures};

const NICS: [&str; 2] = ["cx5", "cx6-dx"];

fn reactions(of: &[Latencies]) -> f64 {
    mean(of.iter().map(|latencies| latencies.reaction))
}

/// A packet that is lost early is repeated late: it waits behind those of its message that are in the transmit
/// pipeline.
#[test]
fn retransmissions_wait_for_the_transmit_pipeline() {
    for nic in NICS {
        for verb in ["write", "send"] {
            let all = by_position(nic, verb);
            for one in &all {
                assert_within(one.generation, 2.0, 15.0);
            }
            let (early, late) = all.split_at(20);
            assert_within(reactions(early), 6.0, 15.0);
            assert_within(reactions(late), 3.0, 15.0);
            for part in [early, late] {
                assert_between(reactions(part), 2.0, 6.0);
                assert_between(mean(part.iter().map(|one| one.total())), 4.0, 8.0);
            }
        }
    }
}

/// Reads have a higher NACK generation latency than Writes, by no published figure.
#[test]
fn nacks_of_reads_are_slower() {
    for nic in NICS {
        let [write, read] = ["write", "read"].map(|verb| by_position(nic, verb));
        for (write, read) in write.iter().zip(&read) {
            assert!(read.generation > 1.5 * write.generation, "{read:?} {write:?}");
        }
        assert_between(reactions(&read), 2.0, 6.0);
    }
}

/// Lumina (preprint) figure 10: the fifth packet dropped, messages of 10 to 200 KB.
#[test]
fn latency_by_message_size_is_flat_then_grows_then_is_flat() {
    for nic in NICS {
        let curve: Vec<(u32, f64)> =
            (10..=200).map(|size| (size, latencies(nic, "write", size, 5).total())).collect();
        let (least, most) = (curve[0].1, curve[curve.len() - 1].1);
        // A twentieth of the way up and down is where it starts to grow and ends to.
        let edge = (most - least) / 20.0;
        let grows = curve.iter().find(|(_, total)| *total > least + edge).unwrap().0;
        let grown = curve.iter().find(|(_, total)| *total > most - edge).unwrap().0;
        assert_within(grows.into(), 50.0, 15.0);
        assert_within(grown.into(), 120.0, 15.0);
        assert!(curve.is_sorted_by(|a, b| a.1 <= b.1), "{curve:?}");
        assert_within(least, 4.5, 15.0);
    }
}

/// Neither is slow by the measure of Lumina, and both count implied NAKs (Lumina §6.2.4).
#[test]
fn losses_leave_nothing_to_find() {
    for nic in NICS {
        for verb in ["write", "send", "read"] {
            let text = format!(
                "[traffic]\nrdma-verb = \"{verb}\"\nmessage-size = 102_400\n\
                 [[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n"
            );
            assert_eq!(signatures(&config(nic, &text)), [""; 0], "{nic} {verb}");
        }
    }
}
