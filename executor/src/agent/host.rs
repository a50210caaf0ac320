//! The host that an agent runs on.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use nix::sys::sysinfo::sysinfo;
use tonic::Status;

use super::journal;
use super::kept::Kept;
use super::roots::Roots;
use super::tc::Interface;
use crate::lock::locked;
use crate::verbs::{Context, DeviceList, Verbs};

/// Memory of messages that a test may have by default, if the host has twice as much.
pub(super) const DEFAULT_MAX_MEMORY: u64 = 1 << 30;

/// Folder of an agent's journals of settings: state of a service (Filesystem Hierarchy Standard 3.0, 5.8), which outlives the
/// agent.
const JOURNALS: &str = "/var/lib/lumina-agent";

/// Lines about settings that are kept: what could not be put back is told again for each test.
const MAX_NOTES: usize = 64;

/// Options of an agent for its host.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The devices that tests may use; all if the list is empty.
    pub devices: Vec<String>,
    /// Most bytes of message memory of a test.
    pub max_memory: u64,
    /// Where the kernel's file systems are.
    pub roots: Roots,
    /// Folder of the journals by which settings are put back after a crash of the agent.
    pub journals: PathBuf,
    /// Network device that gets the flow tables of tests; none refuses tests with one. Its qdisc `clsact` is the agent's own.
    pub flow_tables: Option<String>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            max_memory: DEFAULT_MAX_MEMORY,
            roots: Roots::default(),
            journals: JOURNALS.into(),
            flow_tables: None,
        }
    }
}

/// The host that an agent runs on.
pub struct Host {
    options: HostOptions,
    /// The library, or the reason why it cannot be used.
    verbs: Result<Verbs, String>,
    /// Another number for each process.
    instance: u64,
    /// What became of the settings of agents that died.
    notes: Mutex<Vec<String>>,
    /// The network device that gets flow tables.
    flow_tables: Option<Arc<Interface>>,
}

impl Host {
    /// Finds the RDMA stack, puts back the settings of an agent that died and removes its flow table. A host without a stack is described
    /// as such.
    #[must_use]
    pub fn new(options: HostOptions) -> Self {
        let verbs = Verbs::load().map_err(|error| error.to_string());
        let flow_tables = options.flow_tables.clone().map(|name| Arc::new(Interface::new(name)));
        let host = Self { options, verbs, instance: rand::random(), notes: Mutex::default(), flow_tables };
        host.recover();
        // A test tries again, and is refused if this fails again.
        if let Some(Err(why)) = host.flow_tables.as_ref().map(|interface| interface.clear()) {
            locked(&host.notes).push(why);
        }
        host
    }

    pub(super) const fn instance(&self) -> u64 {
        self.instance
    }

    /// Puts back the settings of agents that died, if there are any.
    pub(super) fn recover(&self) {
        let mut notes = locked(&self.notes);
        for note in journal::recover(&self.options.journals, &self.options.roots) {
            if notes.len() < MAX_NOTES && !notes.contains(&note) {
                notes.push(note);
            }
        }
    }

    /// What became of the settings of agents that died, since this one started.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        locked(&self.notes).clone()
    }

    /// The network device that gets flow tables.
    pub(super) const fn flow_tables(&self) -> Option<&Arc<Interface>> {
        self.flow_tables.as_ref()
    }

    /// Where the kernel's file systems are.
    pub(super) const fn roots(&self) -> &Roots {
        &self.options.roots
    }

    /// Folder of the journals of settings.
    pub(super) fn journals(&self) -> &Path {
        &self.options.journals
    }

    /// Devices that tests may use, or the reason why there is none and the remedy.
    pub(super) fn devices(&self) -> Result<(DeviceList, Vec<String>), String> {
        let verbs = self.verbs.as_ref().map_err(Clone::clone)?;
        let list = verbs.devices().map_err(|error| error.to_string())?;
        let all: Vec<_> = list.names().collect();
        if all.is_empty() {
            return Err("the host has no RDMA device; load its driver, or make one with \
                        `modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IF`"
                .to_owned());
        }
        let may_use = |name: &String| self.options.devices.is_empty() || self.options.devices.contains(name);
        let (usable, others): (Vec<_>, Vec<_>) = all.into_iter().partition(may_use);
        if usable.is_empty() {
            return Err(format!(
                "the host has none of the devices that the agent was started for ({}); it has {}",
                self.options.devices.join(", "),
                others.join(", ")
            ));
        }
        Ok((list, usable))
    }

    /// Opens the device that a test names, or the only one; its name, and the device. The list of devices is kept while
    /// its devices can be opened.
    pub(super) fn open(&self, kept: &mut Kept, name: &str) -> Result<(String, Rc<Context>), Status> {
        if let Some(devices) = &kept.devices
            && let Ok(opened) = open_of(devices, name)
        {
            return Ok(opened);
        }
        let devices = self.devices().map_err(Status::failed_precondition)?;
        let opened = open_of(&devices, name)?;
        kept.devices = Some(devices);
        Ok(opened)
    }

    /// Most bytes of message memory for a test that asks for so many. The unused memory is known at once; the
    /// kernel takes longer to report the memory that it could free.
    pub(super) fn max_memory_for(&self, asked: u64) -> u64 {
        let unused = sysinfo().map_or(0, |memory| memory.ram_unused());
        if asked <= unused / 2 { self.options.max_memory } else { self.max_memory() }
    }

    /// Most bytes of message memory that a test may have now: no more than half of the free memory.
    pub(super) fn max_memory(&self) -> u64 {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = available_bytes(&text).unwrap_or(u64::MAX);
        self.options.max_memory.min(available / 2)
    }
}

/// Opens the device of a list that a test names, or the only one.
fn open_of((list, names): &(DeviceList, Vec<String>), name: &str) -> Result<(String, Rc<Context>), Status> {
    let all = || names.join(", ");
    let refuse = |what: String| Err(Status::failed_precondition(what));
    let device = match (names.iter().find(|known| *known == name), &names[..]) {
        (Some(named), _) => named,
        (None, [only]) if name.is_empty() => only,
        (None, _) if name.is_empty() => {
            return refuse(format!("the host has several RDMA devices; name one of them: {}", all()));
        }
        (None, _) => return refuse(format!("the host has no RDMA device {name}; it has {}", all())),
    };
    let context = list.open(device).map_err(|error| Status::failed_precondition(error.to_string()))?;
    Ok((device.clone(), context))
}

/// Release of the running kernel.
pub(super) fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// The kernel's identifier of this boot (`random(4)`).
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// `MemAvailable` of `/proc/meminfo`.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_agent_that_starts_puts_back_what_the_last_one_left() {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| folder.path().join(name);
        let roots = Roots { sys: below("sys"), debug: below("debug"), config: below("config") };
        let setting = below("config/irdma/irdma0/roce_dcqcn_enable");
        fs::create_dir_all(setting.parent().unwrap()).unwrap();
        fs::write(&setting, "0\n").unwrap();
        let journal = below("settings-7-0");
        fs::write(&journal, "lumina-agent settings 1\nconfig irdma/irdma0/roce_dcqcn_enable 1\n").unwrap();
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();

        let options = HostOptions { roots, journals: folder.path().to_owned(), ..HostOptions::default() };
        let host = Host::new(options.clone());
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1");
        assert!(
            host.notes()[0].ends_with("roce_dcqcn_enable: 1 again, as it was before a test whose agent died")
        );
        assert_eq!(Host::new(options).notes(), Vec::<String>::new());
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:  245760 kB\nMemFree: 1 kB\nMemAvailable:     180224 kB\n";
        assert_eq!(available_bytes(text), Some(180_224 << 10));
        assert_eq!(available_bytes("MemTotal: 5 kB"), None);
        assert_eq!(available_bytes("MemAvailable: 99999999999999999999 kB"), None);
    }
}
