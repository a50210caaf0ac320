//! Connections to the machines of a testbed.

use std::path::Path;

use corpus::Role;
use dumper::pool::Pool;
use dumper::serve::Address;
use dumper::serve::tls::{self, Keys};
use p4::Dumper;
use p4::client::{Device, ProgramClient, SwitchClient};
use p4::entries::program::{Compiled, Wiring};
use tokio::runtime::Runtime;

use super::PhysicalError;
use super::file::{SwitchKind, TestbedFile};
use super::host::HostFacts;
use crate::agent::{AgentClient, Timeouts};
use crate::remote::{ProgramSwitch, RemoteError, Switch};

/// Most bytes of a compiled program: those of Tofino have some MB.
const PROGRAM_BYTES: u64 = 64 << 20;

/// A thread for connections.
pub(super) fn runtime() -> Result<Runtime, PhysicalError> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// The keys that a file names.
pub(super) fn keys_of(file: &TestbedFile) -> Result<Option<Keys>, PhysicalError> {
    let load = |folder: &std::path::PathBuf| Keys::load(&file.beside(folder), tls::Role::Orchestrator);
    Ok(file.keys.as_ref().map(load).transpose()?)
}

/// Connects to the agent of a host, and has it described.
pub(super) async fn agent(
    file: &TestbedFile,
    keys: Option<&Keys>,
    role: Role,
) -> Result<(AgentClient, HostFacts), PhysicalError> {
    let entry = file.host(role);
    let at = |source| PhysicalError::Agent { role, source };
    let mut client = AgentClient::connect(&entry.agent, keys, Timeouts::default()).await.map_err(at)?;
    let facts = HostFacts::of(role, entry, &client.describe().await.map_err(at)?)?;
    Ok((client, facts))
}

/// Keys of the switch: none where its file says so.
pub(super) const fn of_switch<'a>(file: &TestbedFile, keys: Option<&'a Keys>) -> Option<&'a Keys> {
    if file.switch.insecure { None } else { keys }
}

/// Connects to the dumpers.
pub(super) async fn pool(file: &TestbedFile, keys: Option<&Keys>) -> Result<Pool, PhysicalError> {
    let addresses: Vec<Address> = file.dumpers.iter().map(|dumper| dumper.address.clone()).collect();
    Ok(Pool::connect(&addresses, keys).await.map_err(RemoteError::Dumper)?)
}

/// Connects to the switch, of which this then is the primary, and to the dumpers.
pub(super) async fn switch(file: &TestbedFile, keys: Option<&Keys>) -> Result<Switch, PhysicalError> {
    let (control, of_switch) = (&file.switch.control, of_switch(file, keys));
    let failed = |error| PhysicalError::Between(RemoteError::Switch(error));
    let unit_ns = match file.switch.kind {
        SwitchKind::Software => {
            let client = Box::new(SwitchClient::connect(control, of_switch).await.map_err(failed)?);
            return Ok(if file.dumpers.is_empty() {
                Switch::Software(client)
            } else {
                Switch::Mirroring(client, pool(file, keys).await?)
            });
        }
        SwitchKind::Bmv2 => 1_000,
        SwitchKind::Tofino => 1,
    };
    let client = ProgramClient::connect(control, of_switch, device(file)?).await.map_err(failed)?;
    let pool = pool(file, keys).await?;
    Ok(Switch::Program(Box::new(ProgramSwitch::new(client, pool, unit_ns))))
}

/// A switch with the P4 program.
fn device(file: &TestbedFile) -> Result<Device, PhysicalError> {
    let missing = |field: &str| PhysicalError::Program {
        file: file.path.display().to_string(),
        why: format!("switch.{field} is missing"),
    };
    let entry = &file.switch;
    let read = |path: &Path| {
        let path = file.beside(path);
        let wrong = |why: String| PhysicalError::Program { file: path.display().to_string(), why };
        let bytes = read_bounded(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        Ok::<_, PhysicalError>((bytes, path.display().to_string()))
    };
    let (p4info, name) = read(entry.p4info.as_ref().ok_or_else(|| missing("p4info"))?)?;
    let compiled = Compiled::read(p4info)
        .map_err(|error| PhysicalError::Program { file: name, why: error.to_string() })?;
    let (config, _) = read(entry.program.as_ref().ok_or_else(|| missing("program"))?)?;
    let dumpers = file.dumpers.iter().map(|dumper| {
        let port = dumper.port.ok_or_else(|| missing("dumper.port"))?;
        Ok(Dumper { port, weight: dumper.weight.map_or(1, std::num::NonZeroU32::get) })
    });
    let wiring = Wiring {
        hosts: entry.ports.ok_or_else(|| missing("ports"))?,
        dumpers: dumpers.collect::<Result<_, PhysicalError>>()?,
    };
    Ok(Device { id: entry.device_id.ok_or_else(|| missing("device-id"))?, compiled, config, wiring })
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    corpus::open_regular(path)?.take(PROGRAM_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PROGRAM_BYTES {
        return Err(std::io::Error::other(format!("it has more than {PROGRAM_BYTES} bytes")));
    }
    Ok(bytes)
}
