//! What ends of a connection do about losses: as the standard has it, or as it was seen of a NIC.

/// Probability of an answer, by the number of packets that arrive behind the missing one.
#[derive(Clone, PartialEq, Debug)]
pub struct Chance {
    /// Of 0 packets, of 1, and so on; the last one of any greater number.
    by_packets: Vec<f64>,
}

impl Chance {
    /// By the number of packets that arrive: of 0, of 1, and so on; the last one of any greater number, and 0 of none.
    #[must_use]
    pub fn of(by_packets: Vec<f64>) -> Self {
        Self { by_packets }
    }

    /// Whatever arrives.
    #[must_use]
    pub fn never() -> Self {
        Self::of(vec![0.0])
    }

    /// As soon as a packet arrives.
    #[must_use]
    pub fn always() -> Self {
        Self::of(vec![0.0, 1.0])
    }

    /// The probability behind which so many packets arrive.
    pub(super) fn behind(&self, packets: usize) -> f64 {
        self.by_packets.get(packets).or(self.by_packets.last()).copied().unwrap_or_default()
    }

    /// Returns true if there is no answer to any number of packets.
    pub(super) fn is_never(&self) -> bool {
        self.by_packets.iter().all(|probability| *probability == 0.0)
    }

    /// Packets beyond which more of them change nothing.
    fn horizon(&self) -> usize {
        self.by_packets.len().saturating_sub(1)
    }
}

/// How an end asks for a packet that is missing: by a NAK, or for a Read response by issuing the Read again.
#[derive(Clone, PartialEq, Debug)]
pub struct Asking {
    /// It asks at all.
    pub first: Chance,
    /// It asks once more, where its first NAK was lost.
    pub repeated: Chance,
    /// It asks once more, where the packet was lost again: by the packets behind all transmissions.
    pub again: Chance,
    /// The packet is sent again although nobody asks for it: where one packet before it was lost and repaired while it was under way, and
    /// where more were.
    pub in_passing: [Chance; 2],
    /// The other end does what a NAK that arrives asks for.
    pub obeyed: f64,
}

impl Asking {
    /// One NAK for an expected PSN (IBA vol. 1, 9.7.5.1.1); one implied NAK for a missing response, until the timer expires (9.7.5.2.8).
    #[must_use]
    pub fn once() -> Self {
        Self {
            first: Chance::always(),
            repeated: Chance::never(),
            again: Chance::never(),
            in_passing: [Chance::never(), Chance::never()],
            obeyed: 1.0,
        }
    }

    pub(super) fn horizon(&self) -> usize {
        [&self.first, &self.repeated, &self.again].map(Chance::horizon).into_iter().max().unwrap_or_default()
    }
}

/// What both ends of a connection do about losses. All of it are probabilities.
#[derive(Clone, PartialEq, Debug)]
pub struct Behaviour {
    /// For packets of Sends and Writes, and for Read requests.
    pub requests: Asking,
    /// For Read responses.
    pub responses: Asking,
    /// An ACK that is due is sent.
    pub acknowledged: f64,
    /// A message or a dummy right behind which a dummy comes has an ACK of its own, and not one that is merged with the next one.
    pub own_acks: f64,
    /// A packet that is lost with everything behind it ends in a time-out.
    pub tails_time_out: f64,
    /// A lost ACK of everything that has arrived ends in a time-out.
    pub lost_acks_time_out: f64,
}

impl Behaviour {
    /// That of the standard, with an ACK for each request that asks for one.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            requests: Asking::once(),
            responses: Asking::once(),
            acknowledged: 1.0,
            own_acks: 1.0,
            tails_time_out: 1.0,
            lost_acks_time_out: 1.0,
        }
    }

    /// Returns true if a dummy right behind a message never has an ACK of its own.
    #[must_use]
    pub fn merges_acks(&self) -> bool {
        self.own_acks == 0.0
    }

    /// That of the standard, with one ACK for what arrives together: a dummy right behind a message has none of its own.
    #[must_use]
    pub fn merging_acks() -> Self {
        Self { own_acks: 0.0, ..Self::standard() }
    }
}
