//! The language of packet scripts: what is written reads back the same, and every wrong script is answered.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use dumper::script::{
    Action, Anomalies, Connections, ControlKind, Delivered, Direction, Expectation, Expected, Field, Host,
    Injection, MAX_BYTES, MAX_GROUP, MAX_PACKETS, MAX_PROBLEMS, Messages, Name, Operand, Packet, Placed,
    Post, PostVerb, SETTABLE, STATUSES, Scope, Script, Setting, Span, Step, Target, Unit, Window, parse,
};
use dumper::wire::{Opcode, Syndrome};
use dumper::{ActionKind, Form};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const LOST_MIDDLE: &str = "\
# Lost middle packet: the responder NAKs once, the requester goes back.
# Rule: IBA vol. 1, 9.7.5.2.
nic reference                  # both hosts
traffic tx-depth 4
requester ip-list [\"10.0.0.1/24\"]
+0 post write 4096 mtu 1024 x 3
inject qp all nak nth 1 every 2 count 3 delay 1.5us
+0 > WRITE_FIRST psn 1

+0 > WRITE_MIDDLE psn 2 drop
+0 > WRITE_MIDDLE psn 3 # not the last
+0 > WRITE_LAST psn 4 ackreq ecn set mig-req 0
{
+0~+5us < NAK-SEQ psn 2 msn 0
+1T~+4T > WRITE_MIDDLE psn 2 qp 2 iter 2
}
...
expect no anomaly
expect completion qp 1 message 2~3 success
";

#[test]
fn a_script_is_written_in_columns() {
    let script = parse("lost.rds", LOST_MIDDLE).unwrap();
    insta::assert_snapshot!(script);
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad_scripts")
}

#[test]
fn every_bad_script_is_answered() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 50);
    let answers = names.iter().map(|name| {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        let errors = parse(name, &text).expect_err(name);
        format!("{text}----\n{errors}\n")
    });
    insta::assert_snapshot!(answers.collect::<Vec<_>>().join("\n"));
}

#[test]
fn large_scripts_are_refused_and_answers_bounded() {
    let refused = |text: &str| parse("large.rds", text).expect_err("too large").to_string();
    assert!(refused(&"#\n".repeat(MAX_BYTES)).contains("the file is too large"));
    let packets = "+0 > ACK\n".repeat(MAX_PACKETS + 1);
    assert!(refused(&format!("+0 post write 1\n{packets}")).contains("more than 20000 packets"));
    let group = "+0 > ACK\n".repeat(MAX_GROUP + 1);
    assert!(refused(&format!("+0 post write 1\n{{\n{group}}}\n")).contains("too many packets; at most 256"));
    let errors = parse("large.rds", &"x\n".repeat(1000)).expect_err("no line is right");
    assert_eq!((errors.problems.len(), errors.omitted), (MAX_PROBLEMS, 900));
    let word = refused(&"y".repeat(100_000));
    assert!(word.len() < 300, "{word}");
}

fn span() -> impl Strategy<Value = Span> {
    let units = select(Unit::NAMES.map(|(unit, _)| unit).to_vec());
    (prop_oneof![0..5000_u64, 0..=Span::MAX_WHOLE * 1000], units)
        .prop_filter_map("nanoseconds come whole", |(thousandths, unit)| Span::new(thousandths, unit))
}

fn action() -> impl Strategy<Value = Placed<Action>> {
    let operand = |kind: ActionKind| match kind.form() {
        Form::Alone => Just(Operand::Alone).boxed(),
        Form::Copies => {
            let copy = (1..=u8::MAX).prop_map(Operand::Copy);
            prop_oneof![Just(Operand::Alone), Just(Operand::AllCopies), copy].boxed()
        }
        Form::Time => {
            span().prop_filter("a time is no 0", |span| *span != Span::ZERO).prop_map(Operand::Time).boxed()
        }
        Form::Number(most) => (1..=most).prop_map(Operand::Number).boxed(),
        Form::Field => (select(SETTABLE.to_vec()), any::<u64>())
            .prop_map(|((field, most), value)| Operand::Field { field, value: value % (most + 1) })
            .boxed(),
    };
    select(ActionKind::ALL.to_vec())
        .prop_flat_map(move |kind| operand(kind).prop_map(move |operand| Action { kind, operand }))
        .prop_map(Placed::new)
}

fn name() -> impl Strategy<Value = Name> {
    let opcode = any::<u8>().prop_map(|code| Name::opcode(Opcode::from(code)));
    let known = select(Opcode::KNOWN.to_vec()).prop_map(Name::opcode);
    let answer = any::<u8>().prop_map(|byte| Name::answer(Syndrome::from(byte)));
    prop_oneof![1 => opcode, 6 => known, 3 => answer]
}

fn fields(name: Name) -> impl Strategy<Value = BTreeMap<Field, i64>> {
    let numbers = Field::NUMBERS.iter().map(|(_, field, min, max)| (*field, *min, *max));
    let words = Field::WORDS.iter().map(|(_, field, _)| (*field, 0, 1));
    let mut all: Vec<_> = numbers.chain(words).filter(|(field, ..)| name.has(*field)).collect();
    all.sort_unstable();
    all.dedup();
    let some = subsequence(all.clone(), 0..=all.len());
    some.prop_flat_map(|some| {
        some.into_iter().map(|(field, min, max)| (Just(field), min..=max)).collect::<Vec<_>>()
    })
    .prop_map(BTreeMap::from_iter)
}

fn packet() -> impl Strategy<Value = Packet> {
    let time = (span(), option::of(span())).prop_map(|(least, most)| Window { least, most });
    let direction = select(vec![Direction::ToResponder, Direction::ToRequester]);
    let named = name().prop_flat_map(|name| (Just(name), fields(name)));
    let qp = prop_oneof![Just(1), 1..=u32::MAX];
    (time, direction, named, qp, vec(action(), 0..3)).prop_map(
        |(time, direction, (name, fields), qp, actions)| {
            let can = name.control().is_some() || name.class().is_data() && fields.contains_key(&Field::Psn);
            let actions = if can { actions } else { Vec::new() };
            Packet { at: Default::default(), time, direction, name, qp, fields, actions }
        },
    )
}

fn injection() -> impl Strategy<Value = Injection> {
    let number = || 1..=u32::MAX;
    let connections = prop_oneof![
        number().prop_map(Connections::One),
        vec(number(), 2..5).prop_map(Connections::List),
        number().prop_map(Connections::First),
        Just(Connections::All),
    ];
    let kinds = select(ControlKind::NAMES.map(|(_, kind)| kind).to_vec());
    let target = prop_oneof![
        (number(), number()).prop_map(|(psn, iter)| Target::Data { psn, iter }),
        (kinds, number()).prop_map(|(kind, nth)| Target::Control { kind, nth }),
    ];
    let progression = option::of((number(), option::of(number())));
    (connections, target, progression, vec(action(), 1..3)).prop_map(
        |(connections, target, progression, actions)| {
            let (every, count) =
                (progression.map(|(every, _)| every), progression.and_then(|(_, count)| count));
            Injection { at: Default::default(), connections, target, every, count, actions }
        },
    )
}

fn expectation() -> impl Strategy<Value = Expectation> {
    let word = || "[a-z][a-z_-]{0,12}";
    let messages =
        || (1..=u32::MAX, 1..=u32::MAX).prop_map(|(a, b)| Messages { first: a.min(b), last: a.max(b) });
    let count = || 0..=i64::MAX as u64;
    prop_oneof![
        Just(Expected::Anomaly(Anomalies::No)),
        (word(), option::of(word()))
            .prop_map(|(kind, rule)| Expected::Anomaly(Anomalies::Some { kind, rule })),
        (select(Host::NAMES.map(|(_, host)| host).to_vec()), word(), count())
            .prop_map(|(host, name, moved)| Expected::Counter { host, name, moved }),
        (
            option::of(1..=u32::MAX),
            option::of(messages()),
            select(STATUSES.map(|(_, status)| status).to_vec())
        )
            .prop_map(|(qp, messages, status)| Expected::Completion { qp, messages, status }),
        Just(Expected::Delivered(Delivered::All)),
        (count(), count())
            .prop_map(|(a, b)| Expected::Delivered(Delivered::Some { arrived: a.min(b), of: a.max(b) })),
        count().prop_map(Expected::Packets),
    ]
    .prop_map(|expected| Expectation { at: Default::default(), expected })
}

fn settings() -> impl Strategy<Value = Vec<Setting>> {
    let scope = prop_oneof![
        Just((Scope::Hosts, "nic".to_owned())),
        (select(vec![Scope::Requester, Scope::Responder, Scope::Traffic]), "[a-z][a-z0-9_-]{0,10}"),
    ];
    let value = select(vec![
        "4",
        "reference",
        "./a b.toml",
        "{ a = 1 }",
        "\"# no comment\"",
        "[\"\\\"# \"]",
        "a#b",
        "µ",
    ]);
    vec((scope, value), 0..5).prop_map(|mut settings| {
        settings.sort_unstable();
        settings.dedup_by(|a, b| a.0 == b.0);
        let setting = |((scope, key), value): ((Scope, String), &str)| Setting {
            at: Default::default(),
            scope,
            key: Placed::new(key),
            value: Placed::new(value.to_owned()),
        };
        settings.into_iter().map(setting).collect()
    })
}

fn script() -> impl Strategy<Value = Script> {
    let verb = select(PostVerb::NAMES.map(|(_, verb)| verb).to_vec());
    let post = (verb, any::<u32>(), option::of(any::<u32>()), option::of(any::<u32>())).prop_map(
        |(verb, size, mtu, count)| Post {
            at: Default::default(),
            verb: Placed::new(verb),
            size: Placed::new(size),
            mtu: mtu.map(Placed::new),
            count: count.map(Placed::new),
        },
    );
    let step = prop_oneof![
        6 => packet().prop_map(Step::Packet),
        1 => vec(packet(), 1..4).prop_map(Step::Group),
        1 => Just(Step::Skip(Default::default())),
    ];
    let prose = vec("( {0,2}[a-z#µ.]{1,8}){0,4}", 0..3);
    (prose, settings(), post, vec(injection(), 0..3), vec(step, 0..8), vec(expectation(), 0..4)).prop_map(
        |(prose, settings, post, injections, mut steps, expectations)| {
            steps.dedup_by(|a, b| matches!((a, b), (Step::Skip(_), Step::Skip(_))));
            let file = "generated.rds".to_owned();
            Script { file, prose, settings, post, injections, steps, expectations }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(script in script()) {
        let text = script.to_string();
        let read = parse("generated.rds", &text).map_err(|errors| TestCaseError::fail(format!("{errors}\n{text}")))?;
        prop_assert_eq!(&read, &script, "{}", text);
        prop_assert_eq!(read.to_string(), text);
    }

    /// Whatever the text, the answer is a script or a list of problems.
    #[test]
    fn no_text_is_too_strange(script in script(), cut in any::<prop::sample::Index>(), junk in ".{0,6}") {
        let mut text = script.to_string();
        let at = text.floor_char_boundary(cut.index(text.len() + 1));
        text.insert_str(at, &junk);
        if let Err(errors) = parse("mangled.rds", &text) {
            prop_assert!(!errors.problems.is_empty());
            let lines = text.lines().count().max(1) as u32;
            prop_assert!(errors.problems.iter().all(|problem| (1..=lines).contains(&problem.at.line)));
        }
    }
}
