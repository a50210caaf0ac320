//! A conforming notification point.

use std::collections::BTreeMap;

use super::spec::{Notifications, Scope};

/// Time at which each scope's last CNP left.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    last: BTreeMap<(usize, usize), u64>,
}

impl Notifier {
    /// Returns true if a host with a reason to notify the peer of `connection` at `address` sends a CNP now.
    pub(super) fn notifies(
        &mut self,
        spec: Notifications,
        (side, connection, address): (usize, usize, u8),
        now: u64,
    ) -> bool {
        let scope = match spec.scope {
            Scope::Qp => connection,
            Scope::Address => usize::from(address),
            Scope::Port => 0,
        };
        let interval = u64::from(spec.interval_us) * 1_000;
        let last = self.last.get(&(side, scope));
        let allowed = last.is_none_or(|last| now - last >= interval);
        if allowed {
            self.last.insert((side, scope), now);
        }
        allowed
    }
}
