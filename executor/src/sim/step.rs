//! The order of steps: by time, and at one time by kind and host.

use dumper::Nanos;

use super::host_id::HostId;

/// Longest time of a test, 100 days: the ACK timer of selective repeat repeats one packet at a time, and may wait for ten hours each time. Times in
/// ps fit 64 bits until then.
pub(super) const MAX_TIME: Nanos = Nanos(100 * 24 * 3_600 * 1_000_000_000);

/// Kinds of steps, in the order in which those of one time happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The hosts' software posts work.
    Software,
    /// A packet of a host enters the switch.
    Entry,
    /// The switch does what it has put off.
    Later,
    /// A packet reaches a host.
    Arrival,
    /// A host's software operates on its NIC's flow table.
    Control,
    /// A NIC does what it has put off.
    Timeout,
    /// A NIC sends.
    Transmit,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Software,
        Self::Entry,
        Self::Later,
        Self::Arrival,
        Self::Control,
        Self::Timeout,
        Self::Transmit,
    ];
}

/// A possible step: from the highest bit on its time, its kind and its host. The smallest of all is the next one, and to find it takes no
/// branch for each, which a processor could not foresee.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step(u64);

const HOST_BITS: u32 = 8;

const KIND_BITS: u32 = 3;

/// Most hosts of a world.
pub(super) const MAX_HOSTS: usize = 1 << HOST_BITS;

impl Step {
    /// One that never happens.
    pub(super) const NEVER: Self = Self(u64::MAX);

    /// A step of a host, of which there are [`MAX_HOSTS`], or with any of them a step of none; one after [`MAX_TIME`] happens right after it.
    #[inline(always)]
    pub(super) fn new(at: Option<Nanos>, kind: Kind, host: HostId) -> Self {
        const LATEST: u64 = MAX_TIME.0 + 1;
        const { assert!(LATEST < u64::MAX >> (HOST_BITS + KIND_BITS)) };
        let rest = (kind as u64) << HOST_BITS | host.index() as u64;
        at.map_or(Self::NEVER, |at| Self(at.0.min(LATEST) << (HOST_BITS + KIND_BITS) | rest))
    }

    /// Its time; if it never happens, one that never comes.
    #[inline(always)]
    pub(super) const fn at(self) -> Nanos {
        Nanos(self.0 >> (HOST_BITS + KIND_BITS))
    }

    /// The same step after a time; one that never happens still does not.
    #[inline(always)]
    pub(super) const fn put_off(self, by: Nanos) -> Self {
        Self(self.0.saturating_add(by.0 << (HOST_BITS + KIND_BITS)))
    }

    /// Its time, its kind and its host; none of one that never happens.
    #[inline(always)]
    pub(super) fn parts(self) -> Option<(Nanos, Kind, HostId)> {
        let kind = Kind::ALL.get((self.0 >> HOST_BITS) as usize % (1 << KIND_BITS))?;
        let host = HostId::at(self.0 as usize % MAX_HOSTS);
        Some((self.at(), *kind, host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_in_the_order_of_time_then_kind_then_host() {
        let mut steps = Vec::new();
        for at in [0, 1, 7, MAX_TIME.0, MAX_TIME.0 + 1] {
            for kind in Kind::ALL {
                for host in [0, 1, MAX_HOSTS - 1].map(HostId::at) {
                    let step = Step::new(Some(Nanos(at)), kind, host);
                    assert_eq!(step.parts(), Some((Nanos(at), kind, host)));
                    steps.push(step);
                }
            }
        }
        assert!(steps.is_sorted_by(|one, next| one < next));
        assert!(steps.last() < Some(&Step::NEVER));
    }

    #[test]
    fn a_step_without_a_time_never_happens() {
        assert!(Step::new(None, Kind::Software, HostId::REQUESTER) == Step::NEVER);
        assert_eq!(Step::NEVER.parts(), None);
    }

    #[test]
    fn a_step_that_is_put_off_is_the_same_one_later() {
        let step = Step::new(Some(Nanos(7)), Kind::Later, HostId::RESPONDER);
        assert_eq!(step.put_off(Nanos(3)).parts(), Some((Nanos(10), Kind::Later, HostId::RESPONDER)));
        assert!(Step::NEVER.put_off(Nanos(3)) == Step::NEVER);
    }

    #[test]
    fn a_step_after_the_longest_time_is_still_one() {
        let late = Step::new(Some(Nanos(u64::MAX)), Kind::Timeout, HostId::RESPONDER);
        assert_eq!(late.parts(), Some((Nanos(MAX_TIME.0 + 1), Kind::Timeout, HostId::RESPONDER)));
    }
}
