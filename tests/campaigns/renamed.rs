//! Names of NICs mean nothing: a profile under another name is judged the same.

use std::fs;

use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// Signatures with everything that tells when and how often they were seen, and what was measured.
fn verdicts(summary: &Value) -> Vec<Value> {
    let mut verdicts = findings(summary).to_vec();
    for finding in &mut verdicts {
        // Hashes of the signature and places of files.
        finding.as_object_mut().unwrap().retain(|field, _| !matches!(&field[..], "id" | "path"));
    }
    verdicts
}

#[test]
fn a_renamed_profile_changes_no_verdict() {
    for (nics, target) in [
        (["cx4-lx", "cx4-lx"], "general"),
        (["cx5", "cx5"], "timeouts"),
        (["cx6-dx", "cx6-dx"], "general"),
        (["e810", "e810"], "general"),
        (["e810", "cx5"], "interop"),
    ] {
        let folder = folder(&[]);
        for nic in nics {
            let shown = in_folder(folder.path(), &["nics", "show", nic]);
            assert_eq!(shown.code, 0, "{}", shown.stderr);
            // Whose NIC it is, is said in these three keys alone.
            let nameless: String = shown
                .stdout
                .lines()
                .filter(|line| !["name =", "description ="].iter().any(|key| line.starts_with(key)))
                .map(|line| format!("{line}\n"))
                .collect();
            fs::write(folder.path().join(format!("anon-{}.toml", nic.len())), nameless).unwrap();
        }
        let run = |[requester, responder]: [String; 2], out: &str| {
            let args = [
                target,
                "--requester-nic",
                &requester,
                "--responder-nic",
                &responder,
                "--seed",
                "3",
                "--executions",
                "60",
                "--out",
                out,
            ];
            campaign(folder.path(), &args)
        };
        let named = run(nics.map(str::to_owned), "named");
        let renamed = run(nics.map(|nic| format!("./anon-{}.toml", nic.len())), "renamed");
        assert!(!findings(&named).is_empty(), "{nics:?}");
        assert_eq!(verdicts(&named), verdicts(&renamed), "{nics:?}");
    }
}
