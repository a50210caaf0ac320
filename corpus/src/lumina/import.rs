//! The whole file, and the names that it has for our fields.

use super::{Dialect, ImportNote, Lab, NoteKind, host, importer::Importer, traffic};
use crate::{
    check::Violation,
    config::{Cidr, Role, TestConfig, default_address},
    error::ConfigErrors,
    intake::{conclude, parse},
    source::{Format, Reader, Section},
};

/// Result of importing a Lumina file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The test.
    pub config: TestConfig,
    /// The dialect that the file was read in.
    pub dialect: Dialect,
    /// The laboratory of the file.
    pub lab: Lab,
    /// Everything that the configuration does not hold as it stands in the file, in its order.
    pub notes: Vec<ImportNote>,
}

/// Sections and keys that say where the published tool works, not which test it runs.
const IGNORED: &[(&str, &str)] = &[
    ("local-workspace", "a folder of the published orchestrator"),
    ("result-path", "results go where the command line says"),
    ("aggregate-pcap-filename", "results have names of their own"),
    ("rewrite-udp-dst-port", "the testbed decides how mirrored packets are spread"),
    ("num-repeats", "how often a test runs is said on the command line"),
    ("switch", "the testbed file describes the switch"),
    ("requester-mirror", "the testbed file describes the dumpers"),
    ("responder-mirror", "the testbed file describes the dumpers"),
];

/// Reads a configuration from a Lumina YAML file. `file` names the text in messages; `dialect` overrules the
/// keys.
///
/// # Errors
/// Everything that is wrong with the text, at once; see [`crate::from_toml`].
pub fn from_yaml(file: &str, text: &str, dialect: Option<Dialect>) -> Result<Imported, ConfigErrors> {
    let tree = parse(file, text, Format::Yaml)?;
    let mut importer = Importer { r: Reader::new(text, Format::Yaml), notes: Vec::new() };
    let mut config = TestConfig::default();
    let mut dialect = dialect;
    if let Some(root) = importer.r.root(&tree) {
        read(root, &mut config, &mut dialect, &mut importer);
    }
    let dialect = dialect.unwrap_or(Dialect::Paper);
    let lab = Lab::read(&tree, &mut importer);
    let Importer { r, mut notes } = importer;
    let names = Names::of(&r, dialect);
    let config = conclude(file, text, r, config, |violation| names.translate(violation))?;
    // Notes without a place come last; the order of discovery breaks ties.
    notes.sort_by_key(|note| note.location.map_or(usize::MAX, |at| at.offset));
    Ok(Imported { config, dialect, lab, notes })
}

fn read(
    mut root: Section<'_>,
    config: &mut TestConfig,
    dialect: &mut Option<Dialect>,
    importer: &mut Importer<'_>,
) {
    for role in Role::ALL {
        if let Some(section) = root.opt_section(&mut importer.r, role.name()) {
            *config.host_mut(role) = host::read(section, role, importer);
        }
    }
    for role in Role::ALL {
        if !root.has(role.name()) {
            // The listings of the paper are snippets: the addresses that they leave out must not collide.
            let taken: Vec<Cidr> = config.host(role.peer()).ip_list.clone();
            let free = Role::ALL
                .map(default_address)
                .into_iter()
                .find(|cidr| taken.iter().all(|other| other.addr != cidr.addr));
            if let Some(free) = free {
                config.host_mut(role).ip_list = vec![free];
            }
            importer.note(NoteKind::Defaulted, None, role.name().to_owned(), "not in the file");
        }
    }
    if let Some(section) = root.opt_section(&mut importer.r, "traffic") {
        traffic::read(section, config, dialect, importer);
    } else if !root.has("traffic") {
        importer.note(NoteKind::Defaulted, None, "traffic".to_owned(), "not in the file");
    }
    importer.ignore(&mut root, IGNORED);
    root.finish(&mut importer.r, &[]);
}

/// Names that the file has for fields that our paths name.
struct Names {
    num_qps: bool,
    dcqcn_enable: [bool; 2],
    nested_roce: [bool; 2],
    dialect: Dialect,
}

impl Names {
    fn of(r: &Reader<'_>, dialect: Dialect) -> Self {
        Self {
            num_qps: r.has("traffic.num-qps"),
            dcqcn_enable: Role::ALL.map(|role| {
                let role = role.name();
                r.has(&format!("{role}.roce-parameters.dcqcn-enable"))
                    || r.has(&format!("{role}.nic.roce-parameters.dcqcn-enable"))
            }),
            nested_roce: Role::ALL.map(|role| r.has(&format!("{}.nic.roce-parameters", role.name()))),
            dialect,
        }
    }

    fn translate(&self, mut violation: Violation) -> Violation {
        let about_event = violation.field.starts_with("event");
        violation.field = self.path(&violation.field);
        for path in &mut violation.rests_on {
            *path = self.path(path);
        }
        if about_event {
            violation.message = violation.message.replace("event[", "data-pkt-events[");
            if self.dialect == Dialect::Published {
                violation.message.push_str(" (numbers in this message count from 1, over the connection)");
            }
        }
        violation
    }

    fn path(&self, path: &str) -> String {
        for (index, role) in Role::ALL.into_iter().enumerate() {
            let Some(field) = path.strip_prefix(role.name()).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            let role = role.name();
            return match field {
                "nic" => format!("{role}.nic.type"),
                "traffic-class" => "traffic.dscp-list".to_owned(),
                "control-ip" | "workspace" => path.to_owned(),
                field if field.starts_with("roce-parameters") => {
                    let dcqcn = field.ends_with("dcqcn-np-enable") || field.ends_with("dcqcn-rp-enable");
                    let field = match dcqcn && self.dcqcn_enable[index] {
                        true => "roce-parameters.dcqcn-enable",
                        false => field,
                    };
                    let nic = if self.nested_roce[index] { "nic." } else { "" };
                    format!("{role}.{nic}{field}")
                }
                field => format!("{role}.nic.{field}"),
            };
        }
        if path == "traffic.num-connections" && self.num_qps {
            return "traffic.num-qps".to_owned();
        }
        if path == "event" || path.starts_with("event[") {
            return path.replacen("event", "traffic.data-pkt-events", 1);
        }
        path.to_owned()
    }
}
