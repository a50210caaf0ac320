//! The match-action tables: which packet of which flow gets which actions.

use std::net::IpAddr;

use corpus::config::{Points, fields};
use corpus::{ControlPacket, Repeat};
use dumper::Psn;
use rustc_hash::FxHashMap;

use crate::flow::{FlowIndex, Registers};
use crate::network::{LossRule, PathRule};
use crate::{Actions, Rounds};

/// Most entries of one test: as many as it may have data packets. Keeps the tables below some 300 MB.
pub const MAX_ENTRIES: usize = fields::MAX_TOTAL_PACKETS as usize;

/// Match key of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A data packet.
    Data {
        /// Its flow.
        flow: FlowIndex,
        /// Its PSN.
        psn: Psn,
        /// Its round of transmission, from 1.
        iter: u8,
    },
    /// Control packets by their number. An event may name every k-th without an end, so this is one entry and not
    /// an expansion of it.
    Control {
        /// Their flow; for CNPs, which are counted over both directions, the one towards the requester.
        flow: FlowIndex,
        /// Their kind.
        packet: ControlPacket,
        /// Their occurrences.
        nth: Points,
    },
}

/// One entry of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The packets.
    pub key: Key,
    /// Actions on them.
    pub actions: Actions,
}

/// Configuration of the pipeline for a test: its flows and its entries.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    flows: FxHashMap<(IpAddr, u32), FlowIndex>,
    registers: Vec<Registers>,
    data: FxHashMap<u64, Actions>,
    control: FxHashMap<(FlowIndex, ControlPacket), Vec<(Points, Actions)>>,
    control_entries: usize,
    /// Losses by flow; none behind the last flow that has any.
    losses: Vec<Option<LossRule>>,
    repeat: Repeat,
    paths: PathRule,
}

/// Key of a data packet: flow, PSN and ITER side by side.
#[inline]
fn data_key(flow: FlowIndex, psn: Psn, iter: u8) -> u64 {
    (flow.index() as u64) << 32 | u64::from(psn.value()) << 8 | u64::from(iter)
}

impl Tables {
    /// Adds the next flow with its registers; flows come in the order of their indices. Whether it was new.
    pub(crate) fn add_flow(&mut self, destination: IpAddr, qpn: u32, registers: Registers) -> bool {
        let index = FlowIndex::at(self.registers.len() as u32);
        self.registers.push(registers);
        self.flows.insert((destination, qpn), index).is_none()
    }

    /// Adds actions on a data packet, combined with those that its entry already has.
    pub(crate) fn add_data(&mut self, flow: FlowIndex, psn: Psn, iter: u8, actions: impl Into<Actions>) {
        self.registers[flow.index()].armed = true;
        self.data.entry(data_key(flow, psn, iter)).or_default().add(actions);
    }

    /// Adds an entry for control packets.
    pub(crate) fn add_control(
        &mut self,
        flow: FlowIndex,
        packet: ControlPacket,
        nth: Points,
        actions: Actions,
    ) {
        let home = flow.counts_at(packet);
        self.control.entry((home, packet)).or_default().push((nth, actions));
        self.control_entries += 1;
        self.registers[home.index()].wait_for(packet, nth.first);
    }

    /// Loses packets of a flow at random.
    pub(crate) fn set_loss(&mut self, flow: FlowIndex, rule: LossRule) {
        if self.losses.len() <= flow.index() {
            self.losses.resize(flow.index() + 1, None);
        }
        self.losses[flow.index()] = Some(rule);
    }

    /// Losses by flow; there may be fewer of them than flows.
    pub(crate) fn losses(&self) -> &[Option<LossRule>] {
        &self.losses
    }

    /// Copies packets whose loss costs a time-out.
    pub(crate) fn set_repeat(&mut self, repeat: Repeat) {
        self.repeat = repeat;
    }

    /// Copies of packets whose loss costs a time-out.
    pub(crate) const fn repeat(&self) -> Repeat {
        self.repeat
    }

    /// Has packets take paths between the hosts.
    pub(crate) fn set_paths(&mut self, paths: PathRule) {
        self.paths = paths;
    }

    /// Paths between the hosts.
    pub(crate) const fn paths(&self) -> &PathRule {
        &self.paths
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() + self.control_entries
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The flow of the packets to a destination address and QPN, if the test has it.
    #[must_use]
    pub fn flow(&self, destination: IpAddr, qpn: u32) -> Option<FlowIndex> {
        self.flows.get(&(destination, qpn)).copied()
    }

    /// All entries: those of data packets by flow, PSN and ITER, then those of control packets by flow and kind
    /// and in the order of their events.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let mut data: Vec<_> = self.data.iter().map(|(key, actions)| (*key, *actions)).collect();
        data.sort_unstable_by_key(|(key, _)| *key);
        let data = data.into_iter().map(|(key, actions)| {
            let (flow, psn) = (FlowIndex::at((key >> 32) as u32), Psn::new((key >> 8) as u32));
            Entry { key: Key::Data { flow, psn, iter: key as u8 }, actions }
        });
        let mut kinds: Vec<_> = self.control.iter().collect();
        kinds.sort_unstable_by_key(|(kind, _)| **kind);
        let control = kinds.into_iter().flat_map(|((flow, packet), rules)| {
            rules.iter().map(|(nth, actions)| Entry {
                key: Key::Control { flow: *flow, packet: *packet, nth: *nth },
                actions: *actions,
            })
        });
        data.chain(control).collect()
    }

    /// All flows with destination address and QPN, in the order of their indices.
    pub(crate) fn flows(&self) -> Vec<(FlowIndex, IpAddr, u32)> {
        let mut flows: Vec<_> = self.flows.iter().map(|((ip, qpn), flow)| (*flow, *ip, *qpn)).collect();
        flows.sort_unstable_by_key(|(flow, ..)| *flow);
        flows
    }

    /// The register that counts the rounds of a flow, as it is before the first packet; none once a pipeline has taken
    /// the registers.
    pub(crate) fn rounds(&self, flow: FlowIndex) -> Option<&Rounds> {
        self.registers.get(flow.index()).map(|registers| &registers.rounds)
    }

    /// Hands out the registers of all flows as they are before the first packet.
    pub(crate) fn take_registers(&mut self) -> Vec<Registers> {
        std::mem::take(&mut self.registers)
    }

    #[inline]
    pub(crate) fn match_data(&self, flow: FlowIndex, psn: Psn, iter: u8) -> Option<Actions> {
        self.data.get(&data_key(flow, psn, iter)).copied()
    }

    /// The actions on the n-th control packet of a kind, and the next number that an entry names, if any does.
    /// `flow` is the one that counts them.
    pub(crate) fn match_control(
        &self,
        flow: FlowIndex,
        packet: ControlPacket,
        nth: u32,
    ) -> (Actions, Option<u32>) {
        let (mut actions, mut next) = (Actions::default(), None);
        for (points, more) in self.control.get(&(flow, packet)).into_iter().flatten() {
            if next_in(*points, nth) == Some(nth) {
                actions.add(*more);
            }
            next = [next, next_in(*points, nth + 1)].into_iter().flatten().min();
        }
        (actions, next)
    }
}

/// The smallest number of a progression that is at least `from`.
fn next_in(points: Points, from: u32) -> Option<u32> {
    let steps = from.saturating_sub(points.first).div_ceil(points.step);
    points.first.checked_add(steps.checked_mul(points.step)?).filter(|next| *next <= points.last)
}
