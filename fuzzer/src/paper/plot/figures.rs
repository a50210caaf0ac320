//! The figures: 8 to 12 of Lumina (preprint), 8 to 11 of Lumina (SIGCOMM'23).

use corpus::Verb;

use super::{Figure, Panel, Read, Series, Source, Style};
use crate::measure::{Phase, Points, Seen, mean};
use crate::paper::claims::by_size;
use crate::paper::nics::{CX4, CX5, CX6, E810};
use crate::paper::{Nics, Queues, Setup};

const fn measured(
    name: &'static str,
    colour: usize,
    style: Style,
    (nics, setup): (Nics, Setup),
    of: Read,
) -> Series {
    Series { name, colour, style, points: Source::Measured { nics, setup, of } }
}

const fn published(name: &'static str, colour: usize, style: Style, points: &'static [(f64, f64)]) -> Series {
    Series { name, colour, style, points: Source::Published(points) }
}

/// A series of a loss experiment: a value for each packet that was lost.
const fn by_packet(colour: usize, nics: Nics, (verb, packets): (Verb, u32), of: Read) -> Series {
    measured(nics.requester, colour, Style::Line, (nics, Setup::Losses { verb, packets }), of)
}

fn points_of(seen: &[Seen<'_>], value: fn(&Phase) -> f64) -> Option<Points> {
    let phases = seen.first()?.phases();
    Some(phases.iter().map(|phase| (f64::from(phase.packet), value(phase))).collect())
}

fn generation(seen: &[Seen<'_>]) -> Option<Points> {
    points_of(seen, |phase| phase.generation_us)
}

fn reaction(seen: &[Seen<'_>]) -> Option<Points> {
    points_of(seen, |phase| phase.reaction_us)
}

const GENERATION: &str = "NACK generation latency (µs)";
const REACTION: &str = "NACK reaction latency (µs)";
const LOST: &str = "PSN of the dropped packet in its message";
const SHORT: (Verb, u32) = (Verb::Write, 20);
const LONG: (Verb, u32) = (Verb::Write, 100);
const READS: (Verb, u32) = (Verb::Read, 100);

/// A panel over the lost packets, with a logarithmic axis.
const fn over_losses(title: &'static str, y: &'static str, series: &'static [Series]) -> Panel {
    Panel { title, x: LOST, y, names: &[], log: true, series }
}

const fn linear(title: &'static str, [x, y]: [&'static str; 2], series: &'static [Series]) -> Panel {
    Panel { title, x, y, names: &[], log: false, series }
}

/// All of them.
pub const FIGURES: &[Figure] = &[
    Figure {
        file: "lumina-preprint-figure-8.svg",
        title: "NACK generation latency by the dropped packet, Write (Lumina (preprint) figure 8)",
        panels: &[
            over_losses(
                "20 KB messages",
                GENERATION,
                &[
                    by_packet(0, CX4, SHORT, generation),
                    by_packet(1, CX5, SHORT, generation),
                    by_packet(2, CX6, SHORT, generation),
                    published("all, but the last of cx4-lx", 1, Style::Line, &[(1.0, 1.1), (19.0, 1.1)]),
                    published("cx4-lx, last packets", 0, Style::Dots, &[(18.0, 13.0), (19.0, 13.0)]),
                ],
            ),
            over_losses(
                "100 KB messages",
                GENERATION,
                &[
                    by_packet(0, CX4, LONG, generation),
                    by_packet(1, CX5, LONG, generation),
                    by_packet(2, CX6, LONG, generation),
                    published("all, but the last of cx4-lx", 1, Style::Line, &[(1.0, 1.1), (99.0, 1.1)]),
                    published("cx4-lx, last packets", 0, Style::Dots, &[(98.0, 13.0), (99.0, 13.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-preprint-figure-9.svg",
        title: "NACK reaction latency by the dropped packet, Write (Lumina (preprint) figure 9)",
        panels: &[
            over_losses(
                "20 KB messages",
                REACTION,
                &[
                    by_packet(0, CX4, SHORT, reaction),
                    by_packet(1, CX5, SHORT, reaction),
                    by_packet(2, CX6, SHORT, reaction),
                    published("cx4-lx, least", 0, Style::Line, &[(1.0, 150.0), (19.0, 150.0)]),
                    published("cx4-lx, most", 0, Style::Line, &[(1.0, 200.0), (19.0, 200.0)]),
                    published("cx5 and cx6-dx", 1, Style::Line, &[(1.0, 3.0), (19.0, 3.0)]),
                ],
            ),
            over_losses(
                "100 KB messages",
                REACTION,
                &[
                    by_packet(0, CX4, LONG, reaction),
                    by_packet(1, CX5, LONG, reaction),
                    by_packet(2, CX6, LONG, reaction),
                    published("cx4-lx, least", 0, Style::Line, &[(1.0, 150.0), (99.0, 150.0)]),
                    published("cx4-lx, most", 0, Style::Line, &[(1.0, 200.0), (99.0, 200.0)]),
                    published(
                        "cx5 and cx6-dx",
                        1,
                        Style::Line,
                        &[(1.0, 6.0), (20.0, 6.0), (21.0, 3.0), (99.0, 3.0)],
                    ),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-preprint-figure-10.svg",
        title: "The fifth packet dropped, by message size, cx6-dx (Lumina (preprint) figure 10)",
        panels: &[
            linear(
                "Retransmission latency",
                ["message size (KB)", "retransmission latency (µs)"],
                &[
                    by_message_size("cx6-dx", 2, |seen| of_sizes(seen, |latency, _| latency)),
                    published("grows from here", 2, Style::Line, &[(50.0, 4.0), (50.0, 8.0)]),
                    published("constant from here", 3, Style::Line, &[(120.0, 4.0), (120.0, 8.0)]),
                ],
            ),
            linear(
                "Message completion time",
                ["message size (KB)", "MCT (µs)"],
                &[
                    by_message_size("actual MCT", 2, |seen| of_sizes(seen, |_, [actual, _]| actual)),
                    by_message_size("ideal MCT: without loss, and the paper's 4.5 µs", 1, |seen| {
                        of_sizes(seen, |_, [_, without]| without + 4.5)
                    }),
                    published("grows faster from here", 2, Style::Line, &[(50.0, 0.0), (50.0, 30.0)]),
                    published("until here", 3, Style::Line, &[(120.0, 0.0), (120.0, 30.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-preprint-figure-11.svg",
        title: "Repeated packets behind those on their way, the fifth dropped, cx6-dx (Lumina (preprint) figure 11)",
        panels: &[
            linear(
                "10 KB: the pipeline is empty",
                ["time since the NACK (µs)", "PSN"],
                &[
                    passing(10, "first time", 1, |seen| Some(seen.first()?.around_nack()?.0)),
                    passing(10, "again", 0, |seen| Some(seen.first()?.around_nack()?.1)),
                    published("again", 3, Style::Line, &[(3.0, 1.0), (3.0, 10.0)]),
                ],
            ),
            linear(
                "100 KB: they wait",
                ["time since the NACK (µs)", "PSN"],
                &[
                    passing(100, "first time", 1, |seen| Some(seen.first()?.around_nack()?.0)),
                    passing(100, "again", 0, |seen| Some(seen.first()?.around_nack()?.1)),
                    published("again", 3, Style::Line, &[(6.0, 1.0), (6.0, 100.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-preprint-figure-12.svg",
        title: "Time-outs, tail packets of five Writes dropped seven times each, cx6-dx (Lumina (preprint) figure 12)",
        panels: &[
            timeouts(
                "Adaptive",
                true,
                &[
                    measured("cx6-dx", 2, Style::Dots, (CX6, Setup::Tails { adaptive: true }), waits),
                    published(
                        "message 1",
                        2,
                        Style::Dots,
                        &[
                            (1.0, 0.0056),
                            (2.0, 0.0041),
                            (3.0, 0.0084),
                            (4.0, 0.0167),
                            (5.0, 0.0251),
                            (6.0, 0.0671),
                            (7.0, 0.1342),
                        ],
                    ),
                    published(
                        "first of messages 2 to 5",
                        0,
                        Style::Dots,
                        &[(8.0, 0.267), (15.0, 0.671), (22.0, 0.671), (29.0, 0.671)],
                    ),
                ],
            ),
            timeouts(
                "Not adaptive",
                false,
                &[
                    measured("cx6-dx", 2, Style::Dots, (CX6, Setup::Tails { adaptive: false }), waits),
                    published("first, least", 0, Style::Line, &[(1.0, 0.2), (35.0, 0.2)]),
                    published("first, most", 0, Style::Line, &[(1.0, 0.4), (35.0, 0.4)]),
                    published("further", 2, Style::Line, &[(1.0, 0.537), (35.0, 0.537)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-figure-8.svg",
        title: "NACK generation latency by the dropped packet, 100 KB messages (Lumina figure 8)",
        panels: &[
            over_losses(
                "Write",
                GENERATION,
                &[
                    by_packet(0, CX4, LONG, generation),
                    by_packet(1, CX5, LONG, generation),
                    by_packet(2, CX6, LONG, generation),
                    by_packet(3, E810, LONG, generation),
                    published("cx5 and cx6-dx", 1, Style::Line, &[(1.0, 2.0), (99.0, 2.0)]),
                    published("e810", 3, Style::Line, &[(1.0, 10.0), (99.0, 10.0)]),
                ],
            ),
            over_losses(
                "Read",
                GENERATION,
                &[
                    by_packet(0, CX4, READS, generation),
                    by_packet(1, CX5, READS, generation),
                    by_packet(2, CX6, READS, generation),
                    by_packet(3, E810, READS, generation),
                    published("cx4-lx", 0, Style::Line, &[(1.0, 150.0), (99.0, 150.0)]),
                    published("e810", 3, Style::Line, &[(1.0, 83_000.0), (99.0, 83_000.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-figure-9.svg",
        title: "NACK reaction latency by the dropped packet, 100 KB messages (Lumina figure 9)",
        panels: &[
            over_losses(
                "Write",
                REACTION,
                &[
                    by_packet(0, CX4, LONG, reaction),
                    by_packet(1, CX5, LONG, reaction),
                    by_packet(2, CX6, LONG, reaction),
                    by_packet(3, E810, LONG, reaction),
                    published("cx5 and cx6-dx, least", 1, Style::Line, &[(1.0, 2.0), (99.0, 2.0)]),
                    published("cx5 and cx6-dx, most", 2, Style::Line, &[(1.0, 6.0), (99.0, 6.0)]),
                ],
            ),
            over_losses(
                "Read",
                REACTION,
                &[
                    by_packet(0, CX4, READS, reaction),
                    by_packet(1, CX5, READS, reaction),
                    by_packet(2, CX6, READS, reaction),
                    by_packet(3, E810, READS, reaction),
                    published("cx5 and cx6-dx, least", 1, Style::Line, &[(1.0, 2.0), (99.0, 2.0)]),
                    published("cx5 and cx6-dx, most", 2, Style::Line, &[(1.0, 6.0), (99.0, 6.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-figure-10.svg",
        title: "Goodput of two QPs, one of 50 packets of QP0 marked, cx6-dx (Lumina figure 10)",
        panels: &[
            goodputs(
                "QP0",
                &[
                    goodput(0, Queues::TwoUnmarked, |seen| at(1.0, seen, 0)),
                    goodput(0, Queues::TwoMarked, |seen| at(2.0, seen, 0)),
                    goodput(0, Queues::OneMarked, |seen| at(3.0, seen, 0)),
                    published("QP0, unmarked", 0, Style::Columns(1), &[(1.0, 50.0)]),
                ],
            ),
            goodputs(
                "QP1",
                &[
                    goodput(1, Queues::TwoUnmarked, |seen| at(1.0, seen, 1)),
                    goodput(1, Queues::TwoMarked, |seen| at(2.0, seen, 1)),
                    goodput(1, Queues::OneMarked, |seen| at(3.0, seen, 1)),
                    published("QP1, two queues", 1, Style::Columns(1), &[(1.0, 50.0), (2.0, 50.0)]),
                ],
            ),
        ],
    },
    Figure {
        file: "lumina-figure-11.svg",
        title: "36 connections read, i lose a packet, cx4-lx (Lumina figure 11)",
        panels: &[Panel {
            title: "",
            x: "connections with drops",
            y: "mean MCT (µs)",
            names: &["i = 0", "i = 8", "i = 12", "i = 16"],
            log: true,
            series: &[
                neighbours("innocent", 1, 0, |seen| neighbour(1.0, seen, |one| one > 0)),
                neighbours("innocent", 1, 8, |seen| neighbour(2.0, seen, |one| one > 8)),
                neighbours("innocent", 1, 12, |seen| neighbour(3.0, seen, |one| one > 12)),
                neighbours("innocent", 1, 16, |seen| neighbour(4.0, seen, |one| one > 16)),
                neighbours("with drops", 0, 8, |seen| neighbour(2.0, seen, |one| one <= 8)),
                neighbours("with drops", 0, 12, |seen| neighbour(3.0, seen, |one| one <= 12)),
                neighbours("with drops", 0, 16, |seen| neighbour(4.0, seen, |one| one <= 16)),
                published(
                    "innocent",
                    1,
                    Style::Columns(1),
                    &[(1.0, 160.0), (2.0, 160.0), (3.0, 430_000.0), (4.0, 430_000.0)],
                ),
            ],
        }],
    },
];

/// A series of the message-size experiment.
const fn by_message_size(name: &'static str, colour: usize, of: Read) -> Series {
    measured(name, colour, Style::Line, (CX6, Setup::Sizes), of)
}

/// For each message size in KB a value of the mean latency and of the mean completion times with and without loss.
fn of_sizes(seen: &[Seen<'_>], value: fn(f64, [f64; 2]) -> f64) -> Option<Points> {
    let sizes = by_size(seen)?;
    Some(sizes.into_iter().map(|(size, latency, times)| (f64::from(size), value(latency, times))).collect())
}

/// A series of the packets of the message-size experiment with messages of so many KB.
const fn passing(packets: u32, name: &'static str, colour: usize, of: Read) -> Series {
    measured(name, colour, Style::Dots, (CX6, Setup::FifthLost { packets }), of)
}

const fn timeouts(title: &'static str, log: bool, series: &'static [Series]) -> Panel {
    let x = "time-out, five messages one after the other";
    Panel { title, x, y: "retransmission latency (s)", names: &[], log, series }
}

/// Every wait of the time-out experiment.
fn waits(seen: &[Seen<'_>]) -> Option<Points> {
    let waits = seen.first()?.waits().into_iter().flatten();
    Some((1u32..).map(f64::from).zip(waits).collect())
}

const fn goodputs(title: &'static str, series: &'static [Series]) -> Panel {
    Panel {
        title,
        x: "",
        y: "goodput (Gb/s)",
        names: &["two queues", "two queues, ECN", "one queue, ECN"],
        log: false,
        series,
    }
}

const fn goodput(colour: usize, queues: Queues, of: Read) -> Series {
    let name = if colour == 0 { "QP0" } else { "QP1" };
    measured(name, colour, Style::Columns(0), (CX6, Setup::Ets(queues)), of)
}

fn at(place: f64, seen: &[Seen<'_>], qp: usize) -> Option<Points> {
    Some(vec![(place, *seen.first()?.goodputs().get(qp)?)])
}

const fn neighbours(name: &'static str, colour: usize, noisy: u32, of: Read) -> Series {
    let style = Style::Columns(if colour == 0 { 2 } else { 0 });
    measured(name, colour, style, (CX4, Setup::Neighbours(noisy)), of)
}

fn neighbour(place: f64, seen: &[Seen<'_>], which: fn(u32) -> bool) -> Option<Points> {
    let times = seen.first()?.completion_times(|one| which(one.connection));
    Some(vec![(place, mean(times)?)])
}
