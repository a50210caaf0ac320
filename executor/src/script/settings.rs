//! The settings of a test, as a script writes them: the keys of the canonical text that differ from those of a plain test, with its
//! inner tables as values.

use corpus::{Offload, Path, Role, TestConfig};
use dumper::script::{Placed, Scope, Setting};

use super::config::{POSTED, needs_no_quotes};

/// Settings of a test that differ from the defaults of a test file, besides those of the post line.
#[must_use]
pub fn settings(config: &TestConfig) -> Vec<Setting> {
    let plain_tables = tables(&with_tables());
    let own = keys(&tables(config), &plain_tables);
    let mut plain = keys(&plain_tables, &plain_tables);
    // That one has these only so that all sections are there.
    plain.retain(|key| !["offload", "path"].contains(&&*key.name));
    let (requester, responder) = (&config.requester.nic, &config.responder.nic);
    let nics = own.iter().filter(|key| key.name == NIC).filter_map(|key| match key.scope {
        Scope::Requester if requester == responder => Some(Key { scope: Scope::Hosts, ..key.clone() }),
        Scope::Responder if requester == responder => None,
        _ => Some(key.clone()),
    });
    let said = |name: &str| name == NIC || POSTED.contains(&name);
    let others = own.iter().filter(|key| !said(&key.name) && !plain.contains(key)).cloned();
    nics.chain(others).map(setting).collect()
}

const NIC: &str = "nic";

fn setting(key: Key) -> Setting {
    let Key { scope, name, value } = key;
    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let value = bare.filter(|bare| needs_no_quotes(bare)).map(str::to_owned).unwrap_or(value);
    Setting { at: Default::default(), scope, key: Placed::new(name), value: Placed::new(value) }
}

/// A key of a script, and its value as a test file writes it.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    scope: Scope,
    name: String,
    value: String,
}

/// A table of the canonical text: its header, and its keys with their values, one a line there.
#[derive(Default)]
struct Table {
    header: String,
    keys: Vec<(String, String)>,
}

impl Table {
    /// The keys that a plain table has not, as a table in one line begins them.
    fn fields(&self, plain: &[Self]) -> Vec<String> {
        let plain = plain.iter().find(|plain| plain.header == self.header);
        let is_plain = |key| plain.is_some_and(|plain| plain.keys.contains(key));
        let own = self.keys.iter().filter(|key| !is_plain(key));
        own.map(|(name, value)| format!("{name} = {value}")).collect()
    }
}

/// A table in one line.
fn table(fields: &[String]) -> String {
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

/// A plain test with the inner tables that such a test does not have.
fn with_tables() -> TestConfig {
    let mut plain = TestConfig::default();
    for role in Role::ALL {
        plain.host_mut(role).offload = Some(Offload::default());
    }
    plain.network.paths = vec![Path::default()];
    plain
}

/// The keys of a test with these tables; of the inner ones without what they have in common with plain ones.
fn keys(tables: &[Table], plain: &[Table]) -> Vec<Key> {
    let list = |header: &str| {
        let same = tables.iter().filter(|table| table.header == header);
        let same: Vec<_> = same.map(|one| table(&one.fields(plain))).collect();
        format!("[{}]", same.join(", "))
    };
    let mut keys = Vec::new();
    for (at, of) in tables.iter().enumerate() {
        let (first, inner) = of.header.split_once('.').unwrap_or((&of.header, ""));
        let scope = match first {
            "requester" => Scope::Requester,
            "responder" => Scope::Responder,
            "network" => Scope::Network,
            "control" => Scope::Control,
            _ => Scope::Traffic,
        };
        let repeats = tables[..at].iter().any(|before| before.header == of.header);
        let one = |name: &str, value| vec![Key { scope, name: name.to_owned(), value }];
        keys.extend(match (first, inner) {
            ("control", _) => one(first, table(&of.fields(plain))),
            (_, "offload") => {
                let (rules, mut fields) = (format!("{}.rule", of.header), of.fields(plain));
                if tables.iter().any(|table| table.header == rules) {
                    fields.push(format!("rule = {}", list(&rules)));
                }
                one(inner, table(&fields))
            }
            (_, "path") if !repeats => one(inner, list(&of.header)),
            // They stand in the lists of those before.
            (_, "path" | "offload.rule") => Vec::new(),
            _ => of.keys.iter().flat_map(|(name, value)| one(name, value.clone())).collect(),
        });
    }
    keys
}

/// The tables of a test's canonical text, without its events.
fn tables(config: &TestConfig) -> Vec<Table> {
    let text = TestConfig { events: Vec::new(), ..config.clone() }.to_toml();
    let mut tables = vec![Table::default()];
    for line in text.lines() {
        if line.starts_with('[') {
            let header = line.trim_matches(['[', ']']).to_owned();
            tables.push(Table { header, keys: Vec::new() });
        } else if let Some((key, value)) = line.split_once(" = ")
            && let Some(table) = tables.last_mut()
        {
            table.keys.push((key.to_owned(), value.to_owned()));
        }
    }
    tables
}
