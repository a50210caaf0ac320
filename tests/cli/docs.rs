//! The parts of `docs/` that are made from the code. `UPDATE_DOCS=1 cargo test -p fuzzer` rewrites
//! them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use corpus::{Action, ActionKind, Form};
use executor::NicProfile;
use executor::agent::{FAMILIES, Judged, Radix, Roots};
use executor::profile::{FIELDS, conditional_fields, family_counters};
use scoring::score::calibration;
use scoring::tables::{Described, describe_tables, table_clauses};
use scoring::{CLAUSES, Clause, Document, ExpiryCause, Rule, counters_moved_by};

fn rules() -> String {
    let mut text = String::from("| rule | kind | what is expected | source |\n|---|---|---|---|\n");
    for rule in Rule::ALL {
        let (name, kind) = (rule.name(), rule.kind());
        let _ = writeln!(text, "| `{name}` | `{kind}` | {} | {} |", rule.expected(), rule.source());
    }
    text
}

fn machines() -> String {
    let mut text = String::new();
    for Described { title, diagram, .. } in describe_tables() {
        let _ = write!(text, "### {title}\n\n```mermaid\n{diagram}```\n\n");
    }
    text
}

/// Measures behind each objective.
fn objectives() -> String {
    let mut text = String::from(
        "| objective | what is measured | 0 at | full at | full is | why |\n|---|---|---|---|---|---|\n",
    );
    for row in calibration::TABLE {
        let (objective, what) = (row.objective.name(), row.measure.what());
        let (zero, one, most, reason) = (row.zero, row.one, row.most, row.reason);
        let _ = writeln!(text, "| `{objective}` | {what} | {zero} | {one} | {most} | {reason} |");
    }
    text
}

/// Anomalies that explain other anomalies.
fn consequences() -> String {
    let mut text = String::from(
        "| cause | symptoms on the same connection | on any | counters | may show late | how |\n\
         |---|---|---|---|---|---|\n",
    );
    let list = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let rules = |rules: &[Rule]| list(rules.iter().map(|rule| rule.name()).collect());
    let rows = Rule::ALL.iter().flat_map(|rule| rule.consequences().iter().map(|row| (rule.name(), row)));
    for (cause, row) in rows {
        let counters = list(counters_moved_by(row.counters).collect());
        let (symptoms, elsewhere) = (rules(row.here), rules(row.elsewhere));
        let (late, reason) = (if row.shows_late { "yes" } else { "" }, row.reason);
        let _ = writeln!(text, "| `{cause}` | {symptoms} | {elsewhere} | {counters} | {late} | {reason} |");
    }
    text
}

/// Text of all files below a folder with an extension, each with its path below the folder.
fn sources(folder: &str, extension: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let files = walkdir::WalkDir::new(&folder).sort_by_file_name().into_iter().map(Result::unwrap);
    files
        .filter(|file| file.path().extension().is_some_and(|found| found == extension))
        .map(|file| {
            let name = file.path().strip_prefix(&folder).unwrap().display().to_string();
            (name, fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

/// Sections of the InfiniBand specification that a text cites, where a line names the specification.
fn cited(text: &str) -> BTreeSet<String> {
    // Chapters of transport and software interface; the sections of papers are lower.
    let is_section = |word: &&str| {
        ["9.", "10.", "A17."].iter().any(|chapter| word.starts_with(chapter))
            && word.trim_start_matches('A').split('.').all(|part| part.parse::<u8>().is_ok())
    };
    let naming = text.lines().filter(|line| line.contains("IBA vol. 1") || line.contains("annex A17"));
    let words = naming.flat_map(|line| line.split(|mark: char| !mark.is_ascii_alphanumeric() && mark != '.'));
    words.map(|word| word.trim_end_matches('.')).filter(is_section).map(str::to_owned).collect()
}

/// Clauses: where each is judged, simulated and scripted.
fn clauses() -> String {
    let of_iba = |clause: &Clause| clause.document == Document::Iba && !clause.section.is_empty();
    let lines = table_clauses().into_iter().filter(of_iba).collect::<Vec<_>>();
    let simulator: Vec<_> =
        sources("executor/src/sim", "rs").into_iter().map(|(name, text)| (name, cited(&text))).collect();
    let scripts: Vec<_> = sources("tests/scripts", "rds").into_iter().map(|(_, text)| cited(&text)).collect();
    let judged =
        Rule::ALL.iter().flat_map(|rule| rule.clauses()).copied().filter(of_iba).chain(lines.clone());
    let used = judged.map(|clause| clause.section.to_owned()).chain(scripts.iter().flatten().cloned());
    for section in used.chain(simulator.iter().flat_map(|(_, sections)| sections.clone())) {
        assert!(CLAUSES.iter().any(|(known, _)| *known == section), "clause {section} is not among CLAUSES");
    }
    let mut text = String::from(
        "| clause | subject | rules | lines of tables | simulated in | scripts |\n|---|---|---|---|---|---|\n",
    );
    let dash = |text: String| if text.is_empty() || text == "0" { "-".to_owned() } else { text };
    for (section, subject) in CLAUSES {
        let is_this = |clause: &&Clause| clause.document == Document::Iba && clause.section == *section;
        let rules = Rule::ALL.iter().filter(|rule| rule.clauses().iter().any(|clause| is_this(&clause)));
        let rules = rules.map(|rule| format!("`{}`", rule.name())).collect::<Vec<_>>().join(", ");
        let lines = lines.iter().filter(is_this).count();
        let cites = |(_, sections): &&(String, BTreeSet<String>)| sections.contains(*section);
        let files = simulator.iter().filter(cites).map(|(name, _)| format!("`{name}`"));
        let files = files.collect::<Vec<_>>().join(", ");
        let scripts = scripts.iter().filter(|sections| sections.contains(*section)).count();
        let [rules, lines, files, scripts] = [rules, lines.to_string(), files, scripts.to_string()].map(dash);
        let _ = writeln!(text, "| {section} | {subject} | {rules} | {lines} | {files} | {scripts} |");
    }
    text
}

/// `document` with the part named `name` replaced by `text`.
fn with_part(document: &str, name: &str, text: &str) -> String {
    let start = format!("<!-- generated: {name} -->\n");
    let at = document.find(&start).unwrap_or_else(|| panic!("no part {name}")) + start.len();
    let end = at + document[at..].find("<!-- end -->").expect("the part ends");
    format!("{}{}\n{}", &document[..at], text.trim_end(), &document[end..])
}

/// Fields of NIC profiles, a table for each section.
fn fields() -> String {
    let mut text = String::new();
    let default = NicProfile::default().to_toml();
    let defaults: Vec<&str> = default.lines().filter_map(|line| Some(line.split_once(" = ")?.1)).collect();
    let mut last = None;
    for (field, default) in FIELDS.iter().zip(defaults) {
        let (section, key) = field.section_and_key();
        if last.replace(section) != Some(section) {
            let title = if section.is_empty() { "At the top" } else { &format!("`[{section}]`") };
            let _ = write!(
                text,
                "\n### {title}\n\n| field | default | allowed | conforming | meaning | bounds |\n|---|---|---|---|---|---|\n"
            );
        }
        let conformant = field.conformant();
        let conformant = if conformant.is_empty() { "all" } else { &conformant };
        let (allowed, meaning, why) = (field.allowed(), field.meaning, field.why);
        let _ = writeln!(text, "| `{key}` | `{default}` | {allowed} | {conformant} | {meaning} | {why} |");
    }
    text.trim_start().to_owned()
}

/// Conditions of quirks.
fn conditions() -> String {
    let mut text = String::from("| condition | allowed | meaning |\n|---|---|---|\n");
    let all = conditional_fields().filter_map(|field| Some((field, field.path.strip_prefix("quirk.when.")?)));
    for (field, key) in all {
        let _ = writeln!(text, "| `{key}` | {} | {} |", field.allowed(), field.meaning);
    }
    text
}

/// Counters of NIC profiles, by family and group.
fn counters() -> String {
    let mut text = String::from("| family | group | counters |\n|---|---|---|\n");
    for known in family_counters() {
        for (group, counters) in &known.groups {
            let _ = writeln!(text, "| `{}` | `{group}` | `{}` |", known.family, counters.join("`, `"));
        }
    }
    text
}

/// NIC families: counters, settings and what is left out.
fn families() -> String {
    let mut text = String::new();
    for family in FAMILIES {
        let list =
            |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let known = match family.own_file {
            Some(file) => format!("the file `{file}` in the device's folder, without a device of a bus"),
            None => format!("the driver {}", list(family.drivers)),
        };
        let firmware = if family.firmware.is_empty() { "none" } else { family.firmware };
        let (name, source) = (family.name, family.named_in);
        let _ = write!(
            text,
            "### {name}\n\nKnown by {known} ({source}). Firmware version: {firmware}.\n\n\
             | counter | where | use | meaning | source |\n|---|---|---|---|---|\n"
        );
        for counter in family.counters {
            let judged = match counter.judged {
                Judged::As(cause) => format!("`{cause}`"),
                Judged::Discards => "discards".to_owned(),
                Judged::Pauses => "pauses".to_owned(),
                Judged::Recorded => String::new(),
            };
            let (name, group, meaning, source) =
                (counter.name, counter.group.name(), counter.meaning, counter.source);
            let _ = writeln!(text, "| `{name}` | `{group}` | {judged} | {meaning} | {source} |");
        }
        text.push_str("\n| parameter | file | numbers | source | without it |\n|---|---|---|---|---|\n");
        for setting in family.settings {
            let (name, otherwise) = (setting.name(), setting.otherwise);
            for place in setting.places {
                let file = Roots::default().of(place.root).join(place.path).display().to_string();
                let apply =
                    place.apply.map(|apply| format!("; 1 to `{apply}` beside it")).unwrap_or_default();
                let radix = match place.radix {
                    Radix::Decimal => "decimal",
                    Radix::Hexadecimal => "hexadecimal",
                };
                let source = place.source;
                let _ = writeln!(text, "| `{name}` | `{file}` | {radix}{apply} | {source} | {otherwise} |");
            }
            if setting.places.is_empty() {
                let _ = writeln!(text, "| `{name}` | none | | | {otherwise} |");
            }
        }
        text.push_str("\nNeither read nor set, or not judged:\n\n");
        for row in family.left_out {
            let _ = writeln!(text, "- {row}");
        }
        text.push('\n');
    }
    text
}

/// Fields of targets, a table for each section.
fn target_fields() -> String {
    let mut text = String::new();
    let mut last = None;
    for field in mutators::fields() {
        let (section, key) = field.path.split_once('.').unwrap_or(("", field.path));
        if last.replace(section) != Some(section) {
            let title = if section.is_empty() { "At the top" } else { &format!("`[{section}]`") };
            let _ =
                write!(text, "\n### {title}\n\n| field | default | allowed | meaning |\n|---|---|---|---|\n");
        }
        let default = if field.default.is_empty() { "" } else { &format!("`{}`", field.default) };
        let _ = writeln!(text, "| `{key}` | {default} | {} | {} |", field.allowed, field.meaning);
    }
    text.trim_start().to_owned()
}

/// Operators of targets.
fn target_operators() -> String {
    let mut text = String::from("| operator | weight | what it does |\n|---|---|---|\n");
    for operator in mutators::operators() {
        let _ = writeln!(text, "| `{}` | {} | {} |", operator.name, operator.weight, operator.what);
    }
    text
}

/// Actions of test files, and the numbers that they have for operands.
fn actions() -> String {
    let mut text = String::from("| `type` | operands | the packet |\n|---|---|---|\n");
    let mut numbers = String::from("| key | value |\n|---|---|\n");
    for kind in ActionKind::ALL {
        let operand = Action::operand_of(*kind);
        let fields: Vec<_> = operand
            .iter()
            .flat_map(|one| one.coarse.map(|(field, _)| field).into_iter().chain([one.field]))
            .collect();
        let keys = match kind.form() {
            Form::Field => "`field`, `value`".to_owned(),
            Form::Copies => "`copies`, or none".to_owned(),
            _ => fields.iter().map(|field| format!("`{}`", field.key)).collect::<Vec<_>>().join(" or "),
        };
        let _ = writeln!(text, "| `{}` | {keys} | {} |", kind.name(), kind.what());
        for field in fields {
            let _ = writeln!(numbers, "| `{}` | {} |", field.key, field.range());
        }
    }
    format!("{text}\n{numbers}")
}

/// Events of packet scripts.
fn events() -> String {
    let mut text = String::from("| event | the packet |\n|---|---|\n");
    for kind in ActionKind::ALL {
        let operand = match kind.form() {
            Form::Alone | Form::Copies => "",
            Form::Time => " 20us",
            Form::Number(_) => " 3",
            Form::Field => " mig-req 0",
        };
        let _ = writeln!(text, "| `{}{operand}` | {} |", kind.word(), kind.what());
    }
    text
}

/// Causes of expiries.
fn causes() -> String {
    let rows = ExpiryCause::ALL.map(|cause| format!("| `{}` | {} |\n", cause.name(), cause.meaning()));
    format!("| cause | meaning |\n|---|---|\n{}", rows.concat())
}

/// Holds the parts of a document to what the code says, or rewrites them.
fn check(name: &str, parts: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let document = fs::read_to_string(&path).unwrap();
    let expected =
        parts.iter().fold(document.clone(), |document, (part, text)| with_part(&document, part, text));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(document == expected, "run with UPDATE_DOCS=1");
    }
}

#[test]
fn generated_parts_of_analyzers_are_true() {
    let parts = [
        ("rules", rules()),
        ("objectives", objectives()),
        ("consequences", consequences()),
        ("machines", machines()),
        ("causes", causes()),
    ];
    check("analyzers.md", &parts);
}

#[test]
fn generated_parts_of_clauses_are_true() {
    check("clauses.md", &[("clauses", clauses())]);
}

#[test]
fn generated_parts_of_test_config_are_true() {
    check("test-config.md", &[("actions", actions())]);
}

#[test]
fn generated_parts_of_packet_scripts_are_true() {
    check("packet-scripts.md", &[("events", events())]);
}

#[test]
fn generated_parts_of_nic_profiles_are_true() {
    check("nic-profiles.md", &[("fields", fields()), ("conditions", conditions()), ("counters", counters())]);
}

#[test]
fn generated_parts_of_nic_families_are_true() {
    check("nic-families.md", &[("families", families())]);
}

#[test]
fn generated_parts_of_targets_are_true() {
    check("targets.md", &[("fields", target_fields()), ("operators", target_operators())]);
}

#[test]
fn generated_parts_of_corruption_are_true() {
    let arguments =
        "predict corruption --loss 1e-3 --links 4 --sizes websearch --naks 2 --retransmissions 4 --dummies 2";
    let forecast = crate::run::lumina_fuzz(arguments.split(' ')).stdout;
    check("corruption.md", &[("forecast", format!("```text\n$ lumina-fuzz {arguments}\n{forecast}```\n"))]);
}

#[test]
fn generated_parts_of_multipath_are_true() {
    let arguments = "predict multipath --rate 216 --delay 186us";
    let forecast = crate::run::lumina_fuzz(arguments.split(' ')).stdout;
    check("multipath.md", &[("forecast", format!("```text\n$ lumina-fuzz {arguments}\n{forecast}```\n"))]);
}

#[test]
fn generated_parts_of_paper_are_true() {
    let (rows, _) = fuzzer::paper::run(&[], &[], &|_, _| ()).unwrap();
    check("paper.md", &[("rows", fuzzer::paper::markdown(&rows))]);
}

/// The files of testbeds in the page on real NICs are in order.
#[test]
fn examples_of_testbeds_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/physical.md");
    let text = fs::read_to_string(path).unwrap();
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        executor::physical::TestbedFile::read(example, Path::new("testbed.toml")).unwrap();
    }
}
