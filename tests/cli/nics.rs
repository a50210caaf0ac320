//! `nics list`, `nics show` and `nics check`.

use std::fs;

use crate::run::{Ran, folder, in_folder, lumina_fuzz};

/// Checks a file with this text; its folder is `DIR` in what is said.
fn check(text: &str, format: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-nic.toml");
    fs::write(&path, text).unwrap();
    let mut ran = lumina_fuzz(["nics", "check", path.to_str().unwrap(), "--format", format]);
    for text in [&mut ran.stdout, &mut ran.stderr] {
        *text = text.replace(folder.path().to_str().unwrap(), "DIR");
    }
    ran
}

/// The output of `show` is a profile that `check` finds equal to the one shown.
#[test]
fn every_listed_profile_is_shown_whole() {
    let listed = lumina_fuzz(["nics", "list", "--format", "json"]).json();
    let table = lumina_fuzz(["nics", "list"]).stdout;
    for nic in listed.as_array().unwrap() {
        let name = nic["name"].as_str().unwrap();
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        assert!(line.ends_with(nic["description"].as_str().unwrap()), "{line}");
        let shown = lumina_fuzz(["nics", "show", name]);
        assert_eq!((shown.code, &shown.stderr[..]), (0, ""));
        let checked = check(&format!("base = \"{name}\"\n{}", shown.stdout), "json").json();
        assert_eq!((&checked["name"], &checked["changes"]), (&name.into(), &serde_json::json!([])));
        let document = lumina_fuzz(["nics", "show", name, "--format", "json"]).json();
        assert_eq!(document["name"], name);
        assert!(document["link"]["rate-gbps"].as_u64().unwrap() > 0);
    }
    let shown = lumina_fuzz(["nics", "show", "reference"]).stdout;
    assert!(shown.starts_with("name = \"reference\"\ndescription = \""), "{shown}");
    assert!(shown.contains("\n[link]\nrate-gbps = 100\npropagation-ns = 50\n\n[host]\n"), "{shown}");
}

#[test]
fn a_valid_file_is_compared_with_its_base() {
    let text = "link.rate-gbps = 25\ntimeout.first = [0.5, 1]\nquirks.nak-repeats = 2\n";
    let ran = check(text, "text");
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("nics_check", ran.stdout);
    let document = check(text, "json").json();
    assert_eq!(
        document,
        serde_json::json!({
            "valid": true,
            "name": "my-nic",
            "base": "reference",
            "changes": [
                {"field": "link.rate-gbps", "from": "100", "to": "25"},
                {"field": "timeout.first", "from": "[1.0, 4.0]", "to": "[0.5, 1.0]"},
                {"field": "quirks.nak-repeats", "from": "0", "to": "2"},
            ],
            "not_conforming": ["timeout.first", "quirks.nak-repeats"],
        })
    );
    assert_eq!(
        check("", "text").stdout,
        "DIR/my-nic.toml: valid, called my-nic, the same as reference\nconforms\n"
    );
}

#[test]
fn a_wrong_file_is_answered_with_everything_that_is_wrong() {
    let text = "[link]\nrate-gbps = 1000\n\n[quirks]\nnak-repeat = 1\n";
    let ran = check(text, "text");
    assert_eq!((ran.code, &ran.stdout[..]), (2, ""));
    insta::assert_snapshot!("nics_check_wrong", ran.stderr);
    let document = check(text, "json").json();
    assert_eq!(document["error"], "bad NIC profile");
    let problems = document["problems"].as_array().unwrap();
    let places: Vec<_> = problems.iter().map(|one| (&one["field"], &one["location"]["line"])).collect();
    assert_eq!(places, [(&"link.rate-gbps".into(), &2.into()), (&"quirks.nak-repeat".into(), &5.into())]);
}

#[test]
fn a_profile_that_is_not_there() {
    for (action, nic, says) in [
        ("show", "refrence", "did you mean `reference`?"),
        ("check", "./nowhere.toml", "cannot be read"),
        ("show", "/dev/zero", "not a regular file"),
        ("check", "/", "Is a directory"),
    ] {
        let ran = lumina_fuzz(["nics", action, nic]);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{nic}");
        assert!(ran.stderr.contains(says), "{nic}: {}", ran.stderr);
    }
}

#[test]
fn fields_are_listed_with_their_bounds() {
    let here = folder(&[]);
    let all = in_folder(here.path(), &["nics", "fields"]);
    let first = "link.rate-gbps\n";
    assert!(all.code == 0 && all.stdout.contains(first), "{}", all.stdout);
    let some = in_folder(here.path(), &["nics", "fields", "RATE-gbps"]);
    insta::assert_snapshot!(some.stdout);
    let none = in_folder(here.path(), &["nics", "fields", "warp"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, "no field has `warp` in its name or meaning\n"));
    // Each field and condition that a profile may have.
    let json = in_folder(here.path(), &["nics", "fields", "--format", "json"]).json();
    let listed = json.as_array().unwrap().len();
    let conditions = executor::profile::conditional_fields().count();
    assert_eq!(listed, executor::profile::FIELDS.len() + conditions);
}

#[test]
fn shells_complete_every_command() {
    let here = folder(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let ran = in_folder(here.path(), &["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for word in ["campaign", "export", "requester-nic"] {
            assert!(ran.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(in_folder(here.path(), &["completions", "sh"]).code, 2);
}
