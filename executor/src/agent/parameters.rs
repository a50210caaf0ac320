//! RoCE parameters of a host: set where the driver has them, put back when the test ends.

use std::fs;
use std::path::{Path, PathBuf};

use corpus::{Host, RoceParameters};

use super::proto::{Parameter, ParameterState};

/// Priorities of Ethernet, each of which has a switch of its own.
const PRIORITIES: u8 = 8;

/// A parameter of a test, and where mlx5 has it below the network device's folder.
struct Knob {
    name: &'static str,
    /// File, or folder of one file for each priority; none where no interface of the kernel sets it.
    path: Option<&'static str>,
    per_priority: bool,
    value: fn(&RoceParameters) -> u32,
}

const KNOBS: [Knob; 5] = [
    Knob {
        name: "dcqcn-rp-enable",
        path: Some("ecn/roce_rp/enable"),
        per_priority: true,
        value: |roce| roce.dcqcn_rp_enable.into(),
    },
    Knob {
        name: "dcqcn-np-enable",
        path: Some("ecn/roce_np/enable"),
        per_priority: true,
        value: |roce| roce.dcqcn_np_enable.into(),
    },
    Knob {
        name: "min-time-between-cnps",
        path: Some("ecn/roce_np/min_time_between_cnps"),
        per_priority: false,
        value: |roce| roce.min_time_between_cnps,
    },
    Knob {
        name: "adaptive-retrans",
        path: None,
        per_priority: false,
        value: |roce| roce.adaptive_retrans.into(),
    },
    Knob { name: "slow-restart", path: None, per_priority: false, value: |roce| roce.slow_restart.into() },
];

impl Knob {
    /// The files that set it, as far as they are there.
    fn files(&self, netdev: &Path) -> Vec<PathBuf> {
        let Some(path) = self.path.map(|path| netdev.join(path)).filter(|path| path.exists()) else {
            return Vec::new();
        };
        let all = if self.per_priority {
            (0..PRIORITIES).map(|priority| path.join(priority.to_string())).collect()
        } else {
            vec![path]
        };
        all.into_iter().filter(|file| file.is_file()).collect()
    }

    fn absent(&self) -> Parameter {
        let detail = match self.path {
            Some(path) => format!("the network device has no {path}"),
            None => "no interface of the kernel sets it; use the vendor's own tool".to_owned(),
        };
        Parameter { name: self.name.to_owned(), state: ParameterState::Absent.into(), detail }
    }
}

/// Parameters that a network device has.
pub(super) fn available(netdev: &Path) -> Vec<Parameter> {
    let look = |knob: &Knob| match knob.files(netdev).first() {
        None => knob.absent(),
        Some(file) => {
            let detail = file.display().to_string();
            Parameter { name: knob.name.to_owned(), state: ParameterState::Present.into(), detail }
        }
    };
    KNOBS.iter().map(look).collect()
}

/// Former values of the parameters that were set, restored on drop.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Files and their former contents, in the order in which they were written.
    previous: Vec<(PathBuf, String)>,
}

impl Applied {
    /// Sets a host's parameters at a network device; returns the outcome of each.
    pub(super) fn new(host: &Host, netdev: &Path) -> (Self, Vec<Parameter>) {
        let mut applied = Self::default();
        let mut report: Vec<_> = KNOBS.iter().map(|knob| applied.apply(knob, &host.roce, netdev)).collect();
        if host.ets.is_some() {
            report.push(Parameter {
                name: "ets".to_owned(),
                state: ParameterState::Absent.into(),
                detail: "the agent does not set it; use `dcb ets`".to_owned(),
            });
        }
        (applied, report)
    }

    fn apply(&mut self, knob: &Knob, roce: &RoceParameters, netdev: &Path) -> Parameter {
        let files = knob.files(netdev);
        let Some(first) = files.first() else { return knob.absent() };
        let value = (knob.value)(roce).to_string();
        let mut parameter = Parameter {
            name: knob.name.to_owned(),
            state: ParameterState::Applied.into(),
            detail: format!("{value} in {}", first.display()),
        };
        for file in &files {
            if let Err(error) = self.write(file, &value) {
                parameter.state = ParameterState::Failed.into();
                parameter.detail = format!("{}: {error}", file.display());
            }
        }
        parameter
    }

    fn write(&mut self, file: &Path, value: &str) -> std::io::Result<()> {
        let before = fs::read_to_string(file)?.trim().to_owned();
        if before != value {
            fs::write(file, value)?;
            self.previous.push((file.to_owned(), before));
        }
        Ok(())
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for (file, value) in self.previous.drain(..).rev() {
            // It could be written before; if the device has gone since, there is nothing to put back.
            let _ = fs::write(file, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use corpus::{Cidr, config::default_address};

    use super::*;

    fn state_of(report: &[Parameter], name: &str) -> ParameterState {
        report.iter().find(|parameter| parameter.name == name).unwrap().state()
    }

    /// A network device as mlx5 shows it, and a test that wants notification points off.
    fn device() -> (tempfile::TempDir, Host) {
        let netdev = tempfile::tempdir().unwrap();
        let np = netdev.path().join("ecn/roce_np");
        fs::create_dir_all(np.join("enable")).unwrap();
        for priority in 0..8 {
            fs::write(np.join("enable").join(priority.to_string()), "1\n").unwrap();
        }
        fs::write(np.join("min_time_between_cnps"), "4\n").unwrap();
        let address: Cidr = default_address(corpus::Role::Requester);
        let mut host = Host::new("reference", address);
        host.roce.dcqcn_np_enable = false;
        host.roce.min_time_between_cnps = 50;
        (netdev, host)
    }

    #[test]
    fn what_is_there_is_set_and_put_back() {
        let (netdev, host) = device();
        let file = |name: &str| fs::read_to_string(netdev.path().join("ecn/roce_np").join(name)).unwrap();
        let (applied, report) = Applied::new(&host, netdev.path());
        assert_eq!((file("enable/0").as_str(), file("enable/7").as_str()), ("0", "0"));
        assert_eq!(file("min_time_between_cnps"), "50");
        assert_eq!(state_of(&report, "dcqcn-np-enable"), ParameterState::Applied);
        assert_eq!(state_of(&report, "dcqcn-rp-enable"), ParameterState::Absent);
        assert_eq!(state_of(&report, "slow-restart"), ParameterState::Absent);
        drop(applied);
        assert_eq!((file("enable/0").as_str(), file("enable/7").as_str()), ("1", "1"));
        assert_eq!(file("min_time_between_cnps"), "4");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told() {
        let (netdev, host) = device();
        let file = netdev.path().join("ecn/roce_np/min_time_between_cnps");
        fs::write(&file, [0xff]).unwrap();
        let (_, report) = Applied::new(&host, netdev.path());
        assert_eq!(state_of(&report, "min-time-between-cnps"), ParameterState::Failed);
    }

    #[test]
    fn a_device_says_what_it_has() {
        let (netdev, mut host) = device();
        let report = available(netdev.path());
        assert_eq!(report.len(), KNOBS.len());
        assert_eq!(state_of(&report, "dcqcn-np-enable"), ParameterState::Present);
        assert_eq!(state_of(&report, "dcqcn-rp-enable"), ParameterState::Absent);
        host.ets = Some(corpus::Ets::default());
        let (_, report) = Applied::new(&host, netdev.path());
        assert_eq!(state_of(&report, "ets"), ParameterState::Absent);
    }
}
