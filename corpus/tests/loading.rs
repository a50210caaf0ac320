//! Files as the command line meets them.

use std::{fs, time::Duration};

use corpus::{Format, MAX_FILE_BYTES, MAX_PROBLEMS, TestConfig, load};

#[test]
fn the_format_is_taken_from_the_name_or_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("a.toml", "", Format::Toml),
        ("b.yml", "traffic:\n  num-qps: 1\n", Format::Yaml),
        ("c.YAML", "traffic:\n  num-qps: 1\n", Format::Yaml),
        ("d", "# a test\n[traffic]\nmtu = 1024\n", Format::Toml),
        ("e.conf", "# a test\n\ntraffic:\n  num-qps: 1\n", Format::Yaml),
        ("f.txt", "traffic.mtu = 1024\n", Format::Toml),
    ];
    for (name, text, format) in cases {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        assert_eq!(load(&path).unwrap().format, format, "{name}");
    }
}

#[test]
fn an_empty_file_is_the_default_test() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.toml");
    fs::write(&path, "").unwrap();
    assert_eq!(load(&path).unwrap().config, TestConfig::default());
    assert!(TestConfig::default().is_valid());
}

#[test]
fn files_that_cannot_be_read_are_errors_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(folder.path().join("missing.toml")).unwrap_err();
    assert!(missing.to_string().contains("missing.toml: cannot be read: No such file"), "{missing}");
    assert!(load(folder.path()).is_err());

    let path = folder.path().join("latin.toml");
    fs::write(&path, b"# gr\xfcn\n").unwrap();
    assert!(
        load(&path).unwrap_err().to_string().ends_with("is not text: byte 4 is not UTF-8; save it as UTF-8")
    );

    let path = folder.path().join("large.toml");
    fs::write(&path, vec![b'#'; MAX_FILE_BYTES as usize + 1]).unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("the file is too large"));
}

/// The largest files that are read at all are answered in bounded time and space, whatever is in
/// them.
#[test]
fn hostile_files_are_answered_quickly() {
    let size = MAX_FILE_BYTES as usize;
    let fill = |unit: &str| unit.repeat(size / unit.len());
    let cases = [
        ("brackets.toml", format!("a = {}", "[".repeat(size - 4))),
        ("events.toml", fill("[[event]]\n")),
        ("keys.toml", (0..size / 12).map(|n| format!("k{n} = 1\n")).collect()),
        ("dots.toml", format!("{}a = 1", "a.".repeat(size / 2 - 3))),
        ("list.toml", format!("requester.ip-list = [{}]", "1,".repeat(size / 2 - 16))),
        ("same-packet.toml", "[[event]]\nqpn=\"all\"\npsn=1\nevery=2\ntype=\"ecn\"\n".repeat(4096)),
        (
            "lists.toml",
            format!(
                "traffic.num-connections=200\n{}",
                (0..4000)
                    .map(|n| {
                        let qpns: Vec<String> = (0..50).map(|k| (k * 2 + n % 2 + 1).to_string()).collect();
                        format!("[[event]]\nqpn=[{}]\npsn={}\ntype=\"ecn\"\n", qpns.join(","), n % 50 + 1)
                    })
                    .collect::<String>()
            ),
        ),
        ("brackets.yaml", format!("a: {}", "[".repeat(size - 3))),
        ("braces.yaml", format!("a: {}", "{a: ".repeat(size / 4 - 1))),
        ("dashes.yaml", format!("traffic:\n  data-pkt-events: \n    {}", "- ".repeat(size / 2 - 30))),
        ("aliases.yaml", format!("a: &a {}\nb: [{}]\n", "x".repeat(size / 2), "*a,".repeat(size / 8))),
        ("items.yaml", fill("- a\n")),
        ("keys.yaml", (0..size / 12).map(|n| format!("k{n}: 1\n")).collect()),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in cases {
        let path = folder.path().join(name);
        fs::write(&path, &text).unwrap();
        let start = processor_time().unwrap();
        let errors = load(&path).expect_err(name);
        assert!(errors.problems.len() <= MAX_PROBLEMS, "{name}");
        assert!(errors.to_string().len() < 100_000, "{name}");
        let took = processor_time().unwrap() - start;
        // Generous: a slow machine takes a tenth of it.
        assert!(took.as_secs() < 20, "{name} took {took:?}");
        eprintln!("{name}: {took:?}, {}", errors.problems[0]);
    }
}

/// Time that this thread has run: what else the processors do must not matter.
fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
