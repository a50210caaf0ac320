//! Test configurations and their store: the test configuration (the genome), its TOML form, its rules, and
//! Lumina YAML in and out.
//!
//! ```
//! let config = corpus::from_toml("drop.toml", r#"
//!     [traffic]
//!     num-connections = 2
//!
//!     [[event]]
//!     qpn = 2
//!     psn = 5
//!     type = "drop"
//! "#)?;
//! assert_eq!(config.traffic.shape().packets(), 100);
//! assert_eq!(corpus::from_toml("again.toml", &config.to_toml())?, config);
//!
//! let errors = corpus::from_toml("bad.toml", "traffic.mtu = 1000").unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     "bad.toml:1:15: traffic.mtu: 1000 is not an RDMA MTU; allowed: 256, 512, 1024, 2048 or 4096"
//! );
//! # Ok::<(), corpus::ConfigErrors>(())
//! ```

mod capabilities;
mod check;
pub mod config;
mod error;
mod evaluation;
mod excerpt;
mod intake;
mod load;
pub mod lumina;
mod mitigation;
mod offloading;
mod packets;
mod reordering;
mod source;
pub mod store;
mod suggest;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod toml_form;

pub use capabilities::{Capabilities, Quick, RoceSetting, Room};
pub use check::{Violation, plural};
pub use config::{
    Action, Cidr, ConnectionSet, Control, ControlPacket, Copies, Direction, DummyRule, Ets, Event,
    HeaderField, Hop, Host, IpVersion, IterMode, Load, LossDirection, LossEffect, LossModel, LossRecovery,
    Mtu, NamedPlacement, Network, Offload, Operation, PacketKinds, Path, Pattern, Physical, Placement,
    Progression, Repeat, RepeatMatch, RoceParameters, Role, Rule, Scheduler, SetField, Spray, SprayPackets,
    Target, TestConfig, Traffic, TrafficClass, TrafficField, Verb,
};
pub use dumper::{ActionKind, Form};
pub use error::{ConfigDiagnostic, ConfigErrors, Finding, Location, MAX_PROBLEMS, Problem, without_controls};
pub use evaluation::{
    Answer, Evaluation, FindingRecord, Key, Lineage, Minimising, Minimized, Outcome, Scores, Sighting,
    SituationSeen,
};
pub use load::{Loaded, load, load_text, open_regular, read_text};
pub use packets::{Place, Position, Shape};
pub use source::{Format, MAX_FILE_BYTES, clip};
pub use suggest::nearest;
pub use toml_form::{from_toml, from_toml_without_events};
