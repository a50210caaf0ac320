//! Rooms (crates) import rooms below them only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::{Table, Value};

use crate::root;

/// A room, and the rooms that it may import.
struct Room {
    /// Folder, below the project's.
    folder: &'static str,
    /// Name of its crate.
    name: &'static str,
    /// Rooms that its sources and its build script may import.
    imports: &'static [&'static str],
}

/// The rooms from the ground floor up. A room's tests (`dev-dependencies`) may import every room that stands before it
/// here, and the room itself with other features.
const ROOMS: [Room; 9] = [
    Room { folder: "dumper", name: "dumper", imports: &[] },
    Room { folder: "corpus", name: "corpus", imports: &["dumper"] },
    Room { folder: "p4", name: "p4", imports: &["corpus", "dumper"] },
    Room { folder: "mutators", name: "mutators", imports: &["corpus"] },
    Room { folder: "scoring", name: "scoring", imports: &["corpus", "dumper"] },
    Room { folder: "executor", name: "executor", imports: &["corpus", "dumper", "p4"] },
    Room { folder: "fuzzer", name: "fuzzer", imports: BELOW_FUZZER },
    Room { folder: "fuzz/bodies", name: "fuzz-bodies", imports: BELOW_TESTS },
    Room { folder: "tests", name: "tests", imports: BELOW_TESTS },
];

const BELOW_FUZZER: &[&str] = &["corpus", "dumper", "executor", "mutators", "p4", "scoring"];
const BELOW_TESTS: &[&str] = &["corpus", "dumper", "executor", "fuzzer", "mutators", "p4", "scoring"];

/// A manifest of the workspace.
fn manifest(folder: &str) -> Table {
    let path = root().join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Crates in the tables of a manifest with this name, those of single platforms included.
fn crates(manifest: &Table, name: &str) -> Vec<String> {
    let of_platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = std::iter::once(manifest).chain(of_platforms.filter_map(Value::as_table));
    let listed = tables.filter_map(|table| table.get(name)?.as_table());
    let package = |(name, value): (&String, &Value)| {
        let renamed = value.get("package").and_then(Value::as_str);
        renamed.unwrap_or(name).to_owned()
    };
    listed.flat_map(|table| table.iter().map(package)).collect()
}

#[test]
fn rooms_import_no_room_above_them() {
    let floors: BTreeMap<&str, usize> =
        ROOMS.iter().enumerate().map(|(floor, room)| (room.name, floor)).collect();
    let mut wrong = Vec::new();
    for room in &ROOMS {
        let manifest = manifest(room.folder);
        let imports = ["dependencies", "build-dependencies"].map(|name| crates(&manifest, name)).concat();
        for other in imports.iter().filter(|other| floors.contains_key(&***other)) {
            if !room.imports.contains(&&**other) {
                wrong.push(format!("{} imports {other}", room.name));
            }
        }
        for other in crates(&manifest, "dev-dependencies") {
            if floors.get(&*other).is_some_and(|floor| *floor > floors[room.name]) {
                wrong.push(format!("the tests of {} import {other}", room.name));
            }
        }
        for allowed in room.imports {
            assert!(floors[allowed] < floors[room.name], "{} is above {}", allowed, room.name);
        }
    }
    assert!(wrong.is_empty(), "rooms that import what they must not:\n{}", wrong.join("\n"));
}

#[test]
fn every_member_of_the_workspace_is_a_room() {
    let manifest = manifest("");
    let members = manifest["workspace"]["members"].as_array().unwrap().iter().filter_map(Value::as_str);
    let members: BTreeSet<&str> = members.collect();
    assert_eq!(members, ROOMS.iter().map(|room| room.folder).collect());
}
