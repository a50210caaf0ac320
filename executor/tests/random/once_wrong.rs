//! Cases in which a conforming NIC was once called wrong, frozen as files: a folder has the test, whose first lines say what
//! was wrong, and the profiles of both NICs.

use std::fs;
use std::path::Path;

use executor::NicProfile;

use super::Case;

/// Cases that were found so far; the folder may have more.
const FEWEST: usize = 24;

fn read(folder: &Path) -> Case {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let profile = |name: &str| -> NicProfile { text(name).parse().unwrap() };
    let config =
        corpus::from_toml("test.toml", &text("test.toml")).unwrap_or_else(|errors| panic!("{errors}"));
    Case { config, profiles: [profile("requester.toml"), profile("responder.toml")] }
}

#[test]
fn conforming_nics_that_were_called_wrong_are_not() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/once-wrong");
    let mut seen = 0;
    for folder in fs::read_dir(folders).unwrap() {
        let folder = folder.unwrap().path();
        let case = read(&folder);
        for profile in &case.profiles {
            let unusual: Vec<_> = profile.not_conforming().iter().map(|field| field.path).collect();
            assert_eq!(unusual, [""; 0], "{}: the NIC does not conform", folder.display());
        }
        assert_eq!(case.faults(), [""; 0], "{}", folder.display());
        seen += 1;
    }
    assert!(seen >= FEWEST, "{seen} cases");
}
