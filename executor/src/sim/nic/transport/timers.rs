//! The ACK timer and the retry budgets of a requester; its reactions to losses are in [`super::losses`].

use dumper::Nanos;
use dumper::timers::ack_timeout;

use crate::profile::Adaptive;
use crate::sim::agenda::Timer;
use crate::sim::nic::context::{Context, Job};
use crate::sim::random;

/// Timer and budgets of a requester.
#[derive(Debug, Default)]
pub(in crate::sim) struct Timers {
    /// The ACK timer.
    pub(in crate::sim) ack: Timer,
    /// Expiries since the last progress.
    pub(super) expiries: u32,
    /// Number of expiries followed by progress.
    overcome: u32,
    /// Retries spent since the last progress.
    pub(super) retries: u32,
    /// RNR retries spent since the last progress.
    pub(super) rnr_retries: u32,
}

impl Timers {
    /// A packet was sent: the timer starts unless it runs. Packets of a QP that its reaction point slows down may be
    /// further apart than the timer is long, and only the last one asks for an ACK: the timer starts with each.
    #[inline]
    pub(super) fn sent(&mut self, cx: &mut Context<'_>) {
        if cx.slowed || cx.agenda.expiry(self.ack).is_none() {
            self.start_timer(cx);
        }
    }

    /// Returns true if retries were spent since the last progress.
    pub(in crate::sim::nic) const fn is_retrying(&self) -> bool {
        self.retries > 0
    }

    /// Stops the timer.
    pub(super) fn stop(&self, cx: &mut Context<'_>) {
        cx.agenda.stop(self.ack);
    }

    /// The oldest unacknowledged offset has moved: budgets are refilled, the timer starts again if something is
    /// outstanding.
    pub(super) fn progress(&mut self, outstanding: bool, cx: &mut Context<'_>) {
        self.overcome += u32::from(self.expiries > 0);
        (self.retries, self.rnr_retries, self.expiries) = (0, 0, 0);
        if !outstanding {
            self.stop(cx);
        } else if !cx.quirks.timer_ignores_progress {
            self.start_timer(cx);
        }
    }

    fn start_timer(&mut self, cx: &mut Context<'_>) {
        let Some(t) = ack_timeout(cx.attributes.timeout) else { return };
        let wait = t.0 as f64 * self.factor(cx);
        cx.agenda.set(&mut self.ack, cx.now + Nanos(wait as u64), Job::AckTimer(cx.qp));
    }

    /// Interval of the timer, in multiples of T.
    fn factor(&self, cx: &mut Context<'_>) -> f64 {
        if let Some(&scheduled) = adaptive(cx)
            .and_then(|adaptive| at_or_last(&adaptive.schedules, self.overcome))
            .and_then(|schedule| at_or_last(schedule, self.expiries))
        {
            return scheduled;
        }
        let timeout = &cx.profile.timeout;
        random::draw_factor(if self.expiries == 0 { timeout.first } else { timeout.further }, cx.rng)
    }

    /// Retries beyond the configured ones.
    pub(super) fn extra_retries(&self, cx: &Context<'_>) -> u32 {
        let extra = adaptive(cx).and_then(|adaptive| at_or_last(&adaptive.extra_retries, self.overcome));
        extra.copied().unwrap_or(0)
    }
}

/// Adaptive retransmission, where it is in force.
fn adaptive<'a>(cx: &Context<'a>) -> Option<&'a Adaptive> {
    let adaptive = &cx.profile.adaptive;
    (cx.attributes.adaptive && !adaptive.schedules.is_empty()).then_some(adaptive)
}

/// Item of a list at an index, or its last item.
fn at_or_last<T>(list: &[T], at: u32) -> Option<&T> {
    list.get(at as usize).or(list.last())
}
