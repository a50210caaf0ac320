//! Theory of packet corruption (Gao et al., JCST 2022).

use corpus::{Repeat, Verb};
use scoring::theory::corruption::{
    Behaviour, Conditions, Cost, Frames, Links, Protection, Sizes, TimeOuts, WEB_SEARCH, of_message,
    of_sizes, per_bit, plan, printed,
};

use crate::measure::Value;
use crate::paper::{Basis, Formula, Published};

/// Bytes of the paper's full packet, with frame check sequence.
const FULL: u32 = 1086;
const MTU: u32 = 1024;
/// Expected value of one over the packets of a flow, as the paper has it for WebSearch.
const TAILS: f64 = 0.055;
/// Seldom enough for the paper's approximation.
const SELDOM: f64 = 1e-9;

/// Links of which all damage packets.
const fn links(loss: f64, links: u8) -> Links {
    Links { loss, of_bytes: FULL, links, corrupted: 1.0 }
}

const fn protection(naks: u8, retransmissions: u8, tails: u8, dummies: u8) -> Protection {
    let repeat = Repeat { naks, retransmissions, tails, matching: corpus::RepeatMatch::Psn };
    Protection { repeat, dummies }
}

const NONE: Protection = protection(1, 1, 1, 0);

/// By the printed formulas.
fn by_paper(links: Links, protection: Protection) -> TimeOuts {
    printed(&links, TAILS, &protection)
}

/// Of a packet behind which many others come, without approximations.
fn of_packet(links: Links) -> TimeOuts {
    const PACKETS: u64 = 1 << 23;
    let long = Frames { packets: PACKETS, ..Frames::of(Verb::Write, MTU.into(), MTU) };
    of_message(&long, &Conditions { links, protection: NONE, behaviour: Behaviour::standard() })
        * (1.0 / PACKETS as f64)
}

fn web_search() -> Sizes {
    Sizes::of(WEB_SEARCH, MTU).expect("the distribution is one")
}

/// Bytes that protection adds, where one over the packets of a flow is `tails` in the mean.
fn cost(links: Links, tails: f64, protection: Protection) -> Cost {
    let frames = Frames::of(Verb::Write, MTU.into(), MTU);
    Cost::of(&frames, tails, &Conditions { links, protection, behaviour: Behaviour::standard() })
}

fn number(number: f64) -> Value {
    Value::Number(number)
}

/// The formulas of the paper, with the real sizes of packets where it rounds.
pub(super) const THEORY: &[Formula] = &[
    Formula {
        what: "Damage of a bit, where 1/128 of the packets are lost",
        published: Published::Open,
        unit: "",
        source: "Gao theorem 1",
        basis: Basis::Formula,
        value: || number(per_bit(1.0 / 128.0, FULL)),
    },
    Formula {
        what: "Loss of an ACK or NAK over that of a full packet",
        published: Published::Near { value: 0.06, percent: 5.0 },
        unit: "",
        source: "Gao theorem 2",
        basis: Basis::Formula,
        value: || number(links(SELDOM, 1).loss_of(66, 1) / SELDOM),
    },
    Formula {
        what: "Loss of a dummy, which has a RETH, over that of a full packet",
        published: Published::WithinFactor { value: 0.06, factor: 1.2 },
        unit: "",
        source: "Gao theorem 2",
        basis: Basis::Formula,
        value: || number(links(SELDOM, 1).loss_of(78, 1) / SELDOM),
    },
    Formula {
        what: "Loss on two links, β = 0.01",
        published: Published::Near { value: 0.02, percent: 5.0 },
        unit: "",
        source: "Gao theorem 3",
        basis: Basis::Formula,
        value: || number(links(0.01, 2).mean_loss_of(FULL)),
    },
    Formula {
        what: "Lost NAKs of a packet, two links, β = 0.01",
        published: Published::Near { value: 2.4e-5, percent: 2.0 },
        unit: "",
        source: "Gao theorem 4",
        basis: Basis::Formula,
        value: || number(of_packet(links(0.01, 2)).nak_lost),
    },
    Formula {
        what: "Packets lost twice over NAKs lost, one link",
        published: Published::Near { value: 16.5, percent: 5.0 },
        unit: "",
        source: "Gao theorem 5",
        basis: Basis::Formula,
        value: || {
            let of = by_paper(links(SELDOM, 1), NONE);
            number(of.lost_again / of.nak_lost)
        },
    },
    Formula {
        what: "Packets lost twice, four links, β = 0.001, as printed for few damaged links",
        published: Published::Near { value: 4e-6, percent: 1.0 },
        unit: "",
        source: "Gao theorem 5",
        basis: Basis::Formula,
        value: || number(by_paper(links(1e-3, 4), NONE).lost_again),
    },
    Formula {
        what: "The same, where each of the four is damaged",
        published: Published::Open,
        unit: "",
        source: "Gao theorem 5",
        basis: Basis::Formula,
        value: || number(of_packet(links(1e-3, 4)).lost_again),
    },
    Formula {
        what: "Mean of one over the packets of a WebSearch flow",
        published: Published::Near { value: TAILS, percent: 5.0 },
        unit: "",
        source: "Gao theorem 6",
        basis: Basis::Formula,
        value: || number(web_search().mean_inverse()),
    },
    Formula {
        what: "Tails lost over packets lost twice, times β",
        published: Published::Near { value: 0.055, percent: 5.0 },
        unit: "",
        source: "Gao §3.5",
        basis: Basis::Formula,
        value: || {
            let of = by_paper(links(0.01, 1), NONE);
            number(of.tail_lost / of.lost_again * 0.01)
        },
    },
    Formula {
        what: "Tails lost over NAKs lost, times β, one link",
        published: Published::Near { value: 0.91, percent: 5.0 },
        unit: "",
        source: "Gao §3.5",
        basis: Basis::Formula,
        value: || {
            let of = by_paper(links(0.01, 1), NONE);
            number(of.tail_lost / of.nak_lost * 0.01)
        },
    },
    Formula {
        what: "ACKs of tails lost over tails lost",
        published: Published::Near { value: 0.06, percent: 5.0 },
        unit: "",
        source: "Gao theorem 7",
        basis: Basis::Formula,
        value: || {
            let of = of_message(
                &Frames::of(Verb::Send, MTU.into(), MTU),
                &Conditions { links: links(SELDOM, 1), protection: NONE, behaviour: Behaviour::standard() },
            );
            number(of.ack_lost / of.tail_lost)
        },
    },
    Formula {
        what: "NAKs lost if each is sent twice, two links, β = 0.01",
        published: Published::Near { value: 1.4e-8, percent: 5.0 },
        unit: "",
        source: "Gao theorem 8",
        basis: Basis::Formula,
        value: || number(by_paper(links(0.01, 2), protection(2, 1, 1, 0)).nak_lost),
    },
    Formula {
        what: "Transmissions for at most 2e-8 lost again, two links, β = 0.01",
        published: Published::Exactly(3),
        unit: "",
        source: "Gao theorem 8",
        basis: Basis::Formula,
        value: || {
            let lost_again = |protection: &Protection| TimeOuts {
                lost_again: by_paper(links(0.01, 2), *protection).lost_again,
                ..TimeOuts::default()
            };
            // What is exactly so many is few enough, whatever the last bit says.
            let plan = plan(2e-8 * (1.0 + 1e-9), lost_again);
            number(plan.map_or(f64::NAN, |plan| plan.protection.repeat.retransmissions.into()))
        },
    },
    Formula {
        what: "Tails lost behind which a dummy comes, two links, β = 0.01",
        published: Published::Near { value: 6e-7, percent: 11.0 },
        unit: "",
        source: "Gao theorem 10",
        basis: Basis::Formula,
        value: || number(by_paper(links(0.01, 2), protection(1, 1, 1, 1)).tail_lost),
    },
    Formula {
        what: "The same over tails lost that are sent twice (the text says 0.06 squared)",
        published: Published::Near { value: 0.06, percent: 1.0 },
        unit: "",
        source: "Gao theorem 11",
        basis: Basis::Formula,
        value: || {
            let of = |protection| by_paper(links(0.01, 2), protection).tail_lost;
            number(of(protection(1, 1, 1, 1)) / of(protection(1, 1, 2, 0)))
        },
    },
    Formula {
        what: "Bytes of a second NAK, over β (equation 1 prints 0.0006: β = 0.01 is in it)",
        published: Published::Near { value: 0.0626, percent: 5.0 },
        unit: "",
        source: "Gao equation 1",
        basis: Basis::Formula,
        value: || number(cost(links(SELDOM, 1), TAILS, protection(2, 1, 1, 0)).naks / SELDOM),
    },
    Formula {
        what: "Bytes of six transmissions, β = 0.01",
        published: Published::Near { value: 5.0, percent: 10.0 },
        unit: "%",
        source: "Gao §4.2",
        basis: Basis::Formula,
        value: || number(100.0 * cost(links(0.01, 1), TAILS, protection(1, 6, 1, 0)).retransmissions),
    },
    Formula {
        what: "Bytes of a dummy behind each packet, which has a RETH",
        published: Published::WithinFactor { value: 6.0, factor: 1.2 },
        unit: "%",
        source: "Gao §4.3",
        basis: Basis::Formula,
        value: || number(100.0 * cost(links(0.01, 1), 1.0, protection(1, 1, 1, 1)).dummies),
    },
    Formula {
        what: "Bytes of a copy of each packet",
        published: Published::Near { value: 100.0, percent: 1.0 },
        unit: "%",
        source: "Gao §4.3",
        basis: Basis::Formula,
        value: || number(100.0 * cost(links(0.01, 1), 1.0, protection(1, 1, 2, 0)).tails),
    },
    Formula {
        what: "The one over the other",
        published: Published::WithinFactor { value: 16.0, factor: 1.2 },
        unit: "",
        source: "Gao §4.3",
        basis: Basis::Formula,
        value: || {
            let of = |protection| cost(links(0.01, 1), 1.0, protection).total();
            number(of(protection(1, 1, 2, 0)) / of(protection(1, 1, 1, 1)))
        },
    },
    Formula {
        what: "Bytes of two NAKs, four transmissions and two dummies, WebSearch, four links, β = 0.001",
        published: Published::Below(3.0),
        unit: "%",
        source: "Gao abstract",
        basis: Basis::Formula,
        value: || {
            number(100.0 * cost(links(1e-3, 4), web_search().mean_inverse(), protection(2, 4, 1, 2)).total())
        },
    },
    Formula {
        what: "Time-outs of 10,000 of these flows, without any of that",
        published: Published::Open,
        unit: "",
        source: "Gao §6.3",
        basis: Basis::Formula,
        value: || {
            let conditions =
                Conditions { links: links(1e-3, 4), protection: NONE, behaviour: Behaviour::standard() };
            let frames = Frames::of(Verb::Send, MTU.into(), MTU);
            let [flow, _] = of_sizes(&frames, &web_search(), &conditions);
            Value::Numbers(flow.by_cause().map(|(_, number)| 10_000.0 * number).into())
        },
    },
];
