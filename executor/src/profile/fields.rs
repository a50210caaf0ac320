//! Every field of a profile: one entry each, read by the loader, the printer, `nics check` and the test that keeps
//! `docs/nic-profiles.md` honest. The quirks are declared in [`super::quirks`].

use super::conditions::{MAX_CONDITIONAL, conditional_fields};
use super::field::{
    ACCESS, FAMILIES, Field, Kind, LATENCY, MAX_COUNT, MAX_LATENCY, RATES, VERBS, bounds, factor, fault,
    flag, int, latency, nack_latency,
};
use super::quirks::QUIRKS;

/// Most bytes of a part of a reorder engine, and why.
const MAX_BYTES: i64 = 1 << 30;
const MEMORY: &str = "no NIC has a gibibyte";

/// Why a table may have so many entries and masks.
const TABLES: &str = "beyond any test, which has 65,536 flows at the most";

/// Why an operation of the host's software may take so long.
const SOFTWARE: &str = "a second is beyond any software";

/// Source of the bounds of a look-up.
const QUERY: &str = "ScalaCN, table 3: 36 to 74 ns; a thousandfold beyond";

/// Every field but the quirks, in the order of a printed profile.
const OWN: &[Field] = &[
    Field::new("name", Kind::Line(64), "", "Name in reports; the name of its file where it has none."),
    Field::new("description", Kind::Line(200), "", "What it models, for `nics list`."),
    Field::new("source", Kind::Text, "", "Where its figures come from, and which of them are assumptions."),
    Field::new("quirk", Kind::Quirks(MAX_CONDITIONAL), "", "Quirks that show only under conditions."),
    int("link.rate-gbps", 1, 800, "Gb/s", "Rate of the cable.")
        .why("800 Gb/s is the fastest Ethernet there is")
        .conforming(10, 800),
    int("link.propagation-ns", 0, MAX_LATENCY, "ns", "Propagation delay, one way.")
        .why(LATENCY)
        .conforming(0, 5_000),
    latency("host.post-ns", "From posting a request to its doorbell at the NIC; a host posts one request after the other."),
    latency("host.poll-ns", "From a completion to the host's seeing it."),
    latency("host.repost-ns", "From the completion of a Receive to the posting of its successor."),
    int("host.receive-bytes", 0, 1 << 31, "bytes", "Size of the Receives that it posts; a longer Send is refused as an invalid request (IBA vol. 1, 9.9.3).")
        .why("IBA vol. 1: a message has 0 to 2^31 bytes"),
    int("transmit.packet-ns", 0, 1_000_000, "ns", "Shortest time from the scheduling of one packet to the next; 0 where only the link limits.")
        .why("a thousand packets a second is slower than any NIC")
        .conforming(0, 1_000),
    int("transmit.burst", 1, MAX_COUNT, "packets", "Packets of a QP's requests that are sent before it is the next one's turn; answers take turns packet by packet.")
        .why("beyond any message of a usable test"),
    flag("transmit.mig-req", "MigReq bit of the packets that it sends (IBA vol. 1, 17.2.8)."),
    int("transmit.pipeline-bytes", 0, 1 << 20, "bytes", "Packets that are scheduled ahead of the cable, in bytes of frames: retransmitted packets join behind them (Lumina (preprint) §6.2, figure 11); 0 for none.")
        .why("more than any NIC keeps in its transmit pipeline")
        .conforming(0, 1 << 17),
    latency("receive.latency-ns", "From the last bit of a packet to the transport.").conforming(0, 10_000),
    int("receive.packet-ns", 0, 1_000_000, "ns", "Shortest time between two packets at the transport; 0 where only the link limits.")
        .why("a thousand packets a second is slower than any NIC")
        .conforming(0, 20),
    int("receive.buffer-bytes", 9_216, 1 << 30, "bytes", "Buffer before the transport, in bytes of frames; what does not fit is discarded and counted.")
        .why("one jumbo frame has to fit; no NIC has a gibibyte")
        .conforming(9_216, 1 << 20),
    Field::new("reorder.engine", Kind::Choice(&["none", "ring", "pool", "left"], &["none"]), "", "Bitmaps of packets that arrive beyond a missing one, at the receiver of data (LEFT, APNET'24): `none` for go-back-N; a `ring` for each connection; a `pool` of chained blocks that connections share; `left`, which has caches before the pool, and FIFOs that gather packets. All but `none` need `loss-recovery = \"selective-repeat\"` at both hosts."),
    int("reorder.span-packets", 1, 65_536, "packets", "Widest distance to the expected PSN, counted from 1, at which a packet is kept; one beyond it is dropped, and a NAK sent for the expected PSN.")
        .why("a 128th of the PSNs that may be outstanding (IBA vol. 1, 9.7.5.1)"),
    int("reorder.access-ns", 0, 10_000, "ns", "Access to a ring or a cache, and of a packet in order where no bit is set.").why(ACCESS).conforming(0, 20),
    int("reorder.first-block-ns", 0, 10_000, "ns", "Access to the first block of a chain.").why(ACCESS).conforming(0, 20),
    int("reorder.next-block-ns", 0, 10_000, "ns", "Access to each further block on the way to a bit.").why(ACCESS).conforming(0, 20),
    int("reorder.block-bits", 1, 1_024, "bits", "Bits of a block.").why("a block of more is a ring"),
    int("reorder.blocks", 1, 65_536, "", "Blocks of the pool. A packet whose bit needs one that is not there is dropped, and a NAK sent for the expected PSN; its connection gets no further block until that one has come.")
        .why("as many as a connection may have packets out of order, with blocks of one bit"),
    int("reorder.budget-ns", 1, 100_000, "ns", "T_max of LEFT: a bit to which the walk through the further blocks takes longer has its bitmap moved into a cache.").why(ACCESS),
    int("reorder.caches", 0, 64, "", "Caches of LEFT.").why("LEFT has 3"),
    int("reorder.cache-bits", 1, 65_536, "bits", "Bits of a cache; a bitmap that reaches further stays in the pool.").why("the widest span"),
    int("reorder.fifos", 0, 64, "", "FIFOs of LEFT, each of which gathers the packets of one connection; 0 for none.").why("LEFT has 8"),
    int("reorder.fifo-packets", 1, 256, "packets", "Packets with which a FIFO is drained.").why("LEFT has 8"),
    int("reorder.fifo-timeout-ns", 0, 1_000_000, "ns", "Time after its first packet after which a FIFO is drained.").why("LEFT has a few microseconds at most"),
    Field::new("reorder.loss-by", Kind::Choice(&["psn", "span", "timer"], &["psn", "span", "timer"]), "", "Evidence by which a missing packet counts as lost: any packet beyond it (`psn`: IRN), one that is `loss-span-packets` beyond it (`span`), or the expiry of the ACK timer alone (`timer`)."),
    int("reorder.loss-span-packets", 1, 65_536, "packets", "Distance from a missing packet to one that arrives, counted from 1, at which the missing one counts as lost.")
        .why("the widest span"),
    int("reorder.connection-bytes", 0, MAX_BYTES, "bytes", "State of a connection besides blocks and caches. Like the next two it counts only as memory, in `predict multipath`.").why(MEMORY),
    int("reorder.fixed-bytes", 0, MAX_BYTES, "bytes", "The pool, with its pointers and its list of free blocks.").why(MEMORY),
    int("reorder.fifo-bytes", 0, MAX_BYTES, "bytes", "A FIFO.").why(MEMORY),
    int("eswitch.egress-query-ns", 0, 100_000, "ns", "Each mask that a packet which leaves is looked up in, by the NIC's own switch: masks are looked through one after another (ScalaCN §4.2). Only for tests whose host has `offload`.")
        .why(QUERY)
        .conforming(0, 0),
    int("eswitch.ingress-query-ns", 0, 100_000, "ns", "Each mask that a packet which arrives is looked up in.").why(QUERY).conforming(0, 0),
    int("eswitch.action-ns", 0, 100_000, "ns", "Each action on a packet.").why(QUERY).conforming(0, 10),
    int("eswitch.lookups", 1, 1_024, "packets", "Packets that are looked up at a time, in each direction.")
        .why("more than any pipeline has packets"),
    flag("eswitch.in-order", "A packet whose look-up ends before that of an earlier one waits for it."),
    int("eswitch.in-flight-bytes", 0, 1 << 30, "bytes", "Payload of Sends and Writes that the NIC has sent and that is not acknowledged, of all of its QPs, which wait for room in turn; each packet has AckReq. 0 for any number.")
        .why("the buffers of no NIC")
        .conforming(0, 0),
    int("eswitch.table-entries", 0, 1 << 24, "entries", "Entries of a table, beyond which a further one is opened. It stays when its entries are deleted, as do its masks. 0 for one table with any number.")
        .why(TABLES)
        .conforming(0, 0),
    Field::new("eswitch.chain", Kind::Choice(&["front", "back"], &["front", "back"]), "", "Place of a further table: before all others, whose packets are then looked up in it first, or behind them."),
    int("eswitch.masks", 0, 65_536, "masks", "Masks in each direction, of all tables that `table-entries` opens; a chain (`tables` of a test) counts once. 0 for any number. An entry with one more cannot be created.").why(TABLES).conforming(0, 0),
    int("eswitch.entry-cache", 0, 1 << 24, "entries", "Entries of flows that are on the chip in each direction: those of the flows with the latest packets. 0 if all are.")
        .why(TABLES)
        .conforming(0, 0),
    int("eswitch.miss-ns", 0, 100_000, "ns", "A packet whose flow's entry is not on the chip, before its look-up: the NIC fetches the entry from the host's memory.")
        .why("a hundred times an access over PCIe"),
    int("eswitch.software-ns", 0, 1_000_000_000, "ns", "A packet without an entry, in the host's software, after all masks were looked through in vain.")
        .why(SOFTWARE)
        .conforming(0, 100),
    int("eswitch.software-gbps", 0, 800, "Gbps", "Rate of the host's software, which forwards one packet after another; 0 for any.").why("the fastest Ethernet").conforming(0, 0),
    int("eswitch.counter-refresh-per-s", 0, 1_000_000, "counters", "Counters of entries that the host reads in a second, those of all entries in turn: it sees packets of a flow with the next reading of its counter. 0 if it always knows all.")
        .why("ScalaCN, table 1: some 720, as entries in use are deleted after 10 s beyond 7 thousand of them")
        .conforming(0, 0),
    int("eswitch.counter-jitter-percent", 0, 1_000, "%", "Most that a reading is late, of the time between two.").why("beyond ten times, hardly a counter is read").conforming(0, 1_000),
    int("eswitch.insert-ns", 0, 1_000_000_000, "ns", "The NIC creates an entry.").why(SOFTWARE).conforming(0, 100),
    int("eswitch.delete-ns", 0, 1_000_000_000, "ns", "The NIC deletes an entry.").why(SOFTWARE).conforming(0, 100),
    int("eswitch.delete-per-entry-ns", 0, 1_000_000, "ns", "More of that for each entry that there is. Operations are done one after another.")
        .why("ScalaCN, table 1: deletion takes 9 times as long")
        .conforming(0, 0),
    int("eswitch.operations-per-s", 0, 1_000_000, "operations", "Operations that the NIC does in a second at the most; 0 for any number.")
        .why("ScalaCN, table 1: a thousand")
        .conforming(0, 0),
    int("eswitch.operation-timeout-ms", 0, 600_000, "ms", "Longest that an operation waits before `on-timeout`; 0 for any time.").why("ten minutes are beyond a usable test").conforming(0, 0),
    Field::new("eswitch.on-timeout", Kind::Choice(&["wait", "stagnate"], &["wait", "stagnate"]), "", "The host's software then: it waits on, or stops, so that no operation is begun any more (ScalaCN, table 1, S2)."),
    Field::new("eswitch.on-failure", Kind::Choice(&["software", "crash"], &["software", "crash"]), "", "The host, where an entry cannot be created: it forwards the flow in software, or its kernel crashes (S3)."),
    int("eswitch.contexts", 0, 65_536, "flows", "Flows that can go through a VXLAN tunnel; 0 for any number.").why("ScalaCN, table 1: 10 thousand on BF-3").conforming(0, 0),
    Field::new("eswitch.on-exhausted", Kind::Choice(&["software", "unresponsive"], &["software", "unresponsive"]), "", "The NIC, where a flow needs one more context: it refuses the entry, or answers nothing any more (S8)."),
    fault("eswitch.unbind-race", "The link goes down if a virtual function is unbound while its packets or operations are outstanding (S7)."),
    int("eswitch.link-down-ms", 0, 3_600_000, "ms", "Time until the link comes up again; 0 if it stays down.").why("an hour is beyond a usable test").conforming(0, 3_600_000),
    int("requester.ack-req-every", 0, MAX_COUNT, "packets", "AckReq on every so many packets, besides the last of each message; 0 for the last only.")
        .why("beyond any message of a usable test"),
    int("requester.window-packets", 0, 1 << 23, "packets", "Unacknowledged packets of a QP before which the next one waits, with the responses that Reads ask for; the packet that fills the window has AckReq. 0 for any number; rdma_rxe has about 128.")
        .why("half of all PSNs (IBA vol. 1, 9.7.5.1)")
        .conforming(0, 0),
    nack_latency("responder.ack-ns", "From a request to its ACK."),
    flag("responder.merge-acks", "Whether ACKs that wait to be sent are merged into one for the latest PSN (coalescing)."),
    int("responder.ack-every", 0, MAX_COUNT, "packets", "An ACK after so many packets even without AckReq; 0 for never.")
        .why("beyond any message of a usable test"),
    flag("responder.reack-all", "Whether duplicates without AckReq are acknowledged again too."),
    nack_latency("retransmission.nack-generation-ns.write", "From the packet that shows a loss in a Write to the NAK, by the responder."),
    nack_latency("retransmission.nack-generation-ns.send", "The same in a Send."),
    nack_latency("retransmission.nack-generation-ns.read", "From the response that shows a loss in a Read to the repeated request, by the requester."),
    nack_latency("retransmission.nack-reaction-ns.write", "From the NAK to the repeated packet of a Write, by the requester."),
    nack_latency("retransmission.nack-reaction-ns.send", "The same of a Send."),
    nack_latency("retransmission.nack-reaction-ns.read", "From the repeated request of a Read to the repeated response, by the responder."),
    int("retransmission.confirmation-packets", 0, MAX_COUNT, "packets", "Further packets out of order that the responder waits for before it makes a NAK; 0 for none.")
        .why("beyond any message of a usable test"),
    nack_latency("retransmission.confirmation-ns", "How long it waits for them."),
    factor("timeout.first", "The first expiry of the ACK timer without progress, in multiples of T = 4.096 µs x 2^timeout."),
    factor("timeout.further", "Every further one."),
    flag("timeout.restart-on-nak", "Whether a retransmission that a NAK asked for starts the timer again."),
    Field::new("adaptive.schedules", Kind::FactorLists(bounds(0.001, 1_000.0)), "T", "With adaptive retransmission on: expiries of the ACK timer, one list for each message of a QP with a time-out; the last list serves all further messages, the last expiry of a list all further ones. A NIC without a list does not have adaptive retransmission.")
        .why("Lumina §6.3 has 0.06 to 10 T; a hundredfold either way"),
    Field::new("adaptive.extra-retries", Kind::Ints(bounds(0, 64)), "", "Retries beyond the configured ones, for each such message; the last one serves all further ones.")
        .why("Lumina §6.3 has 0 to 6"),
    int("slow-path.contexts", 0, MAX_COUNT, "", "Contexts of the slow path; while more connections wait for a NACK than there are, nothing is taken out of the receive buffer. 0 for no limit.")
        .why("more than any test has connections")
        .conforming(0, 0),
    Field::new("slow-path.verbs", Kind::Choices(VERBS), "", "Verbs whose losses are recovered through it."),
    int("apm.contexts", 0, MAX_COUNT, "", "Contexts of path migration: the first packet of a QP that has MigReq clear takes one, and if none is free stops all that arrive behind it until one is (Lumina §6.2.3). 0 where MigReq means nothing.")
        .why("more than any test has connections")
        .conforming(0, 0),
    latency("apm.resolve-ns", "How long a QP keeps its context of path migration."),
    int("notification.hidden-interval-us", 0, 10_000_000, "µs", "Shortest time between two CNPs that the NIC keeps whatever is configured.")
        .why(LATENCY)
        .conforming(0, 0),
    Field::new("notification.configurable", Kind::Flag(Some(true)), "", "Whether `min-time-between-cnps` of the host is obeyed."),
    Field::new("notification.scope", Kind::Choice(&["qp", "destination-ip", "port"], &["qp"]), "", "What shares one CNP interval."),
    flag("notification.on-loss", "Whether packets out of order make CNPs like marked ones, where the host's `slow-restart` is on (lossy RoCE)."),
    int("reaction.g-inverse", 1, 65_536, "", "1 / g, the weight of one CNP in alpha (DCQCN, SIGCOMM'15).")
        .why("a weight is a part of the whole")
        .conforming(16, 1_024),
    int("reaction.alpha-timer-us", 1, 1_000_000, "µs", "Time without a CNP after which alpha falls.").why(RATES).conforming(10, 1_000),
    int("reaction.rate-timer-us", 1, 1_000_000, "µs", "Time after which the rate is raised.").why(RATES).conforming(10, 1_000),
    int("reaction.byte-counter", 1_024, 1 << 40, "bytes", "Bytes sent after which the rate is raised.").why(RATES),
    int("reaction.fast-recovery", 1, 1_000, "", "Events of fast recovery: timer and byte counter are each raised so often half way to the rate before the last CNP, and beyond it from then on.")
        .why(RATES),
    int("reaction.additive-increase-mbps", 1, 800_000, "Mb/s", "Additive increase, R_AI.").why(RATES),
    int("reaction.hyper-increase-mbps", 1, 800_000, "Mb/s", "Hyper increase, R_HAI.").why(RATES),
    int("reaction.min-rate-mbps", 1, 800_000, "Mb/s", "Lowest rate of a QP.").why(RATES).conforming(100, 800_000),
    int("ets.ceiling-percent", 0, 10_000, "%", "Largest share of a weighted class, in percent of its guaranteed share, even if other classes leave the link idle (Lumina §6.2.1); 0 where only the link limits it, which is work-conserving.")
        .why("a class has one percent of the link or more")
        .conforming(0, 0),
    Field::new("counters.family", Kind::Choice(&FAMILIES, &["nvidia", "intel"]), "", "Whose names its counters have; rxe's say nothing of what is discarded."),
];

/// Every field of a text, those of a `[[quirk]]` last.
pub(super) fn all() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().chain(conditional_fields())
}

/// Every field, in the order of a printed profile.
pub const FIELDS: &[Field] = &joined::<{ OWN.len() + QUIRKS.len() }>();

const fn joined<const N: usize>() -> [Field; N] {
    let mut all = [OWN[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < OWN.len() { OWN[at] } else { QUIRKS[at - OWN.len()] };
        at += 1;
    }
    all
}

impl Field {
    /// The field with this path, of a profile or of one of its `[[quirk]]`s.
    pub fn find(path: &str) -> Option<&'static Self> {
        all().find(|field| field.path == path)
    }
}
