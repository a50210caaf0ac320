//! Every threshold of the analyzers, each with its reason.

use corpus::TestConfig;
use dumper::{Clock, Nanos, Observation};

use crate::pauses::are_possible;

/// Twice and a half the longest that a host on an emulated processor was seen to stand still (157 ms of an ACK timer of
/// 268 ms; rdma_rxe under QEMU without hardware support, on a machine with seven busy threads for each processor.
/// Left in peace it reacts within 13 ms, and mostly within 0.7 ms): on its clock only times later than any
/// such tail say something of the NIC.
const EMULATED_TAIL: Nanos = Nanos::from_millis(400);

/// Longest time that pauses of flow control keep a packet, in the switch or at its sender: the longest queue of the switch, and
/// as much again at each host, on a link that is half of the time paused. The trace does not show it.
const PAUSED_TAIL: Nanos = LONGEST_QUEUE.times(6);

/// Reasons why times of microseconds say nothing of a NIC.
const EMULATED: &str = "the clock of an emulated machine does not tell the distance between packets";
const PAUSED: &str = "pauses of flow control kept packets, and the trace does not show how long";

/// The thresholds that depend on the clock of an observation, and on pauses. Counts and orders are judged alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// [`ACK_IN_FLIGHT`]
    pub ack_in_flight: Nanos,
    /// [`ANSWER_PATIENCE`]
    pub answer_patience: Nanos,
    /// [`TIMER_SLACK`]
    pub timer_slack: Nanos,
    /// [`CNP_PATIENCE`]
    pub cnp_patience: Nanos,
    /// [`SLOW_RETRANSMISSION`]
    pub slow_retransmission: Nanos,
    /// [`HOSTS_TAKE`]
    pub hosts_take: Nanos,
    /// Reason why times of microseconds cannot be judged, those between CNPs and between the packets of a sender; none if they
    /// can.
    pub no_distances: Option<&'static str>,
}

impl Times {
    /// Those where the switch shows when each packet left, on a clock that tells microseconds.
    const EXACT: Self = Self {
        ack_in_flight: ACK_IN_FLIGHT,
        answer_patience: ANSWER_PATIENCE,
        timer_slack: TIMER_SLACK,
        cnp_patience: CNP_PATIENCE,
        slow_retransmission: SLOW_RETRANSMISSION,
        hosts_take: HOSTS_TAKE,
        no_distances: None,
    };

    /// Those where anything may take so long, for a reason that is not the NIC's.
    const fn of_tail(tail: Nanos, reason: &'static str) -> Self {
        Self {
            ack_in_flight: tail,
            answer_patience: tail,
            timer_slack: tail,
            cnp_patience: tail,
            slow_retransmission: tail,
            hosts_take: tail,
            no_distances: Some(reason),
        }
    }

    /// Those of an observation, by its clock, and by pauses that hosts have counted, or that the test allows and nothing counts.
    #[must_use]
    pub fn of(config: Option<&TestConfig>, observation: &Observation) -> Self {
        match observation.clock {
            Clock::Emulated => Self::of_tail(EMULATED_TAIL, EMULATED),
            Clock::Exact if are_possible(config, observation) => Self::of_tail(PAUSED_TAIL, PAUSED),
            // Packets may wait in a NIC until they are looked up, and the trace does not show how long.
            Clock::Exact if config.is_some_and(|config| config.tables().next().is_some()) => {
                Self { timer_slack: LONGEST_QUEUE, ..Self::EXACT }
            }
            Clock::Exact => Self::EXACT,
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::EXACT
    }
}

/// The shortest time-out that a requester can be given, exponent 1. A retransmission of unacknowledged data
/// sooner than this after the timer could start is no time-out, whatever the (unknown) configuration says.
pub const SHORTEST_TIMEOUT: Nanos = Nanos(8_192);

/// Longest time of an acknowledgement from the switch to the requester: a retransmission from a PSN that was
/// the oldest unacknowledged one this long ago is not a step back. Two guests of an emulated testbed take up
/// to 13 ms to react; real links take microseconds.
pub const ACK_IN_FLIGHT: Nanos = Nanos::from_millis(20);

/// Longest time of an answer (a NAK, a repeated ACK) before its absence is called missing. Four times the
/// slowest NAK of any real stack measured for Send and Write (13 ms, emulated rdma_rxe); hardware takes
/// microseconds.
pub const ANSWER_PATIENCE: Nanos = Nanos::from_millis(50);

/// Longest time of a requester from the delivery of a NAK, or of a gap, to its retransmission: E810 takes 83
/// ms to make the NACK of a Read (Lumina §6.1). That is slow, but no sign of a timer that expires too soon.
pub const SLOWEST_NACK: Nanos = Nanos::from_millis(100);

/// Largest difference between a timer's interval as the switch sees it and at the requester. The switch
/// stamps packets of the requester some microseconds after the timer was started, and packets that make
/// progress some microseconds before they arrive; queues at the ports let both vary by a few packets.
pub const TIMER_SLACK: Nanos = Nanos::from_micros(50);

/// Goodput below this share of that over the slowest path alone, in percent, is a collapse: packets of the slowest path come no
/// later than they would there, and receivers that keep what is early lose little (LEFT figure 6: 94 %).
pub const COLLAPSES_BELOW_PERCENT: u64 = 50;

/// So many retransmissions right behind duplicate ACKs may have another reason: one whose timer expires as the ACK
/// comes, and one whose reason was lost between the switch and the host, or lies before the trace. No third one has by
/// chance.
pub const DUPLICATE_ACK_RETURNS: u64 = 2;

/// After so many times the latest expiry, 4T, without a packet a requester that waits for an acknowledgement has
/// stalled: NICs that back off from one time-out to the next do so by less in all.
pub const STALL_EXPIRIES: u64 = 8;

/// An RNR wait shorter than this share of the wait that the NAK names, in percent, is too short. Nothing on
/// the way makes it look shorter to the switch; timers have clocks of their own. Waits that are shorter by
/// less than `TIMER_SLACK` are not judged.
pub const RNR_WAIT_PERCENT: u64 = 90;

/// Longest time from a marked packet's exit from the switch to a CNP, before its absence counts: a round trip
/// of the testbed and the longest interval that any NIC is known to wait of its own accord (50 µs, Lumina
/// §6.3).
pub const CNP_PATIENCE: Nanos = Nanos::from_micros(50);

/// CNPs closer than this share of the interval, in percent, are too early: NICs keep their interval with clocks
/// of their own, some of them coarse.
pub const CNP_INTERVAL_PERCENT: u64 = 90;

/// A mark that comes later than this share of the interval after the last CNP of its QP, in percent, is answered:
/// clocks of NICs are off by far less, but some are coarse.
pub const CNP_WITHHELD_PERCENT: u64 = 110;

/// Prompt answers of a host that show how much its ways vary, at least: the fewest of which one half is
/// likely to show the same variation as the other.
pub const FEWEST_WAYS: usize = 4;

/// Largest decrease of the distance of two CNPs from the NIC to the switch: the first one waited for a full
/// packet of 4,178 bytes that was already leaving, at 25 Gb/s, and the second one did not.
pub const CNP_BEHIND_DATA: Nanos = Nanos(1_340);

/// The slowest link that a host may be on: packets that wait for it at the switch reach the host so late.
/// RoCE NICs have 10 Gb/s and more. In nanoseconds for 1000 bytes.
pub const SLOWEST_LINK_NS_PER_KB: u64 = 800;

/// The fastest link that a host may be on: 800 Gb/s. In nanoseconds for 1000 bytes.
pub const FASTEST_LINK_NS_PER_KB: u64 = 10;

/// The longest queue at a port of the switch, as time on the slowest link: 62.5 MB, all that the packet buffer of a
/// large switch has.
pub const LONGEST_QUEUE: Nanos = Nanos::from_millis(50);

/// The least time from one packet to the next of a sender that is at work: a million packets a second are the
/// slowest rate of any RDMA NIC.
pub const SLOWEST_SENDER: Nanos = Nanos(1_000);

/// A phase of a fast retransmission that takes longer than this, net of queues, is slow. Good NICs take 1 to
/// 10 µs, a model at the edge of the conforming range 90 µs with the way; ConnectX-4 Lx takes 150 µs and
/// more, E810 83 ms (Lumina §6.1).
pub const SLOW_RETRANSMISSION: Nanos = Nanos::from_micros(100);

/// An innocent connection suffers if a message takes so many times as long as in the reference run. Lumina
/// §6.2.2 has 160 µs against 430 ms, a factor of 2,700; the effect of other connections' losses on conforming
/// NICs stays below 10.
pub const SUFFERS_BEYOND: u64 = 10;

/// Longest time of hosts and NICs for a message beside the network: to post it, to acknowledge it, to see its
/// completion. Operating systems take a millisecond for any of these when they are busy; one more for the
/// way.
pub const HOSTS_TAKE: Nanos = Nanos::from_millis(4);

/// Largest variation of a packet's time through a receiver: packets within it may arrive at once.
pub const RECEIVER_JITTER: Nanos = Nanos::from_micros(10);

/// The smallest receive buffer, one jumbo frame: of packets that arrive at once, those that do not fit may be
/// lost.
pub const SMALLEST_BUFFER: u64 = 9_216;

/// Where more arrives at once than the smallest buffer holds, discarded packets are the test's doing if the
/// reference run causes a tenth of them, or if more arrives at once than in the reference run by this share,
/// in percent.
pub const MORE_AT_ONCE_PERCENT: u64 = 125;

/// Gaps between packets from which one may say how a host spaces them: those of a message of 10 KB, and as many as it
/// takes for a class that waited for another one's packet to catch up.
pub const FEWEST_GAPS: usize = 8;

/// A class that has packets leaves the link idle if the time from one to the next is longer by so many
/// percent than the packets sent meanwhile take. Differences of frame lengths, and waits of classes for each
/// other, stay below 5 %; the least that was published is a factor of 2 (Lumina figure 10).
pub const IDLE_PERCENT: u64 = 10;

/// So many percent of a class's packets are spaced so where it does not get the bandwidth that others leave.
/// Interrupts of a host and its bus make it hiccup, and seldom.
pub const WITHHELD_PERCENT: usize = 10;

/// Largest error of the time of a packet, as time stamps are rounded.
pub const STAMPS_APART: Nanos = Nanos(1);

/// A timer that expires at T does so within this share of T, in percent: kernels that count in ticks of 4 ms are off by 6 % of
/// 67 ms. It tells the expiry from the NACK of a slow NIC.
pub const TIMER_AT_T_PERCENT: u64 = 110;

/// So many gaps in Read responses of one connection that were acted on when the ACK timer expired, and longer than [`ANSWER_PATIENCE`]
/// after they had arrived, are ignored, where a host may stand still for longer than that: it does not do so each time until
/// its timer expires.
pub const GAPS_WAITED_OUT: u64 = 3;

/// The largest transmit pipeline of a NIC, in bytes of frames: a packet that is scheduled may wait behind so many, with its
/// timer running. Retransmissions of ConnectX-5 and 6 Dx wait behind some 70 KB (Lumina (preprint) §6.2, figure 10).
pub const LARGEST_PIPELINE: u64 = 131_072;

/// A connection is slow with copies and dummies if its median message takes longer, by this share in percent, than as many messages as
/// there then are would take one after the other. A dummy has one packet, and takes no longer than a message.
pub const SLOWER_THAN_ADDED_PERCENT: u64 = 150;

/// A requester that has not reacted to a NAK by the time it ended, has ended for another reason than its timer, if that had so many
/// times as long to run as the slowest reaction without copies took, and as the slowest reaction that is not called slow takes.
pub const REACTS_WITHIN: u64 = 4;

/// A connection is slow whose median message takes so many times as long as those of the others: bursts of a fair scheduler reach 2.
pub const SLOW_FLOW_TIMES: u64 = 3;

/// Messages of a connection, or of a part of a test, whose times say something.
pub const FEWEST_MESSAGES: usize = 10;

/// Flows of a table from which on a test is compared with one of fewer flows.
pub const FEWEST_FLOWS: u32 = 16;

/// Goodput falls off below so many percent of that with fewer flows: the least that was published are 13 % (ScalaCN figure 6).
pub const CLIFF_GOODPUT_PERCENT: f64 = 87.0;

/// Messages fall off that take more than so many percent of the time with fewer flows (ScalaCN figure 6: 27 to 34 %).
pub const CLIFF_LATENCY_PERCENT: f64 = 127.0;

/// Probability that chance alone makes messages seem so much slower: a campaign has some ten thousand tests.
pub const LATENCY_BY_CHANCE: f64 = 1e-5;

/// An operation is slow that takes so many times as long as on a small table; ScalaCN (table 1) has 9.
pub const SLOW_OPERATION_TIMES: f64 = 3.0;
