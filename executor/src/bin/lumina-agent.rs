//! `lumina-agent`: see `lumina-agent --help`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use dumper::serve::tls::Role;
use dumper::serve::{Access, Address, stopped};
use executor::agent::{AgentService, DEFAULT_ADDRESS, Host, HostOptions, protocol, serve_port};
use executor::guests::FirstProcess;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

const ABOUT: &str = "Drives this host's RDMA stack for lumina-fuzz.";

const AFTER_HELP: &str = "\
The agent runs on each host of a testbed, beside the RDMA device under test. An orchestrator (lumina-fuzz) opens one \
test at a time; when it goes away, in whatever way, everything that the test made is destroyed. The agent needs \
libibverbs (Debian: apt-get install libibverbs1 ibverbs-providers), an RDMA device, and no root if the device's \
permissions and `ulimit -l` allow what tests need; RoCE parameters do need root.

It listens for programs of this host alone unless --listen says otherwise; then it needs --keys.

{LIMITS}

Try it without hardware: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0; lumina-agent
Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failed, 2 usage.";

#[derive(Parser)]
#[command(name = "lumina-agent", version, about = ABOUT, after_help = AFTER_HELP.replace("{LIMITS}", dumper::serve::HELP), max_term_width = 100)]
struct Cli {
    /// Address to listen on; port 0 takes a free one. The address is printed on stdout; 0.0.0.0 and ::, every
    /// address of the host, are warned of.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = DEFAULT_ADDRESS)]
    listen: SocketAddr,
    #[command(flatten)]
    access: Access,
    /// Be the first process of the guest in virtual time with this number, 1 or 2: set it up, and serve the
    /// orchestrator at the guest's port, as a network connection would take longer than a test.
    #[arg(long, env = "LUMINA_GUEST", value_name = "NUMBER", conflicts_with = "listen", value_parser = clap::value_parser!(u8).range(1..=2))]
    guest: Option<u8>,
    /// Print the version of the protocol that the agent speaks, and end.
    #[arg(long)]
    protocol: bool,
    /// RDMA device that tests may use, such as mlx5_0; may be given several times. All devices if left out.
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Most MiB of message memory of a test; never more than half of the host's free memory.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_memory: u32,
    /// Folder where the agent notes settings of the host before a test changes them, so that the next agent puts them
    /// back if this one dies.
    #[arg(long, value_name = "FOLDER", default_value_os_t = HostOptions::default().journals)]
    journals: PathBuf,
    /// Network device that gets the flow tables of tests (`[requester.offload]`), as filters of `tc flower`. Its qdisc clsact is
    /// the agent's own: one that is there is removed. Without this, tests with flow tables are refused.
    #[arg(long, value_name = "IF")]
    flow_tables: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.protocol {
        println!("{}", protocol());
        return ExitCode::SUCCESS;
    }
    if let Some(host) = cli.guest {
        return match FirstProcess(host).set_up().and_then(|port| serve_port(&host_of(&cli), &port)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&format!("guest {host}: {error}")),
        };
    }
    // One thread answers; a test has one of its own.
    let served = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let served = runtime.block_on(serve(cli));
            // A test whose driver does not let go has been waited for.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(format!("cannot wait for clients: {error}")),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => failed(&reason),
    }
}

fn failed(reason: &str) -> ExitCode {
    eprintln!("lumina-agent: {reason}");
    ExitCode::FAILURE
}

fn warn(what: &str) {
    eprintln!("lumina-agent: warning: {what}");
}

fn host_of(cli: &Cli) -> Host {
    let host = Host::new(HostOptions {
        devices: cli.device.clone(),
        max_memory: u64::from(cli.max_memory) << 20,
        journals: cli.journals.clone(),
        flow_tables: cli.flow_tables.clone(),
        ..HostOptions::default()
    });
    for note in host.notes() {
        eprintln!("lumina-agent: {note}");
    }
    host
}

async fn serve(cli: Cli) -> Result<(), String> {
    let stop = stopped().map_err(|error| format!("signals: {error}"))?;
    let keys =
        cli.access.open(&Address::Tcp(cli.listen), Role::Agent, warn).map_err(|error| error.to_string())?;
    let listener = TcpListener::bind(cli.listen).await.map_err(|error| {
        format!(
            "cannot listen on {}: {error}; is another agent running? --listen takes another address",
            cli.listen
        )
    })?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    // Only one agent listens there: what is left of another one is of one that died.
    let host = host_of(&cli);
    println!("lumina-agent listens on {address}");
    AgentService::new(host).serve(listener, keys.as_ref(), stop).await.map_err(|error| error.to_string())
}
