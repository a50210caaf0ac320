//! Start of a connection: with its first packet, or before the capture.
//!
//! A capture without the hosts' metadata, whose mirror sequence numbers do not start at 1 either, does not
//! show that its first request is the connection's first. Packets before the capture explain nearly
//! everything that the first packets may show, so nothing is judged by it until all sent packets are
//! acknowledged and a new request follows. From there on everything is known that must be.

use dumper::Psn;

use crate::rules::Rule;

/// PSNs behind the start for which packets from before it are looked out for: farther on, the 24-bit numbers
/// come round again.
const LOOK_BACK: i32 = 1 << 20;

/// A connection's start, as far as it is known.
#[derive(Debug)]
pub(super) struct Start {
    /// There is nothing before the start that is not known.
    sure: bool,
    /// Nothing before it is followed; `None` where nothing can be, or that is far behind.
    floor: Option<Psn>,
}

/// Place of a packet relative to the start of tracking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It belongs to the tracked packets.
    After,
    /// It is about something from before.
    Before,
    /// It is the first request of which everything is known.
    Anew,
}

impl Start {
    pub(super) const fn at(psn: Psn, sure: bool) -> Self {
        Self { sure, floor: if sure { None } else { Some(psn) } }
    }

    /// Places a request that starts with `psn`, when everything before `done` was sent and acknowledged.
    #[inline]
    pub(super) fn request(&mut self, psn: Psn, done: Option<Psn>) -> Place {
        let Some(floor) = self.floor else { return Place::After };
        if !self.sure && done == Some(psn) && psn != floor {
            *self = Self { sure: true, floor: Some(psn) };
            return Place::Anew;
        }
        let place = self.place(psn);
        // Packets taken for done are repeated: there is something before that is not known after all.
        self.sure &= place != Place::Before;
        place
    }

    /// Places an answer.
    #[inline]
    pub(super) fn place(&mut self, psn: Psn) -> Place {
        let Some(floor) = self.floor else { return Place::After };
        let since = psn.since(floor);
        if since > LOOK_BACK && self.sure {
            self.floor = None;
        }
        if since < 0 { Place::Before } else { Place::After }
    }

    /// Returns true if a PSN is from before the start.
    #[inline]
    pub(super) fn is_before(&self, psn: Psn) -> bool {
        self.floor.is_some_and(|floor| psn.is_before(floor))
    }

    /// Whether nothing came before the start that is not known, and the start is the connection's.
    pub(super) const fn is_sure(&self) -> bool {
        self.sure && self.floor.is_none()
    }

    /// Whether a rule can be judged now.
    pub(super) const fn judges(&self, rule: Rule) -> bool {
        // The two NAKs, or the NAK and the retransmission, were both seen.
        self.sure || matches!(rule, Rule::NakAgain | Rule::RetryAfterFatalNak)
    }
}
