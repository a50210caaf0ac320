//! `lumina-fuzz predict multipath`.

use std::path::Path;

use clap::ValueEnum;
use corpus::Mtu;
use dumper::Nanos;
use executor::profile::{self, ReorderEngine};

use super::mtu;
use crate::cli::numbers::whole;
use crate::cli::output::{bad_file, print, print_json};
use crate::cli::{Exit, Format};
use crate::predict::multipath::{self, Engine, Sender, Setting};

pub(super) const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz predict multipath --delay 186us
  lumina-fuzz predict multipath --rate 200 --delay 186us --connections 5 --engine pool
  lumina-fuzz predict multipath --delay 20us --connections 64 --nic my-engine.toml --format json

How to read it: the extent is the distance in PSNs from the first missing packet of a connection to the last one that has arrived; an engine \
has to note as many packets. About half of those in between have overtaken the missing one, the others are delayed too. Throughput is what the \
engine keeps up with at a steady rate, as a share of the link; with --nic, at most what the window and the transmit.packet-ns of that NIC let it \
send, and what its receive.packet-ns leaves. \"below\" says that a field, named beneath, makes it less by an amount that no formula has: there is \
no room for the extent, or delayed packets count as lost. `lumina-fuzz run` with two [[network.path]]s, spray = \"packet\", pfc = true measures it, \
and less where an engine is many times slower than the link (docs/multipath.md).";

pub(super) const ABOUT: &str = "\
Throughput of NICs that get packets over two paths of different length, by the way in which they note packets that overtake others: by \
formula, without a run (docs/multipath.md).

A NIC that keeps packets out of order accesses a bitmap for each packet. Where that takes longer than a packet on the link, the NIC is the \
bottleneck, and flow control slows the sender down. A NIC of go-back-N takes a packet that was overtaken for a lost one.";

/// Engines, with the times of shipped profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Named {
    /// A ring of bits for each connection (the ideal).
    Ring,
    /// Chained blocks that connections share (MELO+).
    Pool,
    /// Such a pool behind caches (LEFT-).
    LeftNoGather,
    /// The same with FIFOs that gather packets (LEFT).
    Left,
    /// No bitmaps.
    GoBackN,
}

#[derive(clap::Args)]
pub(super) struct Multipath {
    /// Rate of the links, in Gb/s [default: that of --nic, or 200].
    #[arg(long, value_name = "GBPS", value_parser = whole(1..=800))]
    rate: Option<u64>,
    /// Delay by which one path is longer than the other, up to 10 s: 186us, 2ms.
    #[arg(long, value_name = "TIME", value_parser = delay, allow_hyphen_values = true)]
    delay: Nanos,
    /// Connections that send.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=corpus::config::fields::NUM_CONNECTIONS.max))]
    connections: u64,
    /// The engine, with the times of LEFT's authors [default: all of them].
    #[arg(long, value_enum, conflicts_with = "nic")]
    engine: Option<Named>,
    /// The engine, window and rates of a NIC profile, by name (`nics list`) or path.
    #[arg(long, value_name = "NIC")]
    nic: Option<String>,
    /// Path MTU.
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = mtu)]
    mtu: Mtu,
}

fn delay(text: &str) -> Result<Nanos, String> {
    let most = corpus::config::fields::PATH_DELAY_NS.max;
    let delay =
        humantime::parse_duration(text).map_err(|error| format!("{error}; a time is as in 186us or 2ms"))?;
    match u64::try_from(delay.as_nanos()) {
        Ok(0) => Err("paths of the same length deliver packets in order: give a time above 0".into()),
        Ok(ns) if ns <= most => Ok(Nanos(ns)),
        _ => Err(format!("must be at most {}, as in a test", Nanos(most))),
    }
}

impl Named {
    /// Its name, and the fields of the profile that has it, with a sender without limits.
    fn engine(self) -> Result<Engine, profile::ProfileError> {
        let nic = match self {
            // LEFT's loss detection: IRN's takes every overtaken packet for lost.
            Self::Ring | Self::Left => "left",
            Self::Pool => "melo",
            Self::LeftNoGather => "left-no-gather",
            Self::GoBackN => "reference",
        };
        let mut reorder = profile::load(nic, Path::new(""))?.reorder;
        if self == Self::Ring {
            reorder.engine = ReorderEngine::Ring;
        }
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        Ok(Engine { name: name.unwrap_or_default(), reorder, sender: Sender::default() })
    }
}

impl Multipath {
    /// Engines that are asked for, the rate of their NIC's link, and the time of a packet before them.
    fn engines(&self) -> Result<(Vec<Engine>, u32, Nanos), profile::ProfileError> {
        let named = match (&self.nic, self.engine) {
            (Some(nic), _) => {
                let profile = profile::load(nic, Path::new(""))?;
                let sender = Sender::of(&profile);
                return Ok((
                    vec![Engine { name: profile.name, reorder: profile.reorder, sender }],
                    profile.link.rate_gbps,
                    Nanos(profile.receive.packet_ns),
                ));
            }
            (None, Some(one)) => vec![one],
            (None, None) => Named::value_variants().to_vec(),
        };
        let rate = profile::load("left", Path::new(""))?.link.rate_gbps;
        Ok((named.into_iter().map(Named::engine).collect::<Result<_, _>>()?, rate, Nanos::ZERO))
    }

    pub(super) fn run(&self, format: Format) -> Exit {
        let (engines, rate, receive_ns) = match self.engines() {
            Ok(engines) => engines,
            Err(error) => return bad_file("bad NIC profile", error.0, format),
        };
        let setting = Setting {
            rate_gbps: self.rate.map_or(rate, |rate| rate as u32),
            mtu: self.mtu.bytes(),
            delay_ns: self.delay,
            connections: self.connections as u32,
            receive_ns,
        };
        let forecast = setting.forecast(&engines);
        match format {
            Format::Text => print(&multipath::text(&forecast)),
            Format::Json => print_json(&forecast),
        }
    }
}
