//! bmv2 with the P4 program between the guests of a pair, in a network namespace of its own.
//!
//! bmv2 has network interfaces for ports, guests have sockets: a software switch that nobody programs passes frames from one to the other.

use std::env;
use std::path::PathBuf;
use std::process::{ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use ::p4::Dumper as DumperPort;
use ::p4::client::{Device, ProgramClient};
use ::p4::entries::program::{Compiled, Wiring};
use corpus::Capabilities;
use dumper::pool::Pool;
use dumper::serve::Address;
use tokio::time::sleep;

use super::capabilities;
use super::switch::{Between, end_of, port_of};
use crate::guests::child::Child;
use crate::guests::error::At as _;
use crate::guests::programs::{DUMPER as DUMPER_PROGRAM, SWITCH, beside_this};
use crate::guests::{GuestError, RunFolder};
use crate::remote::{self, ProgramSwitch};

/// The folder of what p4c made of the program (`ci/p4`).
const COMPILED: &str = "LUMINA_P4";

/// bmv2's program, if it is not in `PATH`.
const PROGRAM: &str = "SIMPLE_SWITCH_GRPC";

/// Its number in P4Runtime.
const DEVICE_ID: u64 = 1;

/// Ports of the hosts and of the dumper.
const HOSTS: [u32; 2] = [1, 2];
const DUMPER: u32 = 3;

/// bmv2 counts microseconds since its start.
const UNIT_NS: u64 = 1_000;

/// Longest wait for its services.
const START: Duration = Duration::from_secs(20);

/// Interval of attempts to connect.
const AGAIN: Duration = Duration::from_millis(50);

/// In a namespace: cables, a software switch between each guest's socket and the host's end of a cable, a dumper at the third cable, and
/// bmv2 at the other ends. The first arguments are the dumper with its address, and the software switch with its pairs of sockets; the others are
/// bmv2's.
const NAMESPACE: &str = r#"
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
for cable in 1 2 3; do
    ip link add "h$cable" type veth peer name "s$cable"
    ip link set "h$cable" mtu 9200 up
    ip link set "s$cable" mtu 9200 up
done
"$1" --die-with-parent --interface h3 --listen "$2" >/dev/null &
shift 2
switch=$1
for cable in 1 2; do
    shift
    "$switch" --die-with-parent --port "$1" --port "packet:h$cable" --listen "unix:relay-$cable" >/dev/null &
done
shift
exec "$@" >/dev/null
"#;

/// bmv2, running. It ends when this is dropped, and with this process.
#[derive(Debug)]
pub struct P4Switch {
    process: Child,
    /// All that it has started ends with this.
    _stdin: ChildStdin,
    device: Device,
    /// Address of its control.
    address: Address,
    /// The dumper's.
    dumper: Address,
}

/// The switch with its program, as `ci/p4` has compiled it.
fn device() -> Result<Device, GuestError> {
    let compiled = env::var_os(COMPILED).map(PathBuf::from).ok_or_else(|| {
        let mend = "docs/p4.md says how the program is compiled";
        GuestError::Switch(format!("{COMPILED} does not say where the compiled P4 program is; {mend}"))
    })?;
    let read = |name: &str| {
        let path = compiled.join(name);
        std::fs::read(&path).at("read", &path)
    };
    let p4info = Compiled::read(read("v1model.p4info.bin")?);
    Ok(Device {
        id: DEVICE_ID,
        compiled: p4info.map_err(|error| GuestError::Switch(format!("v1model.p4info.bin: {error}")))?,
        config: read("v1model.json")?,
        wiring: Wiring { hosts: HOSTS, dumpers: vec![DumperPort { port: DUMPER, weight: 1 }] },
    })
}

impl P4Switch {
    /// Connects to bmv2 and to the dumper.
    async fn both(&self) -> Result<(ProgramClient, Pool), String> {
        let client = ProgramClient::connect(&self.address, None, self.device.clone()).await;
        let client = client.map_err(|error| error.to_string())?;
        let pool = Pool::connect(std::slice::from_ref(&self.dumper), None).await;
        Ok((client, pool.map_err(|error| error.to_string())?))
    }
}

impl Between for P4Switch {
    fn capabilities() -> Capabilities {
        ProgramSwitch::within(capabilities())
    }

    fn start(folder: &RunFolder) -> Result<Self, GuestError> {
        let (device, relay, dump) = (device()?, beside_this(SWITCH)?, beside_this(DUMPER_PROGRAM)?);
        let bmv2 = env::var(PROGRAM).unwrap_or_else(|_| "simple_switch_grpc".to_owned());
        let path = folder.path();
        let mut arguments: Vec<String> =
            ["--user", "--map-root-user", "--net", "sh", "-ec", NAMESPACE, "sh"].map(str::to_owned).into();
        let dumper = Address::Unix(path.join("dumper"));
        arguments.extend([dump.display().to_string(), dumper.to_string(), relay.display().to_string()]);
        arguments.extend([1, 2].map(|host| port_of(path, host).to_string()));
        arguments.push(bmv2);
        for (port, cable) in [HOSTS[0], HOSTS[1], DUMPER].into_iter().zip(1..) {
            arguments.extend(["--interface".to_owned(), format!("{port}@s{cable}")]);
        }
        let address = Address::Unix(path.join("control"));
        let (number, server) = (DEVICE_ID.to_string(), address.to_string());
        arguments.extend(
            ["--device-id", &number, "--no-p4", "--", "--grpc-server-addr", &server].map(str::to_owned),
        );
        let (process, stdin, _) = Child::spawn_kept(path, "unshare", arguments)?;
        Ok(Self { process, _stdin: stdin, device, address, dumper })
    }

    async fn connect(&self) -> Result<remote::Switch, GuestError> {
        let begun = Instant::now();
        loop {
            let why = match self.both().await {
                Ok((client, pool)) => {
                    let switch = ProgramSwitch::new(client, pool, UNIT_NS);
                    return Ok(remote::Switch::Program(Box::new(switch)));
                }
                Err(why) => why,
            };
            if begun.elapsed() > START || self.process.ended().is_some() {
                return Err(GuestError::Switch(format!("{why}: {}", self.process.stderr())));
            }
            sleep(AGAIN).await;
        }
    }

    async fn end(&self) -> ExitStatus {
        end_of(&self.process).await
    }
}
