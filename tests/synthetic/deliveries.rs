//! Data found in memory: once, whole, and as it was sent.

use corpus::{Load, Verb};
use dumper::observation::CompletionStatus::{self, Flushed, Success};
use dumper::observation::Delivery;

use crate::judge::Judge;

/// Two messages that are acknowledged; what the hosts say of them is another matter.
const WRITE: &str = "0 > WRITE_FIRST 1
                     +300 > WRITE_MIDDLE 2
                     +300 > WRITE_LAST 3 ackreq
                     +300 > WRITE_ONLY 4 ackreq
                     5000 < ACK 3 msn=1
                     +300 < ACK 4 msn=2";

/// A message of `length` bytes that ended so, and what was written of it; and another one that was written well.
fn judge(length: u64, status: CompletionStatus, written: Option<(u64, bool)>) -> Judge {
    let mut judge = Judge::new().completing(length, status).completing(1_000, Success);
    judge.config.traffic.num_msgs_per_qp = 2;
    let delivery = |message, (bytes, intact)| Delivery { connection: 1, message, bytes, intact };
    let second = delivery(2, (1_000, true));
    judge.deliveries =
        Some(written.map(|written| delivery(1, written)).into_iter().chain([second]).collect());
    judge
}

#[test]
fn not_once() {
    let more = ["data-corruption/responder/delivered-not-once/more c1 @0"];
    let less = ["data-corruption/responder/delivered-not-once/less c1 @0"];
    judge(3_000, Success, Some((3_000, true))).silent(WRITE);
    judge(3_000, Success, Some((3_001, true))).gives(WRITE, &more);
    judge(3_000, Success, Some((2_999, true))).gives(WRITE, &less);
    judge(3_000, Success, None).gives(WRITE, &less);
    // What failed may be there in part, but not twice.
    judge(3_000, Flushed, Some((2_000, true))).silent(WRITE);
    judge(3_000, Flushed, None).silent(WRITE);
    judge(3_000, Flushed, Some((4_000, true))).gives(WRITE, &more);
    // Nothing to deliver.
    judge(0, Success, None).silent(WRITE);
    // Nobody looked.
    let mut blind = judge(3_000, Success, None);
    blind.deliveries = None;
    blind.silent(WRITE);
    // All hosts looked, and there was nothing anywhere.
    let mut nothing = judge(3_000, Success, None);
    nothing.deliveries = Some(Vec::new());
    let second = "data-corruption/responder/delivered-not-once/less c1 @0";
    nothing.gives(WRITE, &[less[0], second]);
}

/// Without a completion the configuration says how long a message is.
#[test]
fn not_completed() {
    let unfinished = |bytes| {
        let mut judge = judge(0, Success, Some((bytes, true)));
        judge.completions.as_mut().unwrap().remove(0);
        judge.config.traffic.num_msgs_per_qp = 1;
        judge.config.traffic.message_size = 2_000;
        judge
    };
    unfinished(2_000).silent(WRITE);
    unfinished(2_001).gives(WRITE, &["data-corruption/responder/delivered-not-once/more c1 @0"]);
}

#[test]
fn wrong() {
    let differs = ["data-corruption/responder/delivered-wrong/differs c1 @0"];
    judge(3_000, Success, Some((3_000, false))).gives(WRITE, &differs);
    judge(3_000, Flushed, Some((1_000, false))).gives(WRITE, &differs);
}

/// The requester is the one that writes what a Read brings.
#[test]
fn of_a_read() {
    let mut judge = judge(1_024, Success, Some((2_048, true)));
    judge.config.traffic.load = Load::Same { verb: Verb::Read, connections: 1 };
    judge.gives(
        "0 > READ 1 bytes=1024
         +300 > READ 2 bytes=1000
         5000 < READ_RESPONSE_ONLY 1 msn=1
         +300 < READ_RESPONSE_ONLY 2 msn=2",
        &["data-corruption/requester/delivered-not-once/more c1 @0"],
    );
}
