//! NIC profiles: the table of fields, files and what is wrong with them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use executor::NicProfile;
use executor::profile::{
    FAMILIES, FIELDS, Field, Kind, SHIPPED, Span, conditional_fields, family_counters, load, load_with_base,
};
use proptest::prelude::*;
use tempfile::TempDir;
use toml::Value;

/// A folder with files in it.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Errors of a file `nic.toml`, without its folder.
fn answer(text: &str) -> String {
    let folder = folder(&[("nic.toml", text)]);
    answer_in(&folder, "nic.toml")
}

fn answer_in(folder: &TempDir, nic: &str) -> String {
    let error = load(nic, folder.path()).unwrap_err().to_string();
    let shipped = SHIPPED.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join(", ");
    error
        .replace(&format!("{}/", folder.path().display()), "")
        .replace(&format!("shipped: {shipped};"), "shipped: ...;")
}

/// Paths of the leaves of a table.
fn leaves(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(value, &path, found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn the_table_has_every_field_once() {
    let mut fields = BTreeSet::new();
    leaves(&Value::try_from(NicProfile::default()).unwrap(), "", &mut fields);
    let listed: Vec<_> = FIELDS.iter().map(|field| field.path.to_owned()).collect();
    assert_eq!(fields, listed.iter().cloned().collect());
    assert_eq!(fields.len(), listed.len(), "one is listed twice");
}

#[test]
fn bounds_have_reasons_and_the_defaults_conform() {
    for field in FIELDS.iter().chain(conditional_fields()) {
        let numeric = matches!(
            field.kind,
            Kind::Int(_) | Kind::IntSpan(_) | Kind::FactorSpan(_) | Kind::Ints(_) | Kind::FactorLists(_)
        );
        assert_eq!(numeric, !field.why.is_empty(), "{field}");
        assert!(!field.meaning.is_empty(), "{field}");
    }
    assert_eq!(NicProfile::default().not_conforming(), [] as [&Field; 0]);
}

#[test]
fn reference_is_the_default_and_lists_every_field_but_quirks() {
    let reference = load("reference", Path::new("")).unwrap();
    let NicProfile { name, description, source, .. } = reference.clone();
    assert_eq!(reference, NicProfile { name, description, source, ..NicProfile::default() });
    let mut listed = BTreeSet::new();
    leaves(&Value::Table(SHIPPED[0].text.parse().unwrap()), "", &mut listed);
    let expected = FIELDS.iter().map(|field| field.path.to_owned());
    assert_eq!(listed, expected.filter(|path| !path.starts_with("quirk")).collect());
}

#[test]
fn shipped_profiles_load_under_their_own_names() {
    for shipped in SHIPPED {
        let profile = load(shipped.name, Path::new("")).unwrap();
        assert_eq!(profile.name, shipped.name);
        assert!(!profile.description.is_empty() && !profile.source.is_empty(), "{}", shipped.name);
    }
}

#[test]
fn a_file_lists_only_differences() {
    let folder = folder(&[
        ("slow.toml", "[retransmission.nack-generation-ns]\nread = [100000, 200000]\n"),
        (
            "deep/slower.toml",
            "base = \"../slow.toml\"\nname = \"snail\"\n[link]\nrate-gbps = 25\n[retransmission]\nnack-generation-ns.write = 7",
        ),
    ]);
    let slow = load("slow.toml", folder.path()).unwrap();
    let mut expected = NicProfile { name: "slow".into(), ..NicProfile::default() };
    expected.retransmission.nack_generation_ns.read = Span::new(100_000, 200_000);
    assert_eq!(slow, expected);

    let slower = load_with_base("./deep/slower.toml", folder.path()).unwrap();
    expected.name = "snail".into();
    expected.link.rate_gbps = 25;
    expected.retransmission.nack_generation_ns.write = Span::exactly(7);
    assert_eq!(slower.profile, expected);
    let base = slower.base.unwrap();
    assert_eq!((base.nic.as_str(), &base.profile.link), ("../slow.toml", &NicProfile::default().link));
    let changes = slower.profile.changes_from(&base.profile);
    let changes: Vec<_> =
        changes.iter().map(|change| (change.field.path, change.from.as_str(), change.to.as_str())).collect();
    assert_eq!(
        changes,
        [("link.rate-gbps", "100", "25"), ("retransmission.nack-generation-ns.write", "2000", "7")]
    );
}

#[test]
fn a_quirk_under_conditions_is_a_difference() {
    let folder = folder(&[(
        "odd.toml",
        "base = \"cx6-dx\"\n[[quirk]]\nwhen = { message = [3, 9] }\nnak-repeats = 1\n",
    )]);
    let odd = load_with_base("./odd.toml", folder.path()).unwrap();
    let changes = odd.profile.changes_from(&odd.base.unwrap().profile);
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((change.field.path, change.from.as_str()), ("quirk", "[]"));
    assert_eq!(change.to, "[{ nak-repeats = 1, when = { message = [3, 9] } }]");
}

#[test]
fn what_no_conforming_nic_has_is_named() {
    let text = "timeout.first = 0.5\nquirks.nak-repeats = 1\nquirks.stuck-counters = [\"np_cnp_sent\"]\n\
                transmit.mig-req = false\nlink.rate-gbps = 25\n";
    let folder = folder(&[("odd.toml", text)]);
    let odd = load("odd.toml", folder.path()).unwrap();
    let named: Vec<_> = odd.not_conforming().iter().map(|field| field.path).collect();
    assert_eq!(named, ["timeout.first", "quirks.nak-repeats", "quirks.stuck-counters"]);
}

#[test]
fn wrong_texts_are_answered() {
    let mut answers = String::new();
    for text in [
        "[link\nrate-gbps = 100",
        "colour = 1",
        "rate-gbps = 25",
        "[link]\nrate-gbsp = 25",
        "[link]\nrate-gbps = 0\npropagation-ns = 10_000_000_001",
        "[link]\nrate-gbps = \"100\"",
        "[link]\nrate-gbps = 100.0",
        "[link]\nrate-gbps = [25, 100]",
        "link = 100",
        "[host]\npost-ns = [200, 100]",
        "[host]\npost-ns = [100, 200, 300]",
        "[host]\npost-ns = [100, \"x\"]",
        "[host]\npost-ns = -1",
        "[timeout]\nfirst = nan\nfurther = 0x100000000000000000",
        "[timeout]\nfirst = \"T\"",
        "[transmit]\nmig-req = 1",
        "[receive]\nbuffer-bytes = 9000",
        "[notification]\nscope = \"prt\"",
        "[counters]\nfamily = \"nvidai\"",
        "[slow-path]\nverbs = [\"read\", \"wirte\"]",
        "[slow-path]\nverbs = \"read\"",
        "[quirks]\nresume-offset = 1001\nnak-repeats = 1_000_001",
        "[quirks]\nstuck-counters = [1]",
        "[quirks]\nstuck-counters = [\"np_cnp_snt\"]\ndoubled-counters = [\"out_of_sequence\", \"cnpSent\", \"x\"]",
        "base = \"e810\"\n[quirks]\ndoubled-counters = [\"np_cnp_sent\"]",
        "base = \"e810\"\n[counters]\nfamily = \"nvidia\"",
        "quirk = 1",
        "[quirk]\nnak-suppressed = true",
        "[[quirk]]\nnak-suppressed = true",
        "[[quirk]]\nwhen = { verb = [\"read\"] }",
        "[[quirk]]\nwhen = {}\nnak-suppressed = true",
        "[[quirk]]\nwhen = { verb = [\"raed\"], mesage = 3 }\nnak-supressed = true",
        "[[quirk]]\nwhen = { counters = [\"cnpSent\"], counted = 0 }\nstuck-counters = [\"np_cnp_sent\"]",
        "[[quirk]]\nwhen = 1\nretry-offset = 1001",
        &"[[quirk]]\nwhen = { message = 2 }\nretry-offset = 1\n".repeat(9),
        "[reorder]\nengine = \"pool\"\ncaches = 3",
        "base = \"melo\"\n[reorder]\ncaches = 1",
        "[reorder]\nengine = \"heap\"\nblock-bits = 0\nspan-packets = 8_388_609",
        "[reorder]\nengine = \"ring\"\nloss-span-packets = 513",
        "base = \"left\"\n[reorder]\nspan-packets = 256",
        "name = \"two\\nlines\"",
        "base = 1",
        "base = \"connectx-9\"",
        "base = \"refrence\"",
        "base = \"nic.toml\"",
    ] {
        answers += &format!("{text}\n=> {}\n\n", answer(text).replace('\n', "\n=> "));
    }
    insta::assert_snapshot!("wrong_texts", answers);
}

/// Caches of a base are not those of a pool, so that a profile that was written out is not refused; the base keeps its own.
#[test]
fn a_pool_that_is_made_of_left_has_no_caches() {
    let folder = folder(&[
        ("pool.toml", "base = \"left\"\nreorder.engine = \"pool\"\n"),
        ("back.toml", "base = \"pool.toml\"\nreorder.engine = \"left\"\n"),
    ]);
    let pool = load("pool.toml", folder.path()).unwrap();
    assert_eq!(pool.reorder.caches, 0);
    fs::write(folder.path().join("written.toml"), pool.to_toml()).unwrap();
    assert_eq!(load("written.toml", folder.path()).unwrap(), pool);
    assert_eq!(load("back.toml", folder.path()).unwrap().reorder.caches, 3);
}

/// The lists of a base with another family stand for nothing in this one, and can be replaced.
#[test]
fn a_profile_of_another_family_than_its_base_lists_its_own_counters() {
    let text = "base = \"e810\"\ncounters.family = \"nvidia\"\nquirks.stuck-counters = [\"np_cnp_sent\"]\n";
    let folder = folder(&[("own.toml", text)]);
    let own = load("own.toml", folder.path()).unwrap();
    assert_eq!(own.quirks.stuck_counters, ["np_cnp_sent"]);
}

#[test]
fn a_hostile_text_is_answered_shortly() {
    let many: String = (0..60_000).map(|at| format!("k{at} = 1\n")).collect();
    let answer = answer(&many);
    assert_eq!(answer.lines().count(), 101);
    assert!(answer.ends_with("and 59900 more problems"), "{answer}");
    let long = crate::answer(&format!("{} = 1", "k".repeat(100_000)));
    assert!(long.len() < 1_000, "{long}");
    let deep = crate::answer(&format!("[{}]", vec!["a"; 100_000].join(".")));
    assert!(deep.len() < 1_000, "{deep}");
}

#[test]
fn files_that_are_none() {
    let folder = folder(&[("large.toml", &"#".repeat((1 << 20) + 1)), ("dir.toml/x", "")]);
    fs::write(folder.path().join("binary.toml"), [b'a', 0xff]).unwrap();
    let mut answers = String::new();
    for nic in
        ["missing.toml", "large.toml", "dir.toml", "binary.toml", "/dev/zero", "connectx-9", "", "refrence"]
    {
        answers += &answer_in(&folder, nic);
        answers.push('\n');
    }
    insta::assert_snapshot!("no_files", answers);
}

#[test]
fn bases_end() {
    let ring = folder(&[
        ("a.toml", "base = \"b.toml\""),
        ("b.toml", "base = \"./sub/../c.toml\""),
        ("c.toml", "\nbase = \"a.toml\""),
        ("sub/x", ""),
    ]);
    assert_eq!(
        answer_in(&ring, "a.toml").replace("sub/../", "").replace("./", ""),
        "c.toml:2:8: base: its bases come back to it; a profile cannot start from itself"
    );
    // Eight profiles may stand behind one: seven files and `reference`.
    let file = |at: u32, last: u32| match at {
        _ if at == last => String::new(),
        _ => format!("base = \"{}.toml\"", at + 1),
    };
    for (last, fits) in [(7, true), (8, false)] {
        let chain = folder(&[]);
        for at in 0..=last {
            fs::write(chain.path().join(format!("{at}.toml")), file(at, last)).unwrap();
        }
        assert_eq!(load("0.toml", chain.path()).is_ok(), fits, "{last}");
        if !fits {
            let answer = answer_in(&chain, "0.toml");
            assert!(
                answer.ends_with(
                    "too many bases, one behind the other; at most 8 profiles may stand behind one"
                )
            );
        }
    }
    let broken = folder(&[("a.toml", "base = \"b.toml\""), ("b.toml", "link = 1")]);
    assert!(answer_in(&broken, "a.toml").starts_with("b.toml:1:8: link: expected a section"));
}

/// A value that a field of a profile of a family may have, as in a file.
fn value_of(field: &'static Field, family: &'static str) -> BoxedStrategy<String> {
    match field.kind {
        Kind::Line(_) | Kind::Text => {
            "[a-z \"\\\\µ]{0,20}".prop_map(|text| Value::String(text).to_string()).boxed()
        }
        Kind::Flag(_) => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        Kind::Int(bounds) => (bounds.min..=bounds.max).prop_map(|int| int.to_string()).boxed(),
        Kind::IntSpan(bounds) => {
            let int = || bounds.min..=bounds.max;
            (int(), int()).prop_map(|(a, b)| format!("[{}, {}]", a.min(b), a.max(b))).boxed()
        }
        Kind::FactorSpan(bounds) => {
            let factor = || bounds.min..=bounds.max;
            (factor(), factor()).prop_map(|(a, b)| format!("[{:?}, {:?}]", a.min(b), a.max(b))).boxed()
        }
        Kind::Choice(words, _) if words == FAMILIES => Just(format!("\"{family}\"")).boxed(),
        Kind::Choice(words, _) => {
            proptest::sample::select(words).prop_map(|word| format!("\"{word}\"")).boxed()
        }
        Kind::Choices(words) => proptest::sample::subsequence(words, 0..=words.len())
            .prop_map(|words| format!("{words:?}"))
            .boxed(),
        Kind::Counters => {
            let known = family_counters().filter(|known| known.family == family);
            let names: Vec<_> = known.flat_map(|known| known.groups).flat_map(|(_, names)| names).collect();
            proptest::sample::subsequence(names, 0..3).prop_map(|names| format!("{names:?}")).boxed()
        }
        Kind::Ints(bounds) => proptest::collection::vec(bounds.min..=bounds.max, 0..4)
            .prop_map(|ints| format!("{ints:?}"))
            .boxed(),
        Kind::FactorLists(bounds) => {
            let list = proptest::collection::vec(bounds.min..=bounds.max, 1..4);
            proptest::collection::vec(list, 0..4).prop_map(|lists| format!("{lists:?}")).boxed()
        }
        Kind::Quirks(most) => {
            let fields: Vec<_> = conditional_fields().collect();
            let (when, quirks): (Vec<_>, Vec<_>) =
                fields.into_iter().partition(|field| field.path.starts_with("quirk.when."));
            let one_of = move |fields: Vec<&'static Field>| {
                // An empty list is no condition, and what nobody has is no quirk.
                proptest::sample::select(fields)
                    .prop_flat_map(move |field| (Just(field.section_and_key().1), value_of(field, family)))
                    .prop_filter("nothing", |(_, value)| {
                        !["[]", "0", "false", "[0, 0]"].contains(&value.as_str())
                    })
            };
            let one = (one_of(when), one_of(quirks)).prop_map(|((condition, value), (quirk, is))| {
                format!("{{ when = {{ {condition} = {value} }}, {quirk} = {is} }}")
            });
            proptest::collection::vec(one, 0..most).prop_map(|all| format!("[{}]", all.join(", "))).boxed()
        }
    }
}

proptest! {
    /// Whatever is allowed is read, and a printed profile is read to the same one.
    #[test]
    fn printed_profiles_are_read_again(
        values in proptest::sample::select(&FAMILIES[..]).prop_flat_map(|family| {
            FIELDS.iter().map(|field| (Just(field.path), value_of(field, family))).collect::<Vec<_>>()
        })
    ) {
        // Fields of a reorder engine that contradict no others.
        let own = |path: &str, value: &str| match path {
            "reorder.caches" if values.iter().any(|(_, value)| value == "\"pool\"") => "0".to_owned(),
            "reorder.loss-span-packets" => "1".to_owned(),
            _ => value.to_owned(),
        };
        let text: String = values.iter().map(|(path, value)| format!("{path} = {}\n", own(path, value))).collect();
        let folder = folder(&[("one.toml", &text)]);
        let one = load("one.toml", folder.path()).unwrap();
        fs::write(folder.path().join("two.toml"), one.to_toml()).unwrap();
        let two = load("two.toml", folder.path()).unwrap();
        prop_assert_eq!(&two, &one);
        prop_assert_eq!(two.to_toml(), one.to_toml());
    }

    /// No text makes the loader panic.
    #[test]
    fn no_text_is_a_panic(text in "(\\[(link|quirks|timeout|x)\\]\n|(first|rate-gbps|base|verbs|[a-z]{1,3}) = ([0-9.-]{1,9}|\\[[0-9, .\"]{0,9}\\]|\"[a-z./]{0,9}\"|\\{[a-z0-9= ]{0,9}\\})\n|.{0,5}){0,9}") {
        let folder = folder(&[("nic.toml", &text)]);
        let _ = load("nic.toml", folder.path());
    }
}

/// Profiles may have the counters that there are.
#[test]
fn families_of_counters_are_those_of_the_data() {
    let families: BTreeSet<_> = family_counters().map(|known| known.family).collect();
    assert_eq!(families, FAMILIES.into_iter().collect());
}
