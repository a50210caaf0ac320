//! `lumina-dumper`: see `lumina-dumper --help`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use dumper::pool::{self, Dumper, Options};
use dumper::serve::tls::Role;
use dumper::serve::{self, Access, Address, Bound, die_with, serve, stopped};
use nix::unistd::getppid;

const ABOUT: &str = "Keeps the mirrored packets of tests for lumina-fuzz.";

const AFTER_HELP: &str = "\
A dumper is at one or more ports of the switch, and any number of dumpers share the packets of a test (a P4 switch and \
lumina-switch give each its share by weight). Of each packet the first 128 bytes are kept, in memory that is taken at the start. The \
interfaces have to be promiscuous (ip link set NAME promisc on) and up, and the dumper takes the capability CAP_NET_RAW. Packets that are \
lost, by this program, the system or the interface, are counted and told.

An orchestrator (lumina-fuzz) begins and ends each dump. With --out there is one dump, from the start to SIGTERM or SIGINT, which is written \
as pcapng and can be read with lumina-fuzz analyze.

{LIMITS}

Examples:
  # For an orchestrator, with two threads
  lumina-dumper --interface eth1 --threads 2 --listen 192.0.2.3:7472 --keys keys

  # By hand
  lumina-dumper --interface eth1 --out dump.pcapng

Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failed, 2 usage.";

#[derive(Parser)]
#[command(name = "lumina-dumper", version, about = ABOUT, after_help = AFTER_HELP.replace("{LIMITS}", serve::HELP), max_term_width = 100)]
struct Cli {
    /// Interface that mirrored packets come in at; may be given several times
    #[arg(long = "interface", value_name = "NAME", required = true)]
    interfaces: Vec<String>,

    /// Threads for each interface, which share its packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,

    /// Most packets of a dump, for which 148 bytes each are taken at the start; further ones are counted
    #[arg(long, value_name = "PACKETS", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    packets: u32,

    /// Address to listen at for the orchestrator: IP:PORT (port 0: any free one) or unix:PATH
    ///
    /// The address is printed as the first line on stdout.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7472")]
    listen: Address,

    #[command(flatten)]
    access: Access,

    /// Keep packets from the start, and write them into a file at the end, without an orchestrator
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    out: Option<PathBuf>,

    /// Die as soon as the thread that started this process does, however it ends
    #[arg(long)]
    die_with_parent: bool,
}

fn main() -> ExitCode {
    let parent = getppid();
    let cli = Cli::parse();
    let watched = if cli.die_with_parent { die_with(parent) } else { Ok(()) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for clients: {error}"));
    match watched.and(runtime).and_then(|runtime| runtime.block_on(run(cli))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("lumina-dumper: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<(), String> {
    let stop = stopped().map_err(|error| format!("signals: {error}"))?;
    let Cli { interfaces, threads, packets, listen, access, out, .. } = cli;
    let options = Options { interfaces, threads, packets };
    let dumper = Arc::new(Dumper::start(options).map_err(|error| error.to_string())?);
    let Some(out) = out else {
        let warn = |what: &str| eprintln!("lumina-dumper: warning: {what}");
        let keys = access.open(&listen, Role::Dumper, warn).map_err(|error| error.to_string())?;
        let bound = Bound::listen(&listen).await.map_err(|error| error.to_string())?;
        say(&bound.address.to_string());
        let limits = serve::Limits::default();
        let served = serve("lumina-dumper", bound.listener, keys.as_ref(), pool::routes(dumper), limits);
        return tokio::select! {
            () = stop => Ok(()),
            served = served => served.map_err(|error| format!("the service failed: {error}")),
        };
    };
    let dump = dumper.begin();
    say("keeps packets until SIGTERM or SIGINT (Ctrl-C)");
    stop.await;
    let counted = dumper.counted(dump);
    let ended = dumper.end(dump).ok_or("the dump is gone")?;
    let written = pool::write(ended, &out).map_err(|error| error.to_string())?;
    let losses = counted.map(|(_, losses)| losses).unwrap_or_default();
    eprintln!(
        "lumina-dumper: {written} packets in {}; not kept: {} for want of memory (--packets), {} that the system had no room for, {} that the \
         interface dropped, {} without a mirror sequence number",
        out.display(),
        losses.no_room,
        losses.ring,
        losses.interface,
        losses.foreign
    );
    Ok(())
}

/// The first line on stdout, where a closed one is ignored.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
    let _ = std::io::stdout().flush();
}
