//! The registers of one flow: ITER, last PSN, control packets seen.

use corpus::{ControlPacket, IterMode};
use dumper::Psn;

/// Largest round that events can name (`corpus::config::fields::ITER`). The register stops one above it, so that
/// an event on round 255 hits that round and none of the later ones.
pub const MAX_ITER: u16 = corpus::config::fields::ITER.max as u16;

/// Occurrence that never comes: events name none beyond [`corpus::config::LAST_OCCURRENCE`], and the counters stop
/// one below it.
const NEVER: u32 = u32::MAX;

/// State of one direction of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    /// PSN of the last data packet.
    last: Psn,
    /// Round of transmission, 1 to [`MAX_ITER`] + 1.
    iter: u16,
    /// Whether data of the other direction takes PSNs between this one's messages.
    shares_psns: bool,
    /// Whether any entry names data packets of the flow.
    pub(crate) armed: bool,
    /// By [`ControlPacket`].
    control: [Occurrences; ControlPacket::NAMES.len()],
}

/// Counter of one kind of control packets.
#[derive(Clone, Copy, Debug)]
struct Occurrences {
    seen: u32,
    /// The next occurrence that an entry names.
    next: u32,
}

impl Registers {
    /// Before the first packet of a flow on a connection that starts at `initial`. `shares_psns` says that data
    /// flows both ways on it (Sends and Reads), so that the flow does not see every PSN.
    pub(crate) fn new(initial: Psn, shares_psns: bool) -> Self {
        let idle = Occurrences { seen: 0, next: NEVER };
        let control = [idle; ControlPacket::NAMES.len()];
        Self { last: initial.sub(1), iter: 1, shares_psns, armed: false, control }
    }

    /// The round that a data packet belongs to. [`IterMode::Paper`] is 001 §3.3, [`IterMode::PerMessage`] the
    /// published switch program. That program never has Sends and Reads on one connection; there, a message that
    /// starts after the last PSN is the expected one too.
    #[inline]
    pub(crate) fn round(&mut self, psn: Psn, starts: bool, mode: IterMode) -> u16 {
        let again = match mode {
            IterMode::Paper => !psn.is_after(self.last),
            IterMode::PerMessage => {
                psn != self.last.add(1) && !(self.shares_psns && starts && psn.is_after(self.last))
            }
        };
        if again {
            self.iter = (self.iter + 1).min(MAX_ITER + 1);
        } else if starts && mode == IterMode::PerMessage {
            self.iter = 1;
        }
        self.last = psn;
        self.iter
    }

    /// Counts a control packet; its number if an entry names it. The caller then says with
    /// [`wait_for`](Self::wait_for) which one comes next.
    #[inline]
    pub(crate) fn count(&mut self, packet: ControlPacket) -> Option<u32> {
        let counter = &mut self.control[packet as usize];
        counter.seen = (counter.seen + 1).min(NEVER - 1);
        if counter.seen != counter.next {
            return None;
        }
        counter.next = NEVER;
        Some(counter.seen)
    }

    /// An entry names this occurrence, which is still to come.
    pub(crate) fn wait_for(&mut self, packet: ControlPacket, occurrence: u32) {
        let next = &mut self.control[packet as usize].next;
        *next = occurrence.min(*next);
    }
}
