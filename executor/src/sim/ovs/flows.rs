//! The flows of a host: those of its connections, and others that only hold places in the table.

use std::collections::BTreeSet;

use corpus::Offload;

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Its mask in each direction: packets that leave, and that arrive.
    pub(super) masks: [u32; 2],
    pub(super) state: State,
}

/// Where the packets of a flow are forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// In software.
    Software,
    /// In software, until the entry that was asked for is there.
    Asked,
    /// By the NIC.
    Offloaded,
    /// By the NIC, until the entry is deleted.
    Deleting,
}

/// All flows of a host, in the order in which they began.
#[derive(Debug)]
pub(super) struct Flows {
    all: Vec<Flow>,
    connections: u32,
    /// Masks that the table has in each direction.
    masks: [u32; 2],
}

impl Flows {
    /// Those before the traffic starts. The masks that no connection has are first those of the others, which then have all of them in turn.
    pub(super) fn of(offload: &Offload, connections: u32) -> Self {
        let masks = [offload.egress_masks, offload.ingress_masks];
        let of_connections =
            (1..=connections).map(|qpn| masks.map(|masks| offload.place.mask_of(qpn, connections, masks)));
        let mut all: Vec<Flow> = of_connections.map(|masks| Flow { masks, state: State::Software }).collect();
        let taken = [0, 1]
            .map(|direction| -> BTreeSet<u32> { all.iter().map(|flow| flow.masks[direction]).collect() });
        let others = offload.flows.saturating_sub(connections) as usize;
        let mut masks_of = [0, 1].map(|direction| {
            let missing = (1..=masks[direction]).filter(|mask| !taken[direction].contains(mask));
            missing.chain((1..=masks[direction]).cycle()).take(others).collect::<Vec<_>>().into_iter()
        });
        for _ in 0..others {
            let masks = masks_of.each_mut().map(|masks| masks.next().unwrap_or(1));
            all.push(Flow { masks, state: State::Software });
        }
        Self { all, connections, masks }
    }

    pub(super) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    pub(super) fn get(&self, flow: u32) -> Option<Flow> {
        self.all.get(flow as usize).copied()
    }

    pub(super) fn set(&mut self, flow: u32, state: State) {
        if let Some(flow) = self.all.get_mut(flow as usize) {
            flow.state = state;
        }
    }

    /// A new flow with masks that there are, by its number.
    pub(super) fn add(&mut self) -> u32 {
        let number = self.len();
        let masks = self.masks.map(|masks| number % masks + 1);
        self.all.push(Flow { masks, state: State::Software });
        number
    }

    /// A new flow with masks of its own.
    pub(super) fn add_with_masks(&mut self) -> u32 {
        let number = self.len();
        self.masks = self.masks.map(|masks| masks + 1);
        self.all.push(Flow { masks: self.masks, state: State::Software });
        number
    }

    /// The newest flows of no connection that are forwarded by the NIC or are to be, so many of them at the most.
    pub(super) fn newest(&self, most: u32) -> Vec<u32> {
        let others = (self.connections..self.len()).rev();
        let is_there = |flow: &u32| {
            self.get(*flow).is_some_and(|flow| matches!(flow.state, State::Asked | State::Offloaded))
        };
        others.filter(is_there).take(most as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use corpus::Placement;

    use super::*;

    #[test]
    fn every_mask_has_an_entry() {
        let offload = Offload {
            flows: 7,
            egress_masks: 4,
            ingress_masks: 1,
            place: Placement::Last,
            ..Offload::default()
        };
        let mut flows = Flows::of(&offload, 2);
        flows.add();
        flows.add_with_masks();
        flows.add_with_masks();
        let masks: Vec<[u32; 2]> = (0..flows.len()).map(|flow| flows.get(flow).unwrap().masks).collect();
        let expected = [[4, 1], [4, 1], [1, 1], [2, 1], [3, 1], [1, 1], [2, 1], [4, 1], [5, 2], [6, 3]];
        assert_eq!(masks, expected);
    }

    #[test]
    fn the_newest_flows_go_first_and_those_of_connections_never() {
        let mut flows = Flows::of(&Offload { flows: 5, ..Offload::default() }, 2);
        (0..5).for_each(|flow| flows.set(flow, State::Offloaded));
        flows.set(4, State::Deleting);
        assert_eq!(flows.newest(1), [3]);
        assert_eq!(flows.newest(9), [3, 2]);
    }
}
