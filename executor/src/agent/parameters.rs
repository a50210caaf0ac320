//! RoCE parameters of a host: set where its driver has them, put back when the test ends.

use std::path::{Path, PathBuf};

use corpus::{Host, RoceParameters};

use super::families::{Family, Names, Place, Setting};
use super::journal::{Entry, Journal, set};
use super::proto::{Parameter, ParameterState};
use super::roots::Roots;
use super::value;

/// Name of an RDMA device's driver in messages, where its family is not known.
const UNKNOWN: &str = "the agent knows no settings of this device's driver; use the vendor's own tool";

/// A port whose parameters are read and set.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) roots: &'a Roots,
    pub(super) family: Option<&'static Family>,
    pub(super) names: &'a Names,
}

/// A file of a setting.
struct SettingFile {
    place: &'static Place,
    path: String,
    file: PathBuf,
}

impl Target<'_> {
    /// The files of a setting: those of the first of its places that is there.
    fn files(&self, setting: &'static Setting) -> Vec<SettingFile> {
        let below = |place: &'static Place| {
            let root = self.roots.of(place.root);
            let paths = place.paths(self.names).into_iter();
            let files = paths.map(|path| SettingFile { place, file: root.join(&path), path });
            files.filter(|one| one.file.exists()).collect::<Vec<_>>()
        };
        setting.places.iter().map(below).find(|files| !files.is_empty()).unwrap_or_default()
    }

    /// Parameters that the port has, and those that it has not.
    pub(super) fn available(&self) -> Vec<Parameter> {
        let Some(family) = self.family else { return vec![unknown()] };
        let look = |setting: &'static Setting| {
            let files = self.files(setting);
            let Some(first) = files.first() else { return absent(setting) };
            match files.iter().find_map(|one| number(&one.file).err()) {
                Some(reason) => parameter(setting, ParameterState::Failed, reason),
                None => parameter(setting, ParameterState::Present, first.file.display().to_string()),
            }
        };
        family.settings.iter().map(look).collect()
    }
}

fn parameter(setting: &Setting, state: ParameterState, detail: String) -> Parameter {
    Parameter { name: setting.name().to_owned(), state: state.into(), detail }
}

fn absent(setting: &Setting) -> Parameter {
    parameter(setting, ParameterState::Absent, setting.otherwise.to_owned())
}

fn unknown() -> Parameter {
    Parameter {
        name: "roce-parameters".to_owned(),
        state: ParameterState::Absent.into(),
        detail: UNKNOWN.to_owned(),
    }
}

/// The value of a setting.
fn number(file: &Path) -> Result<u32, String> {
    let number = value::number(file)?;
    u32::try_from(number).map_err(|_| value::of(file, format!("{number} is no number of 32 bits")))
}

/// The value that a test asks for.
fn wanted(setting: &Setting, roce: &RoceParameters) -> Option<u32> {
    u32::try_from(setting.key.value(roce)?).ok()
}

/// Former values of the parameters that were set, put back on drop.
#[derive(Debug)]
pub(super) struct Applied {
    roots: Roots,
    /// Where the former values are after a crash; none before the first value changes.
    journal: Option<Journal>,
    /// In the order in which they were set.
    previous: Vec<Entry>,
}

impl Applied {
    /// Sets a host's parameters at a port, with their former values in a journal in a folder; returns the outcome of each.
    pub(super) fn new(host: &Host, target: &Target<'_>, journals: &Path) -> (Self, Vec<Parameter>) {
        let mut applied = Self { roots: target.roots.clone(), journal: None, previous: Vec::new() };
        let mut report = match target.family {
            None => vec![unknown()],
            Some(family) => {
                let mut taken = Vec::new();
                let each = family.settings.iter();
                each.map(|setting| applied.apply(setting, &host.roce, target, journals, &mut taken)).collect()
            }
        };
        if host.ets.is_some() {
            report.push(Parameter {
                name: "ets".to_owned(),
                state: ParameterState::Absent.into(),
                detail: "the agent does not set it; use `dcb ets`".to_owned(),
            });
        }
        (applied, report)
    }

    /// Sets one parameter; `taken` are the files that others have set, and their values.
    fn apply(
        &mut self,
        setting: &'static Setting,
        roce: &RoceParameters,
        target: &Target<'_>,
        journals: &Path,
        taken: &mut Vec<(PathBuf, u32)>,
    ) -> Parameter {
        let files = target.files(setting);
        let (Some(first), Some(value)) = (files.first(), wanted(setting, roce)) else {
            return absent(setting);
        };
        let detail = format!("{value} in {}", first.file.display());
        for one in files {
            let other = taken.iter().find(|(file, taken)| *file == one.file && *taken != value);
            let done = match other {
                Some((file, taken)) => Err(value::of(
                    file,
                    format!("{taken} for another parameter: the driver has one switch for both"),
                )),
                None => self.write(&one, value, journals),
            };
            if let Err(reason) = done {
                return parameter(setting, ParameterState::Failed, reason);
            }
            taken.push((one.file, value));
        }
        parameter(setting, ParameterState::Applied, detail)
    }

    /// Writes a value, if the file has another one, and notes that first.
    fn write(&mut self, one: &SettingFile, value: u32, journals: &Path) -> Result<(), String> {
        let before = number(&one.file)?;
        if before == value {
            return Ok(());
        }
        let entry = Entry::new(one.place, one.path.clone(), before);
        self.note(&entry, journals).map_err(|error| {
            let journals = journals.display();
            value::of(&one.file, format!("not set, as its value cannot be noted in {journals}: {error}"))
        })?;
        // It is put back even if the driver has taken half of it.
        self.previous.push(entry);
        set(one.place, &one.file, value)
    }

    fn note(&mut self, entry: &Entry, journals: &Path) -> std::io::Result<()> {
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => none.insert(Journal::create(journals)?),
        };
        journal.note(entry)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        let mut failed = false;
        for entry in self.previous.drain(..).rev() {
            // If the device has gone since, there is nothing to put back.
            failed |= entry.put_back(&self.roots).is_err();
        }
        // A journal that stays is a dead agent's as soon as it is closed: its values are tried again, and told.
        if !failed && let Some(journal) = self.journal.take() {
            journal.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use corpus::{Cidr, config::default_address};
    use tempfile::TempDir;

    use super::super::families::of_driver;
    use super::super::journal::recover;
    use super::*;

    fn state_of(report: &[Parameter], name: &str) -> ParameterState {
        report.iter().find(|parameter| parameter.name == name).unwrap().state()
    }

    fn detail_of<'a>(report: &'a [Parameter], name: &str) -> &'a str {
        &report.iter().find(|parameter| parameter.name == name).unwrap().detail
    }

    /// A host with one NIC.
    struct Nic {
        folder: TempDir,
        roots: Roots,
        family: Option<&'static Family>,
        names: Names,
    }

    impl Nic {
        fn new(driver: &str, device: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let below = |name: &str| folder.path().join(name);
            let roots = Roots { sys: below("sys"), debug: below("debug"), config: below("config") };
            let names = Names {
                device: device.into(),
                port: 1,
                function: "0000:04:00.0".into(),
                netdev: "eth0".into(),
            };
            Self { roots, family: of_driver(driver), names, folder }
        }

        /// ConnectX with the driver of MLNX_OFED.
        fn ofed() -> Self {
            let nic = Self::new("mlx5_core", "mlx5_0");
            for priority in 0..8 {
                nic.put(&format!("sys/class/net/eth0/ecn/roce_np/enable/{priority}"), "1\n");
                nic.put(&format!("sys/class/net/eth0/ecn/roce_rp/enable/{priority}"), "1\n");
            }
            nic.put("sys/class/net/eth0/ecn/roce_np/min_time_between_cnps", "4\n");
            nic
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.folder.path().join(path)).unwrap()
        }

        fn target(&self) -> Target<'_> {
            Target { roots: &self.roots, family: self.family, names: &self.names }
        }

        fn journals(&self) -> PathBuf {
            self.folder.path().join("journals")
        }

        fn apply(&self, host: &Host) -> (Applied, Vec<Parameter>) {
            Applied::new(host, &self.target(), &self.journals())
        }
    }

    /// A test that wants both ends of DCQCN off.
    fn host() -> Host {
        let address: Cidr = default_address(corpus::Role::Requester);
        let mut host = Host::new("reference", address);
        host.roce.dcqcn_np_enable = false;
        host.roce.dcqcn_rp_enable = false;
        host.roce.min_time_between_cnps = 50;
        host
    }

    const NP: &str = "sys/class/net/eth0/ecn/roce_np/enable/7";
    const INTERVAL: &str = "sys/class/net/eth0/ecn/roce_np/min_time_between_cnps";
    const DEBUG_INTERVAL: &str = "debug/mlx5/0000:04:00.0/cc_params/np_min_time_between_cnps";

    #[test]
    fn what_is_there_is_set_and_put_back() {
        let nic = Nic::ofed();
        let (applied, report) = nic.apply(&host());
        assert_eq!((nic.read(NP), nic.read(INTERVAL)), ("0".into(), "50".into()));
        for (name, state) in [
            ("dcqcn-np-enable", ParameterState::Applied),
            ("dcqcn-rp-enable", ParameterState::Applied),
            ("min-time-between-cnps", ParameterState::Applied),
            ("slow-restart", ParameterState::Absent),
        ] {
            assert_eq!(state_of(&report, name), state, "{name}");
        }
        assert!(detail_of(&report, "slow-restart").contains("mlxreg"));
        drop(applied);
        assert_eq!((nic.read(NP), nic.read(INTERVAL)), ("1".into(), "4".into()));
        assert_eq!(fs::read_dir(nic.journals()).unwrap().count(), 0);
    }

    #[test]
    fn what_an_agent_that_dies_has_set_is_put_back_by_the_next() {
        let nic = Nic::ofed();
        let (mut applied, _) = nic.apply(&host());
        // What a crash leaves: a journal that nobody holds.
        drop(applied.journal.take());
        applied.previous.clear();
        drop(applied);
        assert_eq!((nic.read(NP), nic.read(INTERVAL)), ("0".into(), "50".into()));
        assert_eq!(recover(&nic.journals(), &nic.roots).len(), 17);
        assert_eq!((nic.read(NP), nic.read(INTERVAL)), ("1".into(), "4".into()));
        assert_eq!(fs::read_dir(nic.journals()).unwrap().count(), 0);
    }

    #[test]
    fn a_test_that_changes_nothing_needs_no_journal() {
        let nic = Nic::ofed();
        let mut host = host();
        host.roce = RoceParameters::default();
        let (_, report) = nic.apply(&host);
        assert_eq!(state_of(&report, "dcqcn-np-enable"), ParameterState::Applied);
        assert!(!nic.journals().exists());
    }

    #[test]
    fn nothing_is_set_whose_value_cannot_be_noted() {
        let nic = Nic::ofed();
        nic.put("journals", "no folder");
        let (_, report) = nic.apply(&host());
        assert_eq!(state_of(&report, "min-time-between-cnps"), ParameterState::Failed);
        let detail = detail_of(&report, "min-time-between-cnps");
        assert!(detail.contains("cannot be noted") && detail.contains("min_time_between_cnps"), "{detail}");
        assert_eq!(nic.read(INTERVAL), "4\n");
    }

    #[test]
    fn linux_has_the_interval_of_mlx5_alone() {
        let nic = Nic::new("mlx5_core", "mlx5_0");
        nic.put(DEBUG_INTERVAL, "4\n");
        let (applied, report) = nic.apply(&host());
        assert_eq!(nic.read(DEBUG_INTERVAL), "50");
        assert_eq!(state_of(&report, "dcqcn-rp-enable"), ParameterState::Absent);
        drop(applied);
        assert_eq!(nic.read(DEBUG_INTERVAL), "4");
    }

    #[test]
    fn irdma_has_one_switch_for_both_ends() {
        const SWITCH: &str = "config/irdma/irdma0/roce_dcqcn_enable";
        let nic = Nic::new("ice", "irdma0");
        let report = nic.target().available();
        assert_eq!(state_of(&report, "dcqcn-rp-enable"), ParameterState::Absent);
        assert!(detail_of(&report, "dcqcn-rp-enable").contains("/sys/kernel/config/irdma"));

        nic.put(SWITCH, "1\n");
        let (applied, report) = nic.apply(&host());
        assert_eq!(nic.read(SWITCH), "0");
        assert_eq!(state_of(&report, "dcqcn-np-enable"), ParameterState::Applied);
        drop(applied);
        assert_eq!(nic.read(SWITCH), "1");

        let mut unequal = host();
        unequal.roce.dcqcn_rp_enable = true;
        let (_, report) = nic.apply(&unequal);
        let states = ["dcqcn-rp-enable", "dcqcn-np-enable"].map(|name| state_of(&report, name));
        assert!(states.contains(&ParameterState::Applied) && states.contains(&ParameterState::Failed));
        assert_eq!(nic.read(SWITCH), "1");
    }

    #[test]
    fn bnxt_re_takes_hexadecimal_numbers_when_they_are_applied() {
        const SWITCH: &str = "config/bnxt_re/bnxt_re0/ports/1/cc/ecn_enable";
        const APPLY: &str = "config/bnxt_re/bnxt_re0/ports/1/cc/apply";
        let nic = Nic::new("bnxt_en", "bnxt_re0");
        nic.put(SWITCH, "0x1\n");
        let (applied, report) = nic.apply(&host());
        assert_eq!(state_of(&report, "dcqcn-rp-enable"), ParameterState::Failed);
        assert!(detail_of(&report, "dcqcn-rp-enable").contains("cc/apply: No such file"));
        nic.put(APPLY, "");
        drop(applied);
        assert_eq!((nic.read(SWITCH), nic.read(APPLY)), ("0x1".into(), "0x1".into()));

        nic.put("debug/bnxt_re/0000:04:00.0/cc_config/enable_cc", "1\n");
        let (_applied, _) = nic.apply(&host());
        assert_eq!(
            nic.read("debug/bnxt_re/0000:04:00.0/cc_config/enable_cc"),
            "0",
            "the kernel's own goes first"
        );
        assert_eq!(nic.read(SWITCH), "0x1");
    }

    #[test]
    fn a_value_that_is_none_is_told_and_left_alone() {
        for text in [&b"on\n"[..], b"\xff", b"", b"4294967296\n", &[b'4'; 8192]] {
            let nic = Nic::ofed();
            let file = nic.folder.path().join(INTERVAL);
            fs::write(&file, text).unwrap();
            let (applied, report) = nic.apply(&host());
            for report in [report, nic.target().available()] {
                assert_eq!(state_of(&report, "min-time-between-cnps"), ParameterState::Failed);
                assert!(detail_of(&report, "min-time-between-cnps").starts_with(&file.display().to_string()));
            }
            drop(applied);
            assert_eq!(fs::read(&file).unwrap(), text);
        }
        let nic = Nic::new("mlx5_core", "mlx5_0");
        fs::create_dir_all(nic.folder.path().join(DEBUG_INTERVAL)).unwrap();
        let (_, report) = nic.apply(&host());
        assert!(detail_of(&report, "min-time-between-cnps").contains("directory"));
    }

    #[test]
    fn a_device_says_what_it_has() {
        let nic = Nic::ofed();
        let report = nic.target().available();
        assert_eq!(report.len(), 5);
        assert_eq!(state_of(&report, "dcqcn-np-enable"), ParameterState::Present);
        let (mut host, strange) = (host(), Nic::new("qede", "qedr0"));
        host.ets = Some(corpus::Ets::default());
        let (_, report) = strange.apply(&host);
        assert_eq!(state_of(&report, "roce-parameters"), ParameterState::Absent);
        assert_eq!(state_of(&report, "ets"), ParameterState::Absent);
        assert_eq!(strange.target().available().len(), 1);
    }
}
