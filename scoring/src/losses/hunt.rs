//! A packet that its receiver waits for, until it arrives or the ACK timer expires.

use dumper::Nanos;

use super::{Asked, LossKind, Losses};

/// What is waited for: packets of Sends and Writes, Read requests, or Read responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Requests,
    Reads,
    Responses,
}

impl Of {
    const fn shown(self) -> LossKind {
        match self {
            Self::Requests | Self::Reads => LossKind::Shown,
            Self::Responses => LossKind::ResponseShown,
        }
    }

    const fn tail(self) -> LossKind {
        match self {
            Self::Requests | Self::Reads => LossKind::TailLost,
            Self::Responses => LossKind::ResponseTailLost,
        }
    }

    const fn ask_lost(self) -> LossKind {
        match self {
            Self::Requests | Self::Reads => LossKind::NakLost,
            Self::Responses => LossKind::ReissueLost,
        }
    }

    const fn again(self) -> LossKind {
        match self {
            Self::Requests | Self::Reads => LossKind::LostAgain,
            Self::Responses => LossKind::ResponseLostAgain,
        }
    }

    const fn asked(self, losses: &mut Losses) -> &mut Asked {
        match self {
            Self::Requests | Self::Reads => &mut losses.naks,
            Self::Responses => &mut losses.implied_naks,
        }
    }
}

/// What was sent before and behind a lost packet when it was lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Packets before it that were lost and repaired after it was first sent.
    pub(super) repaired: usize,
    /// Packets that had been sent behind it.
    pub(super) behind: u32,
}

impl Place {
    fn count(self, in_passing: bool, asked: &mut Asked) {
        if let Some(shares) = self.repaired.checked_sub(1).and_then(|at| asked.in_passing.get_mut(at)) {
            shares.count(self.behind, in_passing);
        }
    }
}

/// A lost packet that its receiver has not got.
#[derive(Debug)]
pub(super) struct Hunt {
    of: Of,
    since: Nanos,
    /// Its first transmission was lost. One that is sent again may be sent once more for what was missing before it.
    is_new: bool,
    /// Where it was first sent.
    place: Place,
    /// Packets that arrived behind it.
    behind: u32,
    /// NAKs, or Reads that were issued again.
    asks: u32,
    first_ask_lost: bool,
    /// One of them left the switch.
    was_asked: bool,
    /// It was sent after that.
    was_sent: bool,
    /// It was lost after that.
    again: Option<Again>,
    /// The timer has expired, and what follows is no longer counted.
    is_over: bool,
}

/// A transmission after a NAK that was lost as well.
#[derive(Debug, Default)]
struct Again {
    was_asked: bool,
}

impl Hunt {
    /// A packet is lost, the first time that it is sent or a later time.
    pub(super) const fn new(of: Of, since: Nanos, is_new: bool, place: Place) -> Self {
        Self {
            of,
            since,
            is_new,
            place,
            behind: 0,
            asks: 0,
            first_ask_lost: false,
            was_asked: false,
            was_sent: false,
            again: None,
            is_over: false,
        }
    }

    /// It is lost once more.
    pub(super) fn lost_again(&mut self, losses: &mut Losses) {
        if self.is_over || !self.was_asked {
            return;
        }
        self.was_sent = true;
        if let Some(before) = self.again.replace(Again::default()) {
            self.count_again(&before, false, losses);
        }
    }

    /// So many packets behind it arrive.
    pub(super) const fn passed_by(&mut self, packets: u32) {
        self.behind += packets;
    }

    /// Its receiver asks for it.
    pub(super) fn asked(&mut self, is_lost: bool) {
        self.first_ask_lost |= self.asks == 0 && is_lost;
        self.asks += 1;
        self.was_asked |= !is_lost;
        if let Some(again) = &mut self.again {
            again.was_asked = true;
        }
    }

    /// Returns true if a NAK for it left the switch.
    pub(super) const fn was_asked(&self) -> bool {
        self.was_asked
    }

    /// It arrives.
    pub(super) fn found(mut self, now: Nanos, losses: &mut Losses) {
        if !self.is_over {
            self.was_sent = true;
            losses.repairs.count(now - self.since);
            self.conclude(false, losses);
        }
    }

    /// The timer expires for it.
    pub(super) fn expired(&mut self, losses: &mut Losses) {
        if !self.is_over {
            self.conclude(true, losses);
            self.is_over = true;
        }
    }

    /// It is going to be sent again, whatever its receiver does.
    pub(super) fn is_repaired_by_chance(&mut self, losses: &mut Losses) {
        if !self.is_over && self.asks == 0 {
            self.place.count(true, self.of.asked(losses));
            self.is_over = true;
        }
    }

    /// What becomes of it is not to be counted.
    pub(super) const fn abandon(&mut self) {
        self.is_over = true;
    }

    fn conclude(&mut self, time_out: bool, losses: &mut Losses) {
        let again = self.again.take();
        if self.behind == 0 && self.asks == 0 {
            if self.is_new {
                losses.kinds.entry(self.of.tail()).or_default().count(time_out);
            }
            return;
        }
        if self.of == Of::Reads && self.was_asked && !self.was_sent {
            // The requester had to wait for a response of an earlier Read.
            return;
        }
        let asked = self.of.asked(losses);
        self.place.count(false, asked);
        // What is repaired without having been asked for says nothing.
        if self.behind > 0 && (self.asks > 0 || time_out) {
            asked.first.count(self.behind, self.asks > 0);
        }
        if self.first_ask_lost && (self.asks > 1 || time_out) {
            asked.repeated.count(self.behind, self.asks > 1);
        }
        if self.was_asked {
            asked.obeyed.count(self.was_sent);
        }
        if self.first_ask_lost {
            let never_asked = !self.was_asked;
            losses.kinds.entry(self.of.ask_lost()).or_default().count(time_out && never_asked);
        }
        match again {
            Some(again) => self.count_again(&again, time_out, losses),
            None if !self.first_ask_lost => {
                losses.kinds.entry(self.of.shown()).or_default().count(time_out);
            }
            None => {}
        }
    }

    fn count_again(&self, again: &Again, time_out: bool, losses: &mut Losses) {
        losses.kinds.entry(self.of.again()).or_default().count(time_out);
        // A NAK of the time before may bring it once more.
        if self.behind > 0 {
            self.of.asked(losses).again.count(self.behind, again.was_asked || !time_out);
        }
    }
}
