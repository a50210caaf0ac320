//! The part of a test that an entry is of: errors name it, as those who write tests know no tables.

use std::fmt;

use corpus::{ControlPacket, config::Points};

use crate::proto::runtime::TableEntry;
use crate::{FlowIndex, Key};

/// An entry, and the part of the test that it is of.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// The entry.
    pub entry: TableEntry,
    /// The part of the test.
    pub intent: Intent,
}

/// The part of a test, or of a switch's wiring, that an entry is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// A direction of a connection.
    Flow(FlowIndex),
    /// Events on packets.
    Event(Key),
    /// Random losses of a direction of a connection.
    Losses(FlowIndex),
    /// Copies of the network.
    Repeat,
    /// A path of the network, by its number, from 0.
    Path(u8),
    /// How packets are spread over the paths.
    Spread,
    /// The host at a port.
    Host(u32),
    /// The dumper at a port.
    Dumper(u32),
    /// A turn of the dumpers, from 0.
    Turn(u32),
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow(flow) => write!(f, "{}", Direction(*flow)),
            Self::Event(Key::Data { flow, psn, iter }) => {
                write!(f, "the events on PSN {}, round {iter}, of {}", psn.value(), Direction(*flow))
            }
            Self::Event(Key::Control { flow, packet, nth }) => {
                let name = ControlPacket::NAMES[*packet as usize].0;
                write!(f, "the events on {name} {} of {}", Numbers(*nth), Direction(*flow))
            }
            Self::Losses(flow) => write!(f, "the losses of {}", Direction(*flow)),
            Self::Repeat => write!(f, "[network.repeat]"),
            Self::Path(number) => write!(f, "path {number} of [network]"),
            Self::Spread => write!(f, "the spread over the paths of [network]"),
            Self::Host(port) => write!(f, "the host at port {port}"),
            Self::Dumper(port) => write!(f, "the dumper at port {port}"),
            Self::Turn(turn) => write!(f, "turn {turn} of the dumpers"),
        }
    }
}

/// A flow, as a direction of its connection.
struct Direction(FlowIndex);

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {} towards its {}", self.0.connection(), self.0.towards().name())
    }
}

/// Numbers of control packets.
struct Numbers(Points);

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Points { first, step, last } = self.0;
        match self.0.count() {
            1 => write!(f, "{first}"),
            2 => write!(f, "{first} and {last}"),
            _ => write!(f, "{first}, {}, ... {last}", first + step),
        }
    }
}
