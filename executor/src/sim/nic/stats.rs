//! Counts of a NIC; vendors' names for them are in `data/counters.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::NicProfile;
use crate::profile::{Family, read_families};

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something that a NIC counts.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(in crate::sim) enum Stat {
            $($(#[$doc])* $name,)*
        }

        impl Stat {
            const COUNT: usize = [$(Self::$name),*].len();
        }
    };
}

stats! {
    /// Packets sent.
    PacketsSent,
    /// Packets that reached the port.
    PacketsReceived,
    /// Intact packets that reached a QP.
    PacketsTaken,
    /// Duplicate request packets that a responder received.
    DuplicateRequests,
    /// Sequence NAKs sent.
    SequenceNaksSent,
    /// Sequence NAKs received.
    SequenceNaksReceived,
    /// RNR NAKs sent.
    RnrNaksSent,
    /// RNR NAKs received.
    RnrNaksReceived,
    /// Implied NAKs that a requester found in the responses of a Read.
    ImpliedNaks,
    /// Expiries of ACK timers.
    Timeouts,
    /// QPs that ran out of retries.
    RetriesExhausted,
    /// QPs that ran out of RNR retries.
    RnrRetriesExhausted,
    /// ECN-marked packets received.
    MarkedReceived,
    /// CNPs sent.
    CnpsSent,
    /// CNPs handled.
    CnpsHandled,
    /// Packets with a wrong ICRC received.
    IcrcErrors,
    /// Packets discarded for lack of buffer.
    Discards,
    /// Pauses of flow control that it begins.
    PausesSent,
    /// Pauses of flow control that the switch begins.
    PausesReceived,
    /// Sends posted.
    SendsPosted,
    /// Receives completed.
    ReceivesCompleted,
}

impl Stat {
    /// Returns true if only a NIC with flow control has it.
    pub(in crate::sim) const fn is_of_flow_control(self) -> bool {
        matches!(self, Self::PausesSent | Self::PausesReceived)
    }
}

/// The counts of a NIC.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Stats([u64; Stat::COUNT]);

impl Stats {
    #[inline]
    pub(in crate::sim) const fn count(&mut self, stat: Stat) {
        self.0[stat as usize] += 1;
    }

    pub(in crate::sim) const fn of(&self, stat: Stat) -> u64 {
        self.0[stat as usize]
    }
}

/// The counts behind the counters of each family.
pub(in crate::sim) static FAMILIES: LazyLock<Vec<Family<Stat>>> = LazyLock::new(read_families);

/// The counts that counters have, by their names.
pub(super) fn stats_of(names: &[String], profile: &NicProfile) -> Vec<Stat> {
    let family = FAMILIES.iter().find(|family| family.name == profile.counters.family);
    let groups = family.into_iter().flat_map(|family| [&family.port, &family.hw, &family.ethtool]);
    let groups: Vec<_> = groups.collect();
    names.iter().filter_map(|name| groups.iter().find_map(|group| group.get(name)).copied()).collect()
}
