//! The numbers of hosts.

use corpus::Role;

/// A host, by its place in every list of hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct HostId(usize);

impl HostId {
    /// The requester's host of connection 1.
    pub(super) const REQUESTER: Self = Self(0);
    /// The responder's host of connection 1.
    pub(super) const RESPONDER: Self = Self(1);

    /// The host that has an end of connection 1.
    pub(super) const fn of(role: Role) -> Self {
        Self(role as usize)
    }

    /// Its end of connection 1.
    pub(super) const fn role(self) -> Role {
        if self.0 == Self::REQUESTER.0 { Role::Requester } else { Role::Responder }
    }

    /// Host with a place in the lists of hosts.
    #[inline]
    pub(super) const fn at(index: usize) -> Self {
        Self(index)
    }

    /// Place in the lists of hosts.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0
    }
}
