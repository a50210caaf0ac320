//! Parameters of a test that have a default: how far they are from it.
//!
//! Left alone are NICs and the facts of a physical testbed: with others, another thing would be tested.

use std::sync::LazyLock;

use corpus::config::fields;
use corpus::{
    Load, LossDirection, LossEffect, LossModel, Mtu, Offload, PacketKinds, Placement, RoceParameters, Role,
    Scheduler, TestConfig, Traffic, TrafficField, Verb,
};

use super::{fit, offload, shares};

/// A parameter, or a setting of one that is simpler than others.
#[derive(Debug)]
pub(super) enum Parameter {
    /// A field of the traffic: its height is the distance from its default.
    Traffic(&'static TrafficField),
    /// A random number of the traffic. Of two none is simpler: the default, or as it is.
    Random(&'static TrafficField),
    Other {
        height: fn(&TestConfig) -> u64,
        lower: fn(&mut TestConfig, u64),
    },
}

impl Parameter {
    /// Distance from its default; 0 at the default.
    pub(super) fn height(&self, config: &TestConfig) -> u64 {
        match self {
            Self::Traffic(field) => (field.get)(&config.traffic).abs_diff(field.default),
            Self::Random(field) => u64::from(!field.is_default(&config.traffic)),
            Self::Other { height, .. } => height(config),
        }
    }

    /// Takes it to another height, below its own.
    pub(super) fn lower(&self, config: &mut TestConfig, to: u64) {
        match self {
            Self::Traffic(field) => {
                let value = nearer((field.get)(&config.traffic), field.default, to);
                (field.set)(&mut config.traffic, value);
            }
            Self::Random(field) => (field.set)(&mut config.traffic, field.default),
            Self::Other { lower, .. } => lower(config, to),
        }
    }
}

/// The number that is so far from the default, on the side of another one.
const fn nearer(now: u64, default: u64, distance: u64) -> u64 {
    if now > default { default + distance } else { default - distance }
}

/// A number: its height is the distance from the field's default.
macro_rules! number {
    ($($place:ident).+ : $type:ty, $field:ident) => {
        Parameter::Other {
            height: |config| u64::from(config.$($place).+).abs_diff(fields::$field.default),
            lower: |config, to| {
                let value = nearer(u64::from(config.$($place).+), fields::$field.default, to);
                config.$($place).+ = value as $type;
            },
        }
    };
}

/// Something that is at its default or is not.
macro_rules! switch {
    ($($place:ident).+, $default:expr) => {
        Parameter::Other {
            height: |config| u64::from(config.$($place).+ != $default),
            lower: |config, _| config.$($place).+ = $default,
        }
    };
}

/// One verb on all connections, which is simpler than those after it in [`LOAD`].
macro_rules! verb {
    ($verb:ident) => {
        Parameter::Other {
            height: |config| u64::from(load_rank(config.traffic.load) > verb_rank(Verb::$verb)),
            lower: |config, _| {
                let connections = config.traffic.load.connections();
                config.traffic.load = Load::Same { verb: Verb::$verb, connections };
            },
        }
    };
}

macro_rules! host {
    ($host:ident) => {
        [
            switch!($host.roce.dcqcn_rp_enable, RoceParameters::default().dcqcn_rp_enable),
            switch!($host.roce.dcqcn_np_enable, RoceParameters::default().dcqcn_np_enable),
            number!($host.roce.min_time_between_cnps: u32, MIN_TIME_BETWEEN_CNPS),
            switch!($host.roce.adaptive_retrans, RoceParameters::default().adaptive_retrans),
            switch!($host.roce.slow_restart, RoceParameters::default().slow_restart),
            Parameter::Other {
                height: |config| config.$host.ip_list.len().saturating_sub(1) as u64,
                lower: |config, to| config.$host.ip_list.truncate(to as usize + 1),
            },
        ]
    };
}

/// Simpler forms of a host that serves several traffic classes: fewer classes after the first, priorities,
/// weights, numbers.
macro_rules! shares {
    ($host:ident: $($class:literal)*) => {
        [
            $(Parameter::Other {
                height: |config| shares::is_further(&config.$host, $class).into(),
                lower: |config, _| shares::take_away(&mut config.$host, $class),
            },)*
            Parameter::Other {
                height: |config| shares::strict_classes(&config.$host),
                lower: |config, to| shares::keep_strict(&mut config.$host, to),
            },
            Parameter::Other {
                height: |config| shares::has_unequal_weights(&config.$host).into(),
                lower: |config, _| shares::make_weights_equal(&mut config.$host),
            },
            Parameter::Other {
                height: |config| shares::has_gaps(&config.$host).into(),
                lower: |config, _| shares::close_gaps(&mut config.$host),
            },
        ]
    };
}

/// A number of a table: its distance from the default.
macro_rules! of_table {
    ($role:ident, $field:ident) => {
        Parameter::Other {
            height: |config| {
                offload::height(config, Role::$role, |table| {
                    u64::from(table.$field.abs_diff(Offload::default().$field))
                })
            },
            lower: |config, to| {
                offload::lower(config, Role::$role, |table| {
                    let default = Offload::default().$field;
                    let to = to as u32;
                    table.$field = if table.$field > default { default + to } else { default - to };
                })
            },
        }
    };
}

macro_rules! table {
    ($role:ident) => {
        [
            Parameter::Other {
                height: |config| offload::height(config, Role::$role, |_| 1),
                lower: |config, _| offload::take_away(config, Role::$role),
            },
            of_table!($role, egress_masks),
            of_table!($role, ingress_masks),
            // Fewer masks need fewer flows.
            Parameter::Other {
                height: |config| {
                    let connections = config.traffic.load.connections();
                    offload::height(config, Role::$role, |table| {
                        table.flows.saturating_sub(table.least_flows(connections)).into()
                    })
                },
                lower: |config, to| {
                    let connections = config.traffic.load.connections();
                    offload::lower(config, Role::$role, |table| {
                        table.flows = table.least_flows(connections) + to as u32
                    });
                },
            },
            Parameter::Other {
                height: |config| {
                    offload::height(config, Role::$role, |table| u64::from(table.place != Placement::Spread))
                },
                lower: |config, _| {
                    offload::lower(config, Role::$role, |table| table.place = Placement::Spread)
                },
            },
            // All at once: with some of them gone, packets rarely reach the port.
            Parameter::Other {
                height: |config| {
                    offload::height(config, Role::$role, |table| u64::from(!table.rules.is_empty()))
                },
                lower: |config, _| offload::lower(config, Role::$role, |table| table.rules.clear()),
            },
            of_table!($role, tables),
            of_table!($role, actions),
            Parameter::Other {
                height: |config| offload::height(config, Role::$role, |table| table.vxlan.into()),
                lower: |config, _| offload::lower(config, Role::$role, |table| table.vxlan = false),
            },
            of_table!($role, virtual_functions),
            of_table!($role, max_idle_ms),
            of_table!($role, revalidate_ms),
            Parameter::Other {
                height: |config| {
                    offload::height(config, Role::$role, |table| u64::from(table.scheduler != Scheduler::Ovs))
                },
                lower: |config, _| {
                    offload::lower(config, Role::$role, |table| table.scheduler = Scheduler::Ovs);
                },
            },
            of_table!($role, hyper_entries),
        ]
    };
}

static SHARES: [[Parameter; 10]; 2] = [shares!(requester: 1 2 3 4 5 6 7), shares!(responder: 1 2 3 4 5 6 7)];
// Weights need classes, so they go first: sweeps begin at the end.
static CLASSES: [Parameter; 4] = [
    switch!(requester.traffic_class, None),
    switch!(requester.ets, None),
    switch!(responder.traffic_class, None),
    switch!(responder.ets, None),
];
static LOAD: [Parameter; 4] = [
    verb!(Write),
    verb!(Send),
    verb!(Read),
    Parameter::Other {
        height: |config| mtu_index(config.traffic.mtu).abs_diff(mtu_index(Traffic::default().mtu)) as u64,
        lower: |config, to| {
            let (now, default) = (mtu_index(config.traffic.mtu), mtu_index(Traffic::default().mtu));
            let index = if now > default { default + to as usize } else { default - to as usize };
            fit::reshape(config, |traffic| traffic.mtu = Mtu::ALL[index]);
        },
    },
];
/// Fields of the shape of messages, whose packets events name: axes of their own.
pub(super) const SHAPE: [&TrafficField; 3] =
    [&TrafficField::NUM_MSGS_PER_QP, &TrafficField::MESSAGE_SIZE, &TrafficField::MTU];
/// Random numbers of the traffic.
const RANDOM: [&TrafficField; 2] = [&TrafficField::INITIAL_PSN, &TrafficField::SEED];
static TRAFFIC: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let plain = |field: &&TrafficField| SHAPE.iter().chain(&RANDOM).all(|other| other.key != field.key);
    let fields = TrafficField::ALL.iter().filter(plain).map(Parameter::Traffic);
    fields.chain(RANDOM.map(Parameter::Random)).collect()
});
/// Losses at random are at their defaults where there are none.
static NETWORK: [Parameter; 9] = [
    switch!(network.pfc, false),
    number!(network.links: u8, LINKS),
    number!(network.corrupted_links_percent: u8, CORRUPTED_LINKS_PERCENT),
    switch!(network.loss_model, LossModel::PerBit),
    switch!(network.loss_bytes, None),
    switch!(network.loss_packets, PacketKinds::ALL),
    switch!(network.loss_direction, LossDirection::Both),
    switch!(network.loss_effect, LossEffect::Drop),
    switch!(network.seed, None),
];
static REQUESTER: [Parameter; 6] = host!(requester);
static RESPONDER: [Parameter; 6] = host!(responder);

static TABLES: [[Parameter; 14]; 2] = [table!(Requester), table!(Responder)];

/// Traffic classes and their weights.
pub(super) fn class_parameters() -> impl Iterator<Item = &'static Parameter> {
    SHARES.as_flattened().iter().chain(&CLASSES)
}

/// Every parameter.
pub(super) fn parameters() -> impl Iterator<Item = &'static Parameter> {
    class_parameters()
        .chain([LOAD.as_slice(), &TRAFFIC, &NETWORK, &REQUESTER, &RESPONDER].into_iter().flatten())
        .chain(TABLES.as_flattened())
}

fn mtu_index(mtu: Mtu) -> usize {
    Mtu::ALL.iter().position(|one| *one == mtu).expect("ALL has every MTU")
}

/// Loads from the simplest on.
const fn load_rank(load: Load) -> u8 {
    match load {
        Load::Same { verb, .. } => verb_rank(verb),
        Load::Alternating { .. } | Load::Split { .. } => 3,
    }
}

const fn verb_rank(verb: Verb) -> u8 {
    match verb {
        Verb::Write => 0,
        Verb::Send => 1,
        Verb::Read => 2,
    }
}
