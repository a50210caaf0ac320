//! Numbers of the guests.

use corpus::Role;

/// A guest's number: 1 is the requester's host, 2 the responder's. Among the clients of the calendar, it has the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Host(u8);

impl Host {
    /// The number of a host.
    pub(super) const fn of(host: Role) -> Self {
        Self(host as u8 + 1)
    }

    /// The number.
    pub(super) const fn number(self) -> u8 {
        self.0
    }
}
