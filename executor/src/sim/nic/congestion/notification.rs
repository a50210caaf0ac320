//! Notification point of DCQCN: CNPs for ECN-marked packets, and where losses count as congestion for packets
//! out of order, at most one in each interval and scope (annex A17.9.3; Lumina §6.3).

use dumper::Nanos;

use crate::NicProfile;
use crate::profile::{CnpScope, Quirks};
use crate::sim::nic::context::{Attributes, every_nth};

/// Signs of congestion in a packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim::nic) struct Signs {
    /// It is ECN-marked.
    pub(in crate::sim::nic) marked: bool,
    /// It arrives out of order.
    pub(in crate::sim::nic) out_of_order: bool,
}

/// The notification point of a NIC.
#[derive(Debug)]
pub(in crate::sim::nic) struct NotificationPoint {
    interval: Nanos,
    /// Time of the last CNP of each scope.
    last: Vec<Option<Nanos>>,
    unprovoked: u32,
}

impl NotificationPoint {
    /// For a NIC with so many QPs, whose peers have so many addresses.
    pub(in crate::sim::nic) fn new(
        profile: &NicProfile,
        attributes: &Attributes,
        qps: usize,
        addresses: usize,
    ) -> Self {
        let notification = &profile.notification;
        let configured = if notification.configurable { attributes.cnp_interval } else { Nanos::ZERO };
        let hidden = Nanos::from_micros(notification.hidden_interval_us);
        let scopes = match notification.scope {
            CnpScope::Qp => qps,
            CnpScope::DestinationIp => addresses,
            CnpScope::Port => 1,
        };
        Self { interval: configured.max(hidden), last: vec![None; scopes], unprovoked: 0 }
    }

    /// Returns true if a packet that arrived on a QP causes a CNP.
    pub(in crate::sim::nic) fn notifies(
        &mut self,
        profile: &NicProfile,
        quirks: &Quirks,
        attributes: &Attributes,
        qp: u32,
        Signs { marked, out_of_order }: Signs,
        now: Nanos,
    ) -> bool {
        if !attributes.notifies || quirks.cnp_suppressed {
            return false;
        }
        let shows_loss = out_of_order && profile.notification.on_loss && attributes.slow_restart;
        if !marked && !shows_loss {
            return every_nth(&mut self.unprovoked, quirks.cnp_unprovoked_every);
        }
        // QPs take the peer's addresses in turn, so that a QP's number gives the address; a port has one scope.
        let scope = qp as usize % self.last.len();
        let last = &mut self.last[scope];
        if last.is_some_and(|last| now - last < self.interval) && !quirks.cnp_interval_ignored {
            return false;
        }
        *last = Some(now);
        true
    }
}
