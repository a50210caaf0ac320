//! The axes along which a test can be made smaller.

use corpus::config::fields;
use corpus::{Action, Copies, Repeat, TestConfig, Traffic};

use super::connections::{self, Classes};
use super::events::{self, Detail};
use super::fit;
use super::parameters::{Parameter, class_parameters, parameters};

/// One way to make a test smaller: a height above the bottom, and how to come to another one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Axis {
    /// Connections of one class.
    Connections(usize, Growth),
    /// Connections of one class that events name: the others are left in peace.
    Eventful(usize, Growth),
    /// Messages of each connection, beyond the first.
    Messages(Growth),
    /// Bytes of a message.
    Bytes,
    /// An event.
    Event(usize),
    /// Losses at random.
    Losses,
    /// Copies of the network.
    Copies,
    /// Paths of the network.
    Paths,
    /// An operation on a flow table.
    Operation(usize),
    /// Flows, masks or connections of one.
    OperationNumber(usize),
    /// Its time.
    OperationTime(usize),
    /// The second event, whose connections the first takes over.
    Merge(usize, usize),
    /// Connections of a class in an event.
    Members(usize, usize),
    /// A parameter that is not at its default.
    Parameter(&'static Parameter),
    /// Something of an event that could be simpler.
    Detail(usize, Detail),
    /// Connections that are not in the order of the events that they are in.
    Order,
}

/// Load that grows as another axis shrinks: an anomaly under load may show on fewer connections that send
/// more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    Nothing,
    /// Messages, so that there are about as many bytes in all as before, and somewhat more.
    SomeBytes,
    /// Messages, so that there are as many packets in all as in the beginning.
    AllBytes,
    /// The same, in a test whose parameters and events are the plainest there are.
    PlainBytes,
    /// The number of messages, likewise.
    Messages,
    /// Packets of an event: its place in every message, from the first on. An anomaly may need as many events in all.
    Event(usize),
}

/// Axes that are swept together, in this order: deletions first, and then by the order of
/// [`super::size::Size`].
pub(super) const GROUPS: &[fn(&TestConfig) -> Vec<Axis>] = &[
    |config| {
        (0..config.events.len())
            .map(Axis::Event)
            .chain(config.network.loses().then_some(Axis::Losses))
            .chain(config.network.repeat.is_on().then_some(Axis::Copies))
            .chain((!config.network.paths.is_empty()).then_some(Axis::Paths))
            .chain((0..config.control.len()).map(Axis::Operation))
            .collect()
    },
    // Parameters that differ between connections, before these are removed class by class.
    |config| above_bottom(config, class_parameters().map(Axis::Parameter)),
    |config| of_eventful_classes(config, Growth::Nothing),
    |config| of_eventful_classes(config, Growth::SomeBytes),
    |config| of_eventful_classes(config, Growth::AllBytes),
    |config| of_eventful_classes(config, Growth::PlainBytes),
    |config| of_eventful_classes(config, Growth::Messages),
    |config| of_classes(config, Growth::Nothing),
    |config| of_classes(config, Growth::SomeBytes),
    |config| of_classes(config, Growth::AllBytes),
    |config| of_classes(config, Growth::Messages),
    |config| {
        let events = 0..config.events.len().min(FEW_EVENTS);
        events.flat_map(|event| of_classes(config, Growth::Event(event))).collect()
    },
    |_| vec![Axis::Messages(Growth::Nothing)],
    |_| vec![Axis::Messages(Growth::SomeBytes)],
    |_| vec![Axis::Messages(Growth::AllBytes)],
    |_| vec![Axis::Bytes],
    |config| pairs(config.events.len()).map(|(kept, gone)| Axis::Merge(kept, gone)).collect(),
    |config| {
        let memberships = connections::memberships(config);
        memberships.into_iter().map(|(event, class)| Axis::Members(event, class)).collect()
    },
    |config| above_bottom(config, parameters().map(Axis::Parameter)),
    |config| {
        let events = 0..config.events.len();
        let details =
            events.flat_map(|event| Detail::ALL.into_iter().map(move |one| Axis::Detail(event, one)));
        above_bottom(config, details)
    },
    |config| {
        let operations = 0..config.control.len();
        let axes = operations.flat_map(|at| [Axis::OperationNumber(at), Axis::OperationTime(at)]);
        above_bottom(config, axes)
    },
    |_| vec![Axis::Order],
];

/// Events that are tried one by one.
const FEW_EVENTS: usize = 4;

fn of_classes(config: &TestConfig, growth: Growth) -> Vec<Axis> {
    (0..Classes::of(config).len()).map(|class| Axis::Connections(class, growth)).collect()
}

fn of_eventful_classes(config: &TestConfig, growth: Growth) -> Vec<Axis> {
    let classes = Classes::of(config);
    (0..classes.len())
        .filter(|class| classes.are_eventful(*class, config))
        .map(|class| Axis::Eventful(class, growth))
        .collect()
}

/// Events and those shortly before them: all pairs of few events, and not too many of many.
fn pairs(events: usize) -> impl Iterator<Item = (usize, usize)> {
    const NEAR: usize = 4;
    (1..events).flat_map(|gone| (gone.saturating_sub(NEAR)..gone).map(move |kept| (kept, gone)))
}

fn above_bottom(config: &TestConfig, axes: impl Iterator<Item = Axis>) -> Vec<Axis> {
    axes.filter(|axis| axis.height(config) > 0).collect()
}

impl Axis {
    /// Distance of a test from the bottom of the axis; 0 where there is no such axis (any more).
    pub(super) fn height(self, config: &TestConfig) -> u64 {
        match self {
            Self::Connections(class, _) => Classes::of(config).count(class),
            Self::Eventful(class, _) => {
                let classes = Classes::of(config);
                if classes.are_eventful(class, config) { classes.count(class) } else { 0 }
            }
            Self::Messages(_) => u64::from(config.traffic.num_msgs_per_qp).saturating_sub(1),
            Self::Bytes => config.traffic.message_size.into(),
            Self::Event(event) => u64::from(event < config.events.len()),
            Self::Losses => config.network.loses().into(),
            Self::Copies => config.network.repeat.is_on().into(),
            Self::Paths => (!config.network.paths.is_empty()).into(),
            Self::Operation(at) => u64::from(at < config.control.len()),
            Self::OperationNumber(at) => {
                let number = config.control.get(at).map_or(1, |control| control.operation.number());
                u64::from(number).saturating_sub(1)
            }
            Self::OperationTime(at) => config.control.get(at).map_or(0, |control| control.at_ms.into()),
            Self::Merge(kept, gone) => u64::from(kept < gone && gone < config.events.len()),
            Self::Members(event, class) => connections::members_in(config, event, class),
            Self::Parameter(parameter) => parameter.height(config),
            Self::Detail(event, detail) => {
                config.events.get(event).map_or(0, |event| detail.height(event, &config.traffic))
            }
            Self::Order => u64::from(!connections::is_ordered(config)),
        }
    }

    /// Takes a test to another height, below its own. Load that grows meanwhile ends below `most_packets` in
    /// all.
    pub(super) fn lower(self, config: &mut TestConfig, to: u64, most_packets: u64) {
        if self.height(config) <= to {
            return;
        }
        let before = bytes(&config.traffic);
        match self {
            Self::Connections(class, growth) => {
                connections::reduce(config, class, to);
                grow(config, growth, before, most_packets);
            }
            Self::Eventful(class, growth) => {
                connections::leave_in_peace(config, class, to);
                if growth == Growth::PlainBytes {
                    make_plain(config);
                }
                grow(config, growth, before, most_packets);
            }
            Self::Messages(growth) => {
                fit::reshape(config, |traffic| traffic.num_msgs_per_qp = to as u32 + 1);
                grow(config, growth, before, most_packets);
            }
            Self::Bytes => fit::reshape(config, |traffic| traffic.message_size = to as u32),
            Self::Event(event) => drop(config.events.remove(event)),
            Self::Losses => config.network = config.network.without_losses(),
            Self::Paths => config.network = config.network.without_paths(),
            Self::Operation(at) => drop(config.control.remove(at)),
            Self::OperationNumber(at) => {
                let operation = config.control[at].operation;
                config.control[at].operation = operation.with_number(to as u32 + 1);
            }
            Self::OperationTime(at) => config.control[at].at_ms = to as u32,
            Self::Copies => copy_nothing(config),
            Self::Merge(kept, gone) => events::merge(config, kept, gone),
            Self::Members(event, class) => connections::reduce_members(config, event, class, to),
            Self::Parameter(parameter) => parameter.lower(config, to),
            Self::Detail(event, detail) => detail.lower(&mut config.events[event], to, &config.traffic),
            Self::Order => connections::order(config),
        }
    }
}

/// No copies of the network, and no events on them.
fn copy_nothing(config: &mut TestConfig) {
    config.network.repeat = Repeat::default();
    config.events.retain_mut(|event| match &mut event.action {
        Action::Drop(Copies::One(_)) => false,
        Action::Drop(copies) => {
            *copies = Copies::Original;
            true
        }
        _ => true,
    });
}

/// Every parameter at its default, every event at its simplest.
fn make_plain(config: &mut TestConfig) {
    for parameter in parameters() {
        parameter.lower(config, 0);
    }
    for event in &mut config.events {
        for detail in Detail::ALL {
            detail.lower(event, 0, &config.traffic);
        }
    }
}

/// Bytes of all messages.
fn bytes(traffic: &Traffic) -> u64 {
    let messages = u64::from(traffic.load.connections()) * u64::from(traffic.num_msgs_per_qp);
    messages.saturating_mul(traffic.message_size.into())
}

/// Makes messages longer, or more of them, where there were so many bytes; up to so many packets of the whole test.
fn grow(config: &mut TestConfig, growth: Growth, before: u64, most_packets: u64) {
    let traffic = &config.traffic;
    let connections = u64::from(traffic.load.connections()).max(1);
    let messages = u64::from(traffic.num_msgs_per_qp);
    let own = (most_packets / (connections * messages)).saturating_sub(traffic.dummy_headers.into());
    let longest = own * u64::from(traffic.mtu.bytes());
    let longer = match growth {
        Growth::Nothing => return,
        Growth::Messages => {
            let more = most_packets / (connections * u64::from(traffic.shape().packets_per_message()));
            let more = more.min(fields::NUM_MSGS_PER_QP.max).max(messages) as u32;
            return fit::reshape(config, |traffic| traffic.num_msgs_per_qp = more);
        }
        Growth::Event(event) => {
            let every = traffic.shape().packets_per_message();
            if let Some(event) = config.events.get_mut(event) {
                events::on_every_message(event, every);
            }
            return;
        }
        // A quarter more, as fewer packets leave together and have fewer headers.
        Growth::SomeBytes => (before.saturating_mul(5) / 4).div_ceil(connections * messages).min(longest),
        Growth::AllBytes | Growth::PlainBytes => longest,
    };
    let longer = longer.min(fields::MESSAGE_SIZE.max).max(traffic.message_size.into()) as u32;
    fit::reshape(config, |traffic| traffic.message_size = longer);
}
