//! Constants of the programs are those of the pipeline; and no number of a program can change unnoticed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use corpus::{ControlPacket, IterMode};
use dumper::mirror::MAX_SEQUENCE;
use dumper::wire::{EtherType, Opcode, ROCE_PORT};
use dumper::{ActionKind, Event};
use p4::entries::program::{PROGRAM_COUNTER_SIZE, PROGRAM_FLOWS};

use super::load::Loaded;
use super::runs::{Case, wiring};
use super::{PROGRAMS, drawn, quietly, rules, tables, vectors};

#[test]
fn constants_are_those_of_the_pipeline() {
    for name in PROGRAMS {
        check(&Loaded::unchanged(name));
    }
}

fn check(program: &Loaded) {
    let action = |kind: ActionKind| u128::from(kind.code());
    let expected = [
        ("ETHER_TYPE_IPV4", u16::from(EtherType::Ipv4).into()),
        ("ETHER_TYPE_IPV6", u16::from(EtherType::Ipv6).into()),
        ("ETHER_TYPE_VLAN", u16::from(EtherType::Vlan).into()),
        ("ETHER_TYPE_SERVICE_VLAN", u16::from(EtherType::ServiceVlan).into()),
        ("ROCE_PORT", ROCE_PORT.into()),
        ("ACKNOWLEDGE", Opcode::Acknowledge.code().into()),
        ("KIND_ACK", ControlPacket::Ack as u128),
        ("KIND_NAK", ControlPacket::Nak as u128),
        ("KIND_CNP", ControlPacket::Cnp as u128),
        ("KIND_READ_REQUEST", ControlPacket::ReadRequest as u128),
        ("ITER_PAPER", IterMode::Paper as u128),
        ("ITER_PER_MESSAGE", IterMode::PerMessage as u128),
        ("EVENT_NONE", Event::None.code().into()),
        ("EVENT_DROP", action(ActionKind::Drop)),
        ("EVENT_ECN", action(ActionKind::Ecn)),
        ("EVENT_CORRUPT", action(ActionKind::Corrupt)),
        ("EVENT_DUPLICATE", action(ActionKind::Duplicate)),
        ("EVENT_SEVERAL", Event::Several.code().into()),
        ("MAX_SEQUENCE", MAX_SEQUENCE.into()),
        ("FLOWS", PROGRAM_FLOWS.size as u128),
        ("OCCURRENCES", (PROGRAM_FLOWS.size / 2 * ControlPacket::NAMES.len()) as u128),
        ("ASKED", p4::network::REMEMBERED as u128),
        ("PORTS", PROGRAM_COUNTER_SIZE as u128),
    ];
    for (name, value) in expected {
        assert_eq!(program.constant(name), value, "{name}");
    }
}

/// A number in a file of the programs.
#[derive(Debug)]
struct Number {
    file: String,
    at: Range<usize>,
    line: String,
}

/// Numbers of a text, without those of comments, and of the widths of types: what is wider than it must be is not wrong.
fn numbers(file: &Path, text: &str) -> Vec<Number> {
    let mut all = Vec::new();
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let code = &line[..line.find("//").unwrap_or(line.len())];
        let is_digit = |at: usize| code[at..].starts_with(|it: char| it.is_ascii_digit());
        let mut at = 0;
        while at < code.len() {
            let is_in_word =
                at > 0 && code[..at].ends_with(|it: char| it.is_ascii_alphanumeric() || it == '_');
            if !is_digit(at) || is_in_word {
                at += 1;
                continue;
            }
            let len = code[at..].find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(code.len() - at);
            if !code[..at].ends_with("bit<") && !code.starts_with('#') {
                let file = file.file_name().unwrap().to_string_lossy().into_owned();
                all.push(Number { file, at: begin + at..begin + at + len, line: code.trim().to_owned() });
            }
            at += len;
        }
        begin += line.len();
    }
    all
}

/// The number that is one more.
fn more(text: &str) -> String {
    let (width, digits) = match text.split_once('w') {
        Some((width, digits)) => (format!("{width}w"), digits),
        None => (String::new(), text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).unwrap(),
        None => digits.parse().unwrap(),
    };
    format!("{width}{}", value + 1)
}

/// Numbers that may be others: lines of the programs, and the reason.
const MAY_CHANGE: &[(&str, &str)] = &[
    ("asked_psns.write(at, 0);", "no tag is 0, whatever the PSN"),
    ("copy = 0;", "each copy has its bit from the table"),
    ("cell.epoch = 0;", "no tag is 0, and none is 1"),
    ("register<bit<64>>(1) sequences;", "a further cell is never used"),
    ("register<bit<64>>(1) turns;", "a further cell is never used"),
    ("Register<cell_t, bit<1>>(1) sequences;", "a further cell is never used"),
    ("Register<cell_t, bit<1>>(1) turns;", "a further cell is never used"),
    ("const bit<8> MIRRORED = 2;", "only the program reads it"),
    ("const MirrorType_t MIRROR_TYPE = 1;", "only the program reads it"),
    ("random(dumper_port, 0, 0xffff);", "any ports spread packets over the queues of a dumper"),
];

#[test]
fn no_number_can_change_unnoticed() {
    let (vectors, mut drawn) = (vectors::possible(), drawn::fixed(150));
    drawn.extend(vectors::large());
    let mut seen = BTreeSet::new();
    for name in PROGRAMS {
        let mut all = Vec::new();
        Loaded::new(name, &mut |path, text| {
            // Files that both programs include are changed once.
            if seen.insert(path.to_owned()) {
                all.extend(numbers(path, &text));
            }
            text
        });
        assert!(all.len() > 50, "{}", all.len());
        all.retain(|number| !MAY_CHANGE.iter().any(|(line, _)| *line == number.line));
        let unnoticed: Vec<_> =
            all.iter().filter(|number| !is_noticed(name, number, &vectors, &drawn)).collect();
        assert!(unnoticed.is_empty(), "{unnoticed:#?}");
    }
}

/// Returns true if a test fails with a program in which a number is one more.
fn is_noticed(name: &str, number: &Number, vectors: &[Case], drawn: &[Case]) -> bool {
    let changed = quietly(|| {
        Loaded::new(name, &mut |path, mut text| {
            if path.ends_with(&number.file) {
                let other = more(&text[number.at.clone()]);
                text.replace_range(number.at.clone(), &other);
            }
            text
        })
    });
    let Some(program) = changed else { return true };
    let fails = |test: &dyn Fn()| quietly(test).is_none();
    fails(&|| check(&program))
        || fails(&|| tables::check(&program))
        || fails(&|| rules::check(&program))
        || vectors.iter().any(|case| fails(&|| case.check_epochs(&program, &wiring(), 1)))
        || drawn.iter().any(|case| fails(&|| case.check(&program, &wiring())))
}
