//! Random tests with selective repeat on random reorder engines, with losses and several paths: every message is delivered exactly once,
//! or its QP has ended in an error, and nothing anomalous is found.
//!
//! `LUMINA_CASES` sets the number of cases (1,000 otherwise), `LUMINA_SEED` the first one.

use std::collections::BTreeSet;
use std::path::Path;

use corpus::{Load, LossRecovery, Verb};
use executor::profile::ReorderEngine;
use rand::RngExt;
use scoring::Options;

use super::environment::number;
use super::{Case, no_anomalies, profiles};

/// A random case whose NICs have reorder engines.
pub(super) fn draw(seed: u64) -> Case {
    let mut case = Case::draw(seed);
    let rng = &mut profiles::stream(seed, "selective");
    for profile in &mut case.profiles {
        let engines = [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left];
        let reorder = &mut profile.reorder;
        reorder.engine = engines[rng.random_range(0..3)];
        // One connection takes no blocks from another, nor much of its time, nor the buffer for what is gathered: that would be a noisy neighbour
        // indeed.
        reorder.blocks = 65_536;
        reorder.block_bits = reorder.block_bits.max(64);
        profile.receive.buffer_bytes = profile.receive.buffer_bytes.max(1 << 20);
    }
    for host in [&mut case.config.requester, &mut case.config.responder] {
        host.roce.loss_recovery = LossRecovery::SelectiveRepeat;
    }
    // One packet for each expiry: long ones take a test beyond all time.
    case.config.traffic.min_retransmit_timeout = case.config.traffic.min_retransmit_timeout.min(20);
    case
}

#[test]
fn engines_deliver_each_message_once() {
    no_anomalies(number("LUMINA_CASES", 1_000), draw);
}

/// A lossy test on NICs of either recovery: the judge of the other one accuses them, its own does not.
#[test]
fn the_judge_of_one_recovery_accuses_the_other() {
    let text = "
        traffic = { num-connections = 2, num-msgs-per-qp = 4, message-size = 16_384, tx-depth = 4 }
        event = [{ qpn = \"all\", psn = 3, type = \"drop\" }, { qpn = \"all\", psn = 40, type = \"drop\" }]";
    let as_written = corpus::from_toml("lossy.toml", text).unwrap();
    for verb in [Verb::Write, Verb::Send, Verb::Read] {
        let with = |loss_recovery| {
            let mut config = as_written.clone();
            config.traffic.load = Load::Same { verb, connections: 2 };
            for host in [&mut config.requester, &mut config.responder] {
                host.roce.loss_recovery = loss_recovery;
            }
            config
        };
        let rules = |nic: &str, ran: LossRecovery, judged: LossRecovery| {
            let nic = executor::profile::load(nic, Path::new("")).unwrap();
            let observation = executor::sim::run(&with(ran), [nic.clone(), nic]).unwrap();
            let analysis = scoring::analyze(&observation, Options { config: Some(&with(judged)) });
            let broken = analysis.anomalies.kept().iter().map(|one| one.rule.name());
            broken.collect::<BTreeSet<_>>()
        };
        let (go_back_n, selective) = (LossRecovery::GoBackN, LossRecovery::SelectiveRepeat);
        assert_eq!(rules("reference", go_back_n, go_back_n).len(), 0, "{verb:?}");
        assert_eq!(rules("irn", selective, selective).len(), 0, "{verb:?}");
        let accused = rules("reference", go_back_n, selective);
        let wrong = if verb == Verb::Read { "sr-nak-unprovoked" } else { "sr-retransmission-unasked" };
        assert!(accused.contains(wrong), "{verb:?}: {accused:?}");
        let accused = rules("irn", selective, go_back_n);
        assert!(
            !accused.is_empty() && accused.iter().all(|rule| !rule.starts_with("sr-")),
            "{verb:?}: {accused:?}"
        );
    }
}
