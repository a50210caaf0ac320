//! The part of a search space that a testbed can run.

use corpus::config::fields::{self, IntField};
use corpus::{Action, ActionKind, Capabilities, ControlPacket, Form, Mtu, RoceSetting, Verb};

use crate::axis::{AXES, Axis};
use crate::show::allowed;
use crate::space::Space;
use crate::values::Values;
use crate::words;

/// Limit that a testbed sets to the values of an axis.
enum Limit {
    Between(u64, u64),
    OneOf(Vec<u64>),
    /// It has this value, whatever the target asks for.
    Fixed(u64),
}

impl Space {
    /// The part of the space that a testbed can run.
    ///
    /// # Errors
    /// The axis of which nothing is left, with the values of the target and those of the testbed.
    pub(crate) fn within(&self, can: &Capabilities) -> Result<Self, String> {
        let mut space = self.clone();
        for entry in AXES {
            let asked = &self[entry.axis];
            let left = match limit(entry.axis, can) {
                None => continue,
                Some(Limit::Fixed(value)) => Values::only(value),
                Some(Limit::Between(least, most)) => asked.between(least, most).ok_or_else(|| {
                    refusal(entry.path, &allowed(entry.kind, asked), &format!("{least} to {most}"))
                })?,
                Some(Limit::OneOf(values)) => {
                    let both: Vec<u64> = values.iter().copied().filter(|one| asked.contains(*one)).collect();
                    if both.is_empty() {
                        let can = allowed(entry.kind, &Values::List(values));
                        return Err(refusal(entry.path, &allowed(entry.kind, asked), &can));
                    }
                    Values::List(both)
                }
            };
            space.set(entry.axis, left);
        }
        let mut max_bytes = can.max_bytes;
        if let Some(quick) = &can.quick {
            let (least, most) = (*quick.timeouts.start(), *quick.timeouts.end());
            let limits = [
                (Axis::Connections, 1, quick.max_connections.into()),
                (Axis::Timeout, least.into(), most.into()),
                (Axis::LossPpb, 0, quick.max_loss_ppb.into()),
            ];
            for (axis, least, most) in limits {
                // A target that has only others means them.
                if let Some(left) = space[axis].between(least, most) {
                    space.set(axis, left);
                }
            }
            max_bytes = max_bytes.min(quick.max_bytes);
        }
        space.room = can.room;
        // No packet carries more than the largest MTU.
        let packets = max_bytes / space[Axis::Mtu].largest().max(1);
        space.packet_cap = space.packet_cap.min(u32::try_from(packets).unwrap_or(u32::MAX)).max(1);
        Ok(space)
    }
}

fn refusal(path: &str, asked: &str, can: &str) -> String {
    format!("{path}: the target has {asked}, and the testbed can do {can}")
}

fn limit(axis: Axis, can: &Capabilities) -> Option<Limit> {
    let at_most = |most: u64, field: &IntField| (most < field.max).then_some(Limit::Between(field.min, most));
    let setting = |setting: RoceSetting| {
        let fixed = setting.value(&can.fixed).unwrap_or(0);
        (!can.settings.contains(&setting)).then_some(Limit::Fixed(fixed))
    };
    let without = |can: bool| (!can).then_some(Limit::Fixed(0));
    match axis {
        Axis::Verb => Some(Limit::OneOf(verbs(can))),
        Axis::Connections => at_most(can.max_connections.into(), &fields::NUM_CONNECTIONS),
        Axis::Mtu => {
            let mtus = Mtu::ALL.iter().filter(|mtu| can.mtus.contains(mtu));
            Some(Limit::OneOf(mtus.map(|mtu| mtu.bytes().into()).collect()))
        }
        Axis::TxDepth => at_most(can.max_tx_depth.into(), &fields::TX_DEPTH),
        Axis::RecvDepth => at_most(can.max_recv_depth.into(), &fields::RECV_DEPTH),
        Axis::MaxRdAtomic => at_most(can.max_rd_atomic.into(), &fields::MAX_RD_ATOMIC),
        Axis::Timeout => Some(Limit::Between((*can.timeouts.start()).into(), (*can.timeouts.end()).into())),
        Axis::InitialPsn => (!can.initial_psn).then_some(Limit::Fixed(fields::INITIAL_PSN.max + 1)),
        Axis::LossPpb => without(can.loss),
        Axis::Paths => without(can.paths),
        Axis::Pfc => without(can.pfc && can.room.pauses),
        Axis::PathDelay => at_most(can.max_delay_ns, &fields::PATH_DELAY_NS),
        Axis::RepeatNaks | Axis::RepeatRetransmissions | Axis::RepeatTails => {
            (!can.repeat).then_some(Limit::Fixed(1))
        }
        Axis::MultiGid => without(can.max_addresses > 1),
        Axis::Addresses => {
            let most = can.max_addresses as u64;
            (most < fields::MAX_ADDRESSES as u64).then_some(Limit::Between(1, most))
        }
        Axis::NotificationPoint => setting(RoceSetting::NotificationPoint),
        Axis::ReactionPoint => setting(RoceSetting::ReactionPoint),
        Axis::CnpInterval => setting(RoceSetting::CnpInterval),
        Axis::AdaptiveRetrans => setting(RoceSetting::AdaptiveRetrans),
        Axis::SlowRestart => setting(RoceSetting::SlowRestart),
        Axis::LossRecovery => setting(RoceSetting::LossRecovery),
        Axis::OffloadHosts => setting(RoceSetting::Offload),
        Axis::Operations | Axis::Vxlan | Axis::Scheduler => without(can.control),
        Axis::Tables | Axis::VirtualFunctions | Axis::MaxIdle | Axis::Revalidate | Axis::HyperEntries => {
            (!can.control).then_some(Limit::Fixed(axis.entry().default))
        }
        Axis::Flows => at_most(can.max_flows.into(), &fields::OFFLOAD_FLOWS),
        Axis::Classes => {
            let needed = [RoceSetting::TrafficClass, RoceSetting::Ets];
            without(needed.iter().all(|setting| can.settings.contains(setting)))
        }
        Axis::SwapNics => without(can.swaps_nics),
        Axis::Packet => Some(Limit::OneOf(packets(can))),
        Axis::Action => {
            let kinds = ActionKind::NAMES.iter().filter(|(_, kind)| can.actions.contains(kind));
            Some(Limit::OneOf(kinds.map(|(_, kind)| *kind as u64).collect()))
        }
        // No event has a field where none is rewritten.
        Axis::Field => can
            .actions
            .contains(&ActionKind::SetField)
            .then(|| Limit::OneOf(can.header_fields.iter().map(|field| *field as u64).collect())),
        axis => {
            let of_axis = |kind: &&ActionKind| Axis::of_operand(**kind) == Some(axis);
            let timed = ActionKind::ALL.iter().find(of_axis).filter(|kind| kind.form() == Form::Time)?;
            at_most(can.max_delay_ns, Action::operand_of(*timed)?.field)
        }
    }
}

/// The words of [`Axis::Verb`] whose verbs a testbed has.
fn verbs(can: &Capabilities) -> Vec<u64> {
    let all = 0..words::VERBS.len() as u64;
    let has = |word: &u64| {
        let load = words::load(*word, 2);
        [Verb::Write, Verb::Read, Verb::Send]
            .into_iter()
            .all(|verb| can.verbs.contains(&verb) || !(1..=2).any(|qpn| load.carries(qpn, 2, verb)))
    };
    all.filter(has).collect()
}

/// The words of [`Axis::Packet`] that a testbed's events can name.
fn packets(can: &Capabilities) -> Vec<u64> {
    let named = ControlPacket::NAMES.iter().filter(|(_, packet)| can.control_packets.contains(packet));
    let mut words: Vec<u64> = named.filter_map(|(name, _)| words::packet(name)).collect();
    words.push(words::DATA);
    words.sort_unstable();
    words
}
