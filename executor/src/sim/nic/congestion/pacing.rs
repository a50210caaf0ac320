//! A pace: how soon a packet may follow the one before it at a rate.

use dumper::Nanos;

/// Time at which the next packet may be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim::nic) struct Pacer {
    free_ps: u64,
}

impl Pacer {
    /// Time at which the next packet may be sent, if that is later than now.
    #[inline]
    pub(in crate::sim::nic) fn holds_until(&self, now: Nanos) -> Option<Nanos> {
        let free = Nanos(self.free_ps.div_ceil(1_000));
        (free > now).then_some(free)
    }

    /// A packet of so many bytes on the cable is sent now, at a rate of so many bit/s over a link of so many.
    ///
    /// Where it is late by no more than its own time on the cable, another packet may have been on the cable when its
    /// time came. The next one is not late for that: the rate is kept among others.
    pub(in crate::sim::nic) fn sent(&mut self, now: Nanos, bytes: u32, rate: u64, link: u64) {
        let due = self.free_ps.max((now.0 * 1_000).saturating_sub(time_ps(bytes, link)));
        self.free_ps = due + time_ps(bytes, rate);
    }
}

/// The time that so many bytes take at a rate in bit/s, in ps.
const fn time_ps(bytes: u32, rate: u64) -> u64 {
    bytes as u64 * 8 * 1_000_000_000_000 / rate
}
