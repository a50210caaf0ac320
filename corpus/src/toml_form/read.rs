//! The whole file.

use super::{HOMES, control, event, host, network, traffic};
use crate::{
    config::{Event, Role, TestConfig, fields},
    error::ConfigErrors,
    intake::{conclude, parse},
    source::{Format, Node, Reader, Section, Value},
};

/// Reads a configuration from TOML. `file` names the text in messages.
///
/// # Errors
/// Everything that is wrong with the text, at once: syntax; or unknown keys, wrong types, values
/// out of bounds, contradictions and events on packets that do not exist.
pub fn from_toml(file: &str, text: &str) -> Result<TestConfig, ConfigErrors> {
    whole(file, text, |_| ())
}

/// Reads a configuration whose events are not in its text, but come later: rules that rest on them are left to
/// [`TestConfig::violations`].
///
/// # Errors
/// Everything else that is wrong with the text, as in [`from_toml`].
pub fn from_toml_without_events(file: &str, text: &str) -> Result<TestConfig, ConfigErrors> {
    whole(file, text, |r| r.mark_refused("events"))
}

fn whole(file: &str, text: &str, mark: impl FnOnce(&mut Reader<'_>)) -> Result<TestConfig, ConfigErrors> {
    let tree = parse(file, text, Format::Toml)?;
    let mut r = Reader::new(text, Format::Toml);
    mark(&mut r);
    let config = r.root(&tree).map(|root| read(root, &mut r)).unwrap_or_default();
    conclude(file, text, r, config, |violation| violation)
}

fn read(mut root: Section<'_>, r: &mut Reader<'_>) -> TestConfig {
    let mut config = TestConfig::default();
    for role in Role::ALL {
        if let Some(section) = root.opt_section(r, role.name()) {
            *config.host_mut(role) = host::read(section, role, r);
        }
    }
    if let Some(section) = root.opt_section(r, "traffic") {
        config.traffic = traffic::read(section, r);
    }
    if let Some(section) = root.opt_section(r, "network") {
        config.network = network::read(section, r);
    }
    if let Some(node) = root.node(r, "event") {
        config.events = events(node, r);
    }
    if let Some(node) = root.node(r, "control") {
        config.control = control::read(node, r);
    }
    root.finish(r, &HOMES);
    config
}

fn events(node: &Node, r: &mut Reader<'_>) -> Vec<Event> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        Value::Table(_) => {
            r.refuse(
                &node.span,
                "event",
                "is one table",
                "write [[event]], with two brackets, for each event",
            );
            return Vec::new();
        }
        _ => {
            let message = format!("expected a list of tables, found {}", r.describe(node));
            r.refuse(&node.span, "event", message, "write [[event]] for each event");
            return Vec::new();
        }
    };
    if items.len() > fields::MAX_EVENTS {
        let message = format!("there are {} events", items.len());
        let help = format!("at most {} are allowed; use connection sets and `every`", fields::MAX_EVENTS);
        r.refuse(&items[fields::MAX_EVENTS].span, "event", message, help);
        return Vec::new();
    }
    let mut events = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = format!("event[{}]", index + 1);
        let event = r.section(item, &path, &item.span).and_then(|section| event::read(section, r));
        events.push(event.unwrap_or_else(|| {
            // Keeps the numbers of the others; nothing about it is judged.
            r.mark_refused(&path);
            r.mark_refused("events");
            event::placeholder()
        }));
    }
    events
}
