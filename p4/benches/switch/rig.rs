//! The switch as a process of its own, between two hosts.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dumper::serve::Access;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use p4::Tables;
use p4::client::SwitchClient;
use p4::process::{Options, run};
use p4::switch::{Dumpers, Limits, PortSpec};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::host::{In, Out};

/// Kinds of ports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unix,
    Packet,
    Xdp,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Unix, Self::Packet, Self::Xdp];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix sockets",
            Self::Packet => "AF_PACKET",
            Self::Xdp => "AF_XDP",
        }
    }

    /// The switch's port of a host, counted from 1.
    fn port(self, folder: &Path, host: u8) -> String {
        match self {
            Self::Unix => {
                let path = |name: &str| folder.join(format!("{name}{host}")).display().to_string();
                format!("unix:{}:{}", path("s"), path("h"))
            }
            Self::Packet => format!("packet:s{host}"),
            Self::Xdp => format!("xdp:s{host}"),
        }
    }

    fn host(self, folder: &Path, host: u8) -> Host {
        match self {
            Self::Unix => Host {
                out: Out::unix(&folder.join(format!("s{host}"))),
                into: In::unix(&folder.join(format!("h{host}"))),
            },
            Self::Packet | Self::Xdp => Host::at(&format!("h{host}")),
        }
    }
}

/// Both ways of a host.
pub(crate) struct Host {
    pub(crate) out: Out,
    pub(crate) into: In,
}

impl Host {
    pub(crate) fn at(interface: &str) -> Self {
        Self { out: Out::interface(interface), into: In::interface(interface) }
    }
}

/// A switch with a dumper, between two hosts.
pub(crate) struct Rig {
    process: Child,
    pub(crate) hosts: [Host; 2],
    client: SwitchClient,
    runtime: Runtime,
    _folder: TempDir,
}

impl Rig {
    pub(crate) fn start(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = folder.path().join("control");
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--switch", &kind.port(folder.path(), 1), &kind.port(folder.path(), 2)])
            .arg(&control)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let address = address.trim().parse().unwrap();
        let client = runtime.block_on(SwitchClient::connect(&address, None)).unwrap();
        let hosts = [1, 2].map(|host| kind.host(folder.path(), host));
        Self { process, hosts, client, runtime, _folder: folder }
    }

    pub(crate) fn program(&mut self, tables: &Tables) {
        self.runtime.block_on(self.client.program(tables)).unwrap();
    }

    /// Processor time of the switch.
    pub(crate) fn used(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let behind_name = stat.rsplit_once(')').unwrap().1;
        // Fields 14 and 15 of proc(5), in hundredths of a second.
        let ticks: u64 =
            behind_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(10 * ticks)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        kill(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGTERM).unwrap();
        self.process.wait().unwrap();
    }
}

/// What the process of the switch does.
pub(crate) fn serve(arguments: &[String]) {
    crate::pin(1);
    let [first, second, control] = arguments else { panic!("{arguments:?}") };
    let port = |text: &String| text.parse::<PortSpec>().unwrap();
    let options = Options {
        ports: [port(first), port(second)],
        dumper_ports: vec!["if:s3".parse().unwrap()],
        dumpers: Dumpers { weights: vec![NonZeroU32::MIN], one_port: false },
        access: Access::default(),
        listen: format!("unix:{control}").parse().unwrap(),
        limits: Limits::default(),
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut terminate = None;
    runtime.block_on(async {
        let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
        terminate = Some(
            run(options, &mut |told| eprintln!("{told}"), |address| println!("{address}"), async {
                let _ = signal.recv().await;
            })
            .await,
        );
    });
    terminate.unwrap().unwrap();
}
