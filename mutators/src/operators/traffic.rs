//! Operators on traffic and hosts.

use corpus::{Load, Role};
use rand::RngExt;

use super::{Applied, Bench, Operator};
use crate::axis::{Axis, Of};
use crate::draw;
use crate::settle::give_addresses;

macro_rules! operators {
    ($($name:literal $weight:literal $what:literal $apply:expr;)*) => {
        pub(super) const OPERATORS: &[Operator] =
            &[$(Operator { name: $name, weight: $weight, what: $what, apply: $apply }),*];
    };
}
pub(super) use operators;

operators! {
    "connections-more" 1.0 "One to four connections more."
        |on| on.connections(|n, rng| n.saturating_add(rng.random_range(1..=4)));
    "connections-fewer" 1.0 "One to four connections fewer."
        |on| on.connections(|n, rng| n.saturating_sub(rng.random_range(1..=4)));
    "connections-double" 1.0 "Twice as many connections." |on| on.connections(|n, _| n.saturating_mul(2));
    "connections-halve" 1.0 "Half as many connections." |on| on.connections(|n, _| n / 2);
    "verb" 1.0 "Another verb." |on| on.other(Axis::Verb);
    "senders" 1.0 "Another number of senders, where some connections send and others read." |on| {
        let before = on.test.traffic.load;
        draw::divide(&mut on.test.traffic.load, on.rng);
        (on.test.traffic.load != before).into()
    };
    "messages" 1.0 "More or fewer messages." |on| on.other(Axis::Messages);
    "message-size" 1.0 "Larger or smaller messages." |on| on.other(Axis::MessageSize);
    "message-edge" 1.0 "Messages that fill their last packet, or one byte more or less." |on| on.message_edge();
    "mtu" 1.0 "Another MTU." |on| on.other(Axis::Mtu);
    "tx-depth" 1.0 "More or fewer requests outstanding." |on| on.other(Axis::TxDepth);
    "tx-depth-full" 0.5 "All messages outstanding at once." |on| {
        on.set(Axis::TxDepth, on.test.traffic.num_msgs_per_qp.into())
    };
    "barrier-sync" 0.5 "Messages wait for those of all connections, or no more." |on| on.other(Axis::BarrierSync);
    "timeout" 1.0 "Another ACK timeout." |on| on.other(Axis::Timeout);
    "retries" 1.0 "Another retry budget." |on| on.other(Axis::Retries);
    "recv-depth" 0.5 "More or fewer Receives posted." |on| on.other(Axis::RecvDepth);
    "recv-batch" 0.5 "Receives posted one by one, or more at once." |on| on.other(Axis::RecvBatch);
    "dummies" 0.5 "More or fewer dummies behind each message, or another wait for them." |on| {
        let has_several = |axis: &Axis| on.space[*axis].smallest() != on.space[*axis].largest();
        let axes = [Axis::DummyHeaders, Axis::DummyIdle, Axis::DummyRule].into_iter().filter(has_several);
        let axes: Vec<_> = axes.collect();
        // Most targets have one of them: a draw for it would change what their campaigns do.
        let at = if axes.len() > 1 { on.rng.random_range(0..axes.len()) } else { 0 };
        axes.get(at).map_or(Applied::NotApplicable, |axis| on.other(*axis))
    };
    "pattern" 0.5 "The hosts post in turn, or no more." |on| on.other(Axis::Pattern);
    "rnr-retry" 0.5 "Another RNR retry budget." |on| on.other(Axis::RnrRetry);
    "rnr-timer" 0.5 "Another RNR timer." |on| on.other(Axis::RnrTimer);
    "max-rd-atomic" 0.5 "More or fewer Reads outstanding." |on| on.other(Axis::MaxRdAtomic);
    "initial-psn" 0.5 "Another first PSN." |on| on.other(Axis::InitialPsn);
    "gap" 0.5 "Another pause between messages." |on| on.other(Axis::Gap);
    "iter-mode" 0.25 "The injector counts rounds in the other way." |on| on.other(Axis::IterMode);
    "seed" 0.25 "Another seed." |on| on.other(Axis::Seed);
    "loss" 1.0 "More or fewer packets lost at random." |on| on.other(Axis::LossPpb);
    "loss-model" 0.25 "Losses depend on the size of packets, or no more." |on| on.other(Axis::LossModel);
    "links" 0.25 "More or fewer links that lose packets." |on| on.other(Axis::Links);
    "corrupted-links" 0.25 "Another share of the links loses packets." |on| on.other(Axis::CorruptedLinks);
    "loss-packets" 0.5 "Other kinds of packets are lost." |on| on.other(Axis::LossPackets);
    "loss-direction" 0.5 "Packets of another direction are lost." |on| on.other(Axis::LossDirection);
    "loss-effect" 0.25 "Lost packets are dropped, or corrupted." |on| on.other(Axis::LossEffect);
    "repeat-naks" 0.5 "The network sends more or fewer NAKs for one." |on| on.other(Axis::RepeatNaks);
    "repeat-retransmissions" 0.5 "The network sends more or fewer packets for one that a NAK asks for." |on| {
        on.other(Axis::RepeatRetransmissions)
    };
    "repeat-tails" 0.5 "The network sends more or fewer packets for the last of a message." |on| {
        on.other(Axis::RepeatTails)
    };
    "repeat-match" 0.25 "Retransmissions that are copied are known in another way." |on| on.other(Axis::RepeatMatch);
    "paths" 0.5 "More or fewer paths between the hosts." |on| on.other(Axis::Paths);
    "path-delay" 0.5 "Longer or shorter paths." |on| on.other(Axis::PathDelay);
    "path-rate" 0.25 "Faster or slower paths." |on| on.other(Axis::PathRate);
    "spray" 0.5 "Packets are spread over the paths in another way." |on| on.other(Axis::Spray);
    "flowlet-gap" 0.25 "Longer or shorter pauses begin a flowlet." |on| on.other(Axis::FlowletGap);
    "spray-packets" 0.25 "Answers are spread over the paths, or no more." |on| on.other(Axis::SprayPackets);
    "pfc" 0.25 "Priority flow control, or no more." |on| on.other(Axis::Pfc);
    "multi-gid" 0.5 "Connections over all addresses, or no more." |on| on.other(Axis::MultiGid);
    "addresses" 0.5 "More or fewer addresses of a host, where connections are spread over them." |on| on.addresses();
    "notification-point" 0.5 "DCQCN notification point of a host on or off." |on| on.other(Axis::NotificationPoint);
    "reaction-point" 0.25 "DCQCN reaction point of a host on or off." |on| on.other(Axis::ReactionPoint);
    "cnp-interval" 0.5 "Another CNP interval of a host." |on| on.other(Axis::CnpInterval);
    "adaptive-retrans" 0.5 "Adaptive retransmission of a host on or off." |on| on.other(Axis::AdaptiveRetrans);
    "slow-restart" 0.25 "Slow restart of a host on or off." |on| on.other(Axis::SlowRestart);
    "loss-recovery" 0.25 "The other loss recovery at both hosts." |on| on.other(Axis::LossRecovery);
    "swap-nics" 0.5 "The NICs of the two hosts change places." |on| {
        let swaps = on.space.swaps_nics() && on.test.requester.nic != on.test.responder.nic;
        if swaps {
            draw::swap_nics(on.test);
        }
        swaps.into()
    };
}

impl Bench<'_> {
    pub(super) fn role(&mut self) -> Role {
        Role::ALL[self.rng.random_range(0..Role::ALL.len())]
    }

    /// Another value of an axis.
    pub(super) fn other(&mut self, axis: Axis) -> Applied {
        let values = &self.space[axis];
        match axis.entry().of {
            Of::Test(get, set) => {
                let other = values.other(get(self.test), self.rng);
                other.map(|value| set(self.test, value)).is_some().into()
            }
            Of::Host(get, set) => {
                let role = self.role();
                let host = self.test.host_mut(role);
                let other = values.other(get(host), self.rng);
                other.map(|value| set(host, value)).is_some().into()
            }
            Of::Part => Applied::NotApplicable,
        }
    }

    /// The value of an axis that is nearest to one.
    fn set(&mut self, axis: Axis, value: u64) -> Applied {
        let Of::Test(get, set) = axis.entry().of else { return Applied::NotApplicable };
        let nearest = self.space[axis].nearest(value);
        let changed = nearest != get(self.test);
        set(self.test, nearest);
        changed.into()
    }

    fn connections(&mut self, to: fn(u64, &mut rand_chacha::ChaCha8Rng) -> u64) -> Applied {
        let before = self.test.traffic.load;
        let wanted = to(before.connections().into(), self.rng);
        let applied = self.set(Axis::Connections, wanted);
        if let (Load::Split { .. }, Applied::Changed) = (before, applied) {
            draw::divide(&mut self.test.traffic.load, self.rng);
        }
        applied
    }

    fn message_edge(&mut self) -> Applied {
        let traffic = &self.test.traffic;
        let full = traffic.shape().own_packets().saturating_mul(traffic.mtu.bytes());
        let size = match self.rng.random_range(0..3) {
            0 => full,
            1 => full.saturating_add(1),
            _ => full - 1,
        };
        self.set(Axis::MessageSize, size.into())
    }

    fn addresses(&mut self) -> Applied {
        if !self.test.traffic.multi_gid {
            return Applied::NotApplicable;
        }
        let role = self.role();
        let before = self.test.host(role).ip_list.len() as u64;
        let other = self.space[Axis::Addresses].other(before, self.rng);
        other.map(|count| give_addresses(self.test, role, count)).is_some().into()
    }
}
