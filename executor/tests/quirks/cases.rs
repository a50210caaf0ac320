//! The quirks, each with a test that shows it and the rule that it breaks.

/// Whose profile the quirk is in.
pub(crate) enum Side {
    Requester,
    Responder,
}

/// A quirk and how it shows.
pub(crate) struct Case {
    /// The field, as in a profile.
    pub(crate) quirk: &'static str,
    pub(crate) side: Side,
    /// Further fields of both hosts' profiles, all of them conforming.
    pub(crate) hosts: &'static str,
    /// The test that shows it.
    pub(crate) test: &'static str,
    /// The rule that has to be named.
    pub(crate) rule: &'static str,
}

/// Other legal choices: coalescing, delays, rates, buffers, timers.
pub(crate) const TWINS: &[&str] = &[
    "[responder]\nmerge-acks = false\n",
    "[responder]\nack-every = 3\n",
    "[responder]\nack-ns = [0, 20_000]\n",
    "[responder]\nreack-all = true\n",
    "[requester]\nack-req-every = 2\n",
    "[link]\nrate-gbps = 400\npropagation-ns = 3_000\n",
    "[link]\nrate-gbps = 10\n",
    "[transmit]\nburst = 16\npacket-ns = 300\n",
    "[receive]\nlatency-ns = [100, 9_000]\n",
    "[receive]\npacket-ns = 100\nbuffer-bytes = 1_000_000_000\n",
    "[host]\npost-ns = 5_000\npoll-ns = [0, 50_000]\n",
    "[retransmission.nack-generation-ns]\nwrite = 30_000\nsend = [0, 30_000]\nread = 0\n",
    "[retransmission.nack-reaction-ns]\nwrite = 0\nsend = 30_000\nread = [0, 30_000]\n",
    "[retransmission]\nconfirmation-packets = 2\nconfirmation-ns = 12_000\n",
    "[timeout]\nfirst = 1.0\nfurther = 4.0\nrestart-on-nak = false\n",
    "[timeout]\nfirst = 4.0\nfurther = 1.0\n",
    "[counters]\nfamily = \"intel\"\n",
];

const ONE_AT_A_TIME: &str = "[traffic]\nrdma-verb = \"write\"\n";
const SENDS_AND_READS: &str = "[traffic]\nrdma-verb = \"send_read\"\ntx-depth = 4\n";
const WRITE: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\n";
const READ: &str = "[traffic]\nrdma-verb = \"read\"\ntx-depth = 4\n";
/// The middle of the second message is lost.
const WRITE_LOSS: &str =
    "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\n[[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n";
/// The first packet arrives behind the five after it.
const WRITE_REORDERED: &str = "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 7\nmessage-size = 0\ntx-depth = 6\n\
    [[event]]\nqpn = 1\npsn = 1\ntype = \"reorder\"\nby = 5\n";
/// The same, and the network copies the NAK.
const WRITE_LOSS_WITH_COPIES: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\nmax-retransmit-retry = 1\n\
    [network.repeat]\nnaks = 2\n[[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n";
const READ_LOSS: &str =
    "[traffic]\nrdma-verb = \"read\"\ntx-depth = 4\n[[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n";
/// The ACK of the third message is lost, so that the message is sent twice.
const WRITE_ACK_LOSS: &str =
    "[traffic]\nrdma-verb = \"write\"\n[[event]]\nqpn = 1\npacket = \"ack\"\nnth = 3\ntype = \"drop\"\n";
/// The first four ACKs are lost.
const FOUR_ACKS_LOST: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\n\
    [[event]]\nqpn = 1\npacket = \"ack\"\nnth = 1\nevery = 1\ncount = 4\ntype = \"drop\"\n";
/// The tail is lost as often as it is sent.
const TAIL_LOST_FOR_GOOD: &str = "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 2\nmin-retransmit-timeout = 8\n\
    max-retransmit-retry = 3\n\
    [[event]]\nqpn = 1\npsn = 20\niter = 1\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 20\niter = 2\ntype = \"drop\"\n\
    [[event]]\nqpn = 1\npsn = 20\niter = 3\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 20\niter = 4\ntype = \"drop\"\n\
    [[event]]\nqpn = 1\npsn = 20\niter = 5\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 20\niter = 6\ntype = \"drop\"\n";
const MARKS: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\n\
    [requester.roce-parameters]\ndcqcn-rp-enable = false\n\
    [responder.roce-parameters]\nmin-time-between-cnps = 20\n\
    [[event]]\nqpn = 1\npsn = 5\nevery = 7\ntype = \"ecn\"\n";
/// Marks for longer than a CNP may take.
const MANY_MARKS: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\nnum-msgs-per-qp = 40\n\
    [requester.roce-parameters]\ndcqcn-rp-enable = false\n\
    [[event]]\nqpn = 1\npsn = 5\nevery = 7\ntype = \"ecn\"\n";
/// Receives run out: four Sends at once, one Receive.
const SHORT_OF_RECEIVES: &str =
    "[traffic]\nrdma-verb = \"send\"\ntx-depth = 4\nrecv-depth = 1\nmin-rnr-timer = 14\n";

/// Receives come after the RNR retries are spent.
const RECEIVES_COME_LATE: &str =
    "[traffic]\nrdma-verb = \"send\"\ntx-depth = 2\nrecv-depth = 1\nmin-rnr-timer = 14\nrnr-retry = 3\n";
/// Many times longer than the ACK timeout, and never without progress.
const LONG: &str = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 8\nnum-msgs-per-qp = 200\n\
    message-size = 102_400\nmin-retransmit-timeout = 8\n";
const SENDS: &str = "[traffic]\nrdma-verb = \"send\"\n";

const fn requester(quirk: &'static str, test: &'static str, rule: &'static str) -> Case {
    Case { quirk, side: Side::Requester, hosts: "", test, rule }
}

const fn responder(quirk: &'static str, test: &'static str, rule: &'static str) -> Case {
    Case { quirk, side: Side::Responder, hosts: "", test, rule }
}

/// On hosts that are special in some legal way.
const fn on(hosts: &'static str, case: Case) -> Case {
    Case { hosts, ..case }
}

/// Every quirk.
pub(crate) const CASES: &[Case] = &[
    responder("nak-repeats = 1", WRITE_LOSS, "nak-again"),
    responder("nak-again-every = 3", WRITE_LOSS, "nak-again"),
    responder("nak-psn-offset = 1", WRITE_LOSS, "nak-wrong-psn"),
    responder("nak-psn-offset = -1", WRITE_LOSS, "nak-wrong-psn"),
    responder("nak-psn-offset = 1", WRITE_REORDERED, "nak-wrong-psn"),
    responder("nak-suppressed = true", WRITE_LOSS, "nak-missing"),
    responder("nak-missing-percent = 100", WRITE_LOSS, "nak-missing"),
    responder("nak-syndrome-reserved = true", WRITE_LOSS, "syndrome-reserved"),
    responder("nak-unprovoked-every = 10", ONE_AT_A_TIME, "nak-without-cause"),
    responder("ack-psn-offset = 1", WRITE, "ack-beyond-data"),
    responder("reack-own-psn = true", FOUR_ACKS_LOST, "ack-regresses"),
    responder("reack-missing = true", WRITE_ACK_LOSS, "reack-missing"),
    responder("reread-missing = true", READ_LOSS, "reread-missing"),
    responder("ack-missing-every = 5", WRITE, "ack-missing"),
    on(
        "[responder]
ack-ns = [0, 20_000]
",
        responder("ack-passes-read = true", SENDS_AND_READS, "ack-passes-read"),
    ),
    responder("msn-offset = 1", WRITE, "msn-wrong"),
    responder("duplicate-write-executed = true", WRITE_ACK_LOSS, "delivered-not-once"),
    responder("response-gap-every = 25", READ, "response-gap"),
    responder("response-surplus-every = 3", READ, "response-unrequested"),
    responder("response-never-ends = true", READ, "response-position"),
    requester("resume-offset = 1", WRITE_LOSS, "resume-late"),
    requester("resume-offset = -1", WRITE_LOSS, "resume-early"),
    requester("nak-ignored = true", WRITE_LOSS, "nak-ignored"),
    requester("nak-copy-spends-retry = true", WRITE_LOSS_WITH_COPIES, "mitigation-harms"),
    requester("implied-nak-ignored = true", READ_LOSS, "implied-nak-missing"),
    requester("retransmits-unprovoked-every = 30", WRITE, "retransmission-without-cause"),
    requester("psn-skipped-every = 3", WRITE, "psn-skipped"),
    requester("first-in-the-middle-every = 20", WRITE, "request-position"),
    requester("read-address-not-advanced = true", READ_LOSS, "reissue-address"),
    requester("retry-offset = -1", TAIL_LOST_FOR_GOOD, "retries-below-budget"),
    requester("retry-offset = 1", TAIL_LOST_FOR_GOOD, "retries-beyond-budget"),
    on(
        "[host]\nrepost-ns = 10_000_000\n",
        requester("rnr-retry-offset = -1", RECEIVES_COME_LATE, "rnr-retries-below-budget"),
    ),
    on(
        "[host]\nrepost-ns = 10_000_000\n",
        requester("rnr-retry-offset = 1", RECEIVES_COME_LATE, "rnr-retries-beyond-budget"),
    ),
    requester("rnr-wait-short-percent = 50", SHORT_OF_RECEIVES, "rnr-wait-short"),
    on("[link]\nrate-gbps = 10\n", requester("timer-ignores-progress = true", LONG, "rto-below-minimum")),
    on(
        "[host]\nreceive-bytes = 4_096\n",
        requester("fatal-nak-ignored = true", SENDS, "retry-after-fatal-nak"),
    ),
    responder("silent-discard-every = 40", WRITE, "delivered-yet-missing"),
    on(
        "[counters]\nfamily = \"intel\"\n",
        responder("silent-discard-every = 40", WRITE, "delivered-yet-missing"),
    ),
    on(
        "[counters]\nfamily = \"rxe\"\n",
        responder("silent-discard-every = 40", WRITE, "delivered-yet-missing"),
    ),
    on("[link]\nrate-gbps = 10\n", responder("cnp-suppressed = true", MANY_MARKS, "ecn-without-cnp")),
    responder("cnp-unprovoked-every = 50", WRITE, "cnp-without-ecn"),
    responder("cnp-interval-ignored = true", MARKS, "cnp-too-early"),
    responder("stuck-counters = [\"out_of_sequence\"]", WRITE_LOSS, "counter-differs"),
    responder("doubled-counters = [\"out_of_sequence\"]", WRITE_LOSS, "counter-differs"),
];
