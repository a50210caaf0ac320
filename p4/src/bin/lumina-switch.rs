//! The software switch as a program.

use std::io::Write;
use std::num::NonZeroU32;
use std::process::ExitCode;

use clap::Parser;
use dumper::serve::{Access, Address, die_with, stopped};
use nix::unistd::getppid;
use p4::process::{Options, run};
use p4::switch::{Dumpers, Limits, PortSpec, SpecError, Totals};

/// Software switch of lumina-fuzz: an event injector between two hosts
///
/// Forwards Ethernet frames between its two ports. RoCEv2 packets go through the tables that an orchestrator writes
/// over P4Runtime: it drops, marks, corrupts, delays, reorders, duplicates and rewrites exactly the packets that a test
/// names, and keeps each one as it entered. Without an orchestrator it only forwards.
#[derive(Parser, Debug)]
#[command(name = "lumina-switch", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", dumper::serve::HELP))]
struct Arguments {
    /// A port; give it twice, first the requester's
    ///
    /// unix:LOCAL:REMOTE is a pair of datagram sockets, one frame a datagram: the switch receives at LOCAL and sends to
    /// REMOTE. REMOTE need not be there yet, and may go and come back. if:NAME is a network interface; it must be
    /// promiscuous (`ip link set NAME promisc on`), must not merge frames (`ethtool -K NAME gro off lro off tso off gso
    /// off`), and takes the capability CAP_NET_RAW. Frames come in through AF_XDP where the kernel has it, the interface has
    /// one queue (`ethtool -L NAME combined 1`) and this process has the capabilities CAP_NET_ADMIN and CAP_BPF: then this machine
    /// itself receives nothing there any more. Else they come in through AF_PACKET. xdp:NAME and packet:NAME insist on one of both.
    #[arg(long = "port", value_name = "PORT", required = true)]
    ports: Vec<PortSpec>,

    /// A port with a dumper, to which copies of the packets of a test are mirrored; may be given several times
    ///
    /// PORT*3 is a dumper that gets three times as many as one with weight 1. Without dumpers the switch captures packets itself.
    #[arg(long = "dumper", value_name = "PORT[*WEIGHT]", value_parser = dumper_port)]
    dumpers: Vec<(PortSpec, NonZeroU32)>,

    /// Leave the UDP destination port of mirrored packets as it was
    ///
    /// Else each has another one, so that the cores of a dumper share the packets of one connection.
    #[arg(long, requires = "dumpers")]
    one_mirror_port: bool,

    /// Address to listen at for the orchestrator: IP:PORT (port 0: any free one) or unix:PATH
    ///
    /// The address is printed as the first line on stdout. Beyond this machine's own addresses it needs --keys.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9559")]
    listen: Address,

    #[command(flatten)]
    access: Access,

    /// Most packets captured of a test; further ones pass, and the test is invalid
    #[arg(long, value_name = "PACKETS", default_value_t = Limits::default().packets)]
    capture_packets: usize,

    /// Most memory for them, in MiB
    #[arg(long, value_name = "MIB", default_value_t = Limits::default().bytes >> 20)]
    capture_mib: usize,

    /// Die as soon as the thread that started this process does, however it ends
    #[arg(long)]
    die_with_parent: bool,
}

/// The port of a dumper, and its weight.
fn dumper_port(text: &str) -> Result<(PortSpec, NonZeroU32), String> {
    let (port, weight) = text.rsplit_once('*').unwrap_or((text, "1"));
    let weight = weight.parse().map_err(|_| {
        format!(
            "{weight:?} is no weight of a dumper; write a whole number from 1 to {} behind the *",
            u32::MAX
        )
    })?;
    Ok((port.parse().map_err(|error: SpecError| error.to_string())?, weight))
}

const EXAMPLES: &str = "\
Examples:
  # Between two QEMU guests, whose network is
  #   -netdev dgram,id=n0,local.type=unix,local.path=a-guest,remote.type=unix,remote.path=a-switch
  lumina-switch --port unix:a-switch:a-guest --port unix:b-switch:b-guest --listen unix:control

  # Between two hosts at two network cards
  lumina-switch --port if:eth1 --port if:eth2 --listen 192.0.2.1:9559 --keys keys

  # With two dumpers, of which the first gets three quarters of the mirrored packets
  lumina-switch --port if:eth1 --port if:eth2 --dumper 'if:eth3*3' --dumper if:eth4";

fn main() -> ExitCode {
    let parent = getppid();
    let arguments = Arguments::parse();
    if arguments.die_with_parent
        && let Err(why) = die_with(parent)
    {
        return failed(&why);
    }
    let ports = match <[PortSpec; 2]>::try_from(arguments.ports) {
        Ok(ports) => ports,
        Err(ports) => {
            eprintln!(
                "lumina-switch: {} ports are given, and the switch has two: --port REQUESTER --port RESPONDER",
                ports.len()
            );
            return ExitCode::from(2);
        }
    };
    let bytes = arguments.capture_mib.saturating_mul(1 << 20);
    let limits = Limits { packets: arguments.capture_packets, bytes };
    let (dumper_ports, weights) = arguments.dumpers.into_iter().unzip();
    let dumpers = Dumpers { weights, one_port: arguments.one_mirror_port };
    match serve(Options {
        ports,
        dumper_ports,
        dumpers,
        listen: arguments.listen,
        access: arguments.access,
        limits,
    }) {
        Ok(totals) => {
            tell(&totals);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error.to_string()),
    }
}

#[tokio::main(worker_threads = 2)]
async fn serve(options: Options) -> Result<Totals, Box<dyn std::error::Error>> {
    let stop = stopped()?;
    let listening = |address: &Address| {
        // A closed stdout is ignored.
        let _ = writeln!(std::io::stdout(), "{address}");
        let _ = std::io::stdout().flush();
    };
    let tell = &mut |told| eprintln!("lumina-switch: {told}");
    Ok(run(options, tell, listening, stop).await?)
}

fn tell(totals: &Totals) {
    for (at, name) in ["requester", "responder"].into_iter().enumerate() {
        let (received, sent, lost) = (totals.received[at], totals.sent[at], totals.lost[at]);
        eprintln!(
            "lumina-switch: {name}'s port: {received} frames received, {sent} sent, {} lost ({} for want of room, {} as \
             nobody was there, {} refused, {} before they were taken in)",
            lost.total(),
            lost.overflow,
            lost.absent,
            lost.refused,
            lost.missed
        );
    }
    for ((mirrored, lost), dumper) in totals.mirrored.iter().zip(&totals.unmirrored).zip(1..) {
        eprintln!("lumina-switch: dumper {dumper}: {mirrored} packets mirrored, {} lost", lost.total());
    }
}

fn failed(message: &str) -> ExitCode {
    eprintln!("lumina-switch: {message}");
    ExitCode::FAILURE
}
