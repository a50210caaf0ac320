//! From a script to a [`TestConfig`]. The settings go through the reader of test files, so that keys, bounds and
//! messages are those of test files; its places are turned into places of the script.

use std::path::Path;

use corpus::{Repeat, RoceSetting, Role, TestConfig, Violation, clip, from_toml_without_events};
use dumper::script::{
    At, Delivered, Expected, Placed, PostVerb, Problem, Scope, Script, ScriptErrors, Setting, nearest,
};

use super::{events, times};

/// Keys of `[traffic]` that the post line says.
pub(super) const POSTED: [&str; 4] = ["rdma-verb", "message-size", "mtu", "num-msgs-per-qp"];

/// Keys of the table `roce-parameters` of a host.
fn roce_keys() -> impl Iterator<Item = &'static str> {
    RoceSetting::ALL.into_iter().filter_map(|setting| setting.path().strip_prefix("roce-parameters."))
}

/// The test that a script describes.
///
/// # Errors
/// Everything that is wrong with its settings; if nothing is, with its times; if nothing is, with its events,
/// connections and expectations. Bounds are those of test files.
pub fn to_config(script: &Script) -> Result<TestConfig, ScriptErrors> {
    let refuse = |problems| ScriptErrors::new(&script.file, problems, 0);
    let toml = Toml::of(script).map_err(refuse)?;
    let mut config = from_toml_without_events(&script.file, &toml.text).map_err(|errors| {
        let problems = errors.problems.iter().map(|problem| toml.translate(problem, script.post.at));
        ScriptErrors::new(&script.file, problems.collect(), errors.omitted)
    })?;
    for role in Role::ALL {
        let nic = &mut config.host_mut(role).nic;
        *nic = beside(&script.file, nic);
    }
    // Delays can only be judged with T.
    let times = times::problems(script, &config.traffic);
    if !times.is_empty() {
        return Err(refuse(times));
    }
    let (events, mut problems) = events::events(script, &config.traffic);
    problems.extend(beyond(script, &config));
    let (places, events): (Vec<At>, Vec<_>) = events.into_iter().unzip();
    config.events = events;
    problems.extend(config.violations().into_iter().map(|violation| in_script(violation, script, &places)));
    if problems.is_empty() { Ok(config) } else { Err(refuse(problems)) }
}

/// A profile's path is relative to the script; a profile's name stays.
fn beside(script: &str, nic: &str) -> String {
    let is_path =
        nic.contains('/') || Path::new(nic).extension().is_some_and(|extension| extension == "toml");
    match Path::new(script).parent() {
        Some(folder) if is_path => folder.join(nic).display().to_string(),
        _ => nic.to_owned(),
    }
}

/// Connections and messages that the test does not have.
fn beyond(script: &Script, config: &TestConfig) -> Vec<Problem> {
    let (connections, each) = (config.traffic.load.connections(), config.traffic.num_msgs_per_qp);
    let all = u64::from(connections) * u64::from(each);
    let mut problems = Vec::new();
    let mut qp = |at: At, qp: u32| {
        if qp > connections {
            let message = format!("there is no connection {qp}: the test has {connections}");
            problems.push(Problem::new(
                at,
                message,
                format!("allowed: 1 to {connections}; see num-connections"),
            ));
        }
    };
    script.packets().for_each(|packet| qp(packet.at, packet.qp));
    for expectation in &script.expectations {
        if let Expected::Completion { qp: Some(number), .. } = expectation.expected {
            qp(expectation.at, number);
        }
    }
    for expectation in &script.expectations {
        let message = match &expectation.expected {
            Expected::Completion { messages: Some(messages), .. } if messages.last > each => {
                format!("there is no message {}: each connection has {each}", messages.last)
            }
            Expected::Delivered(Delivered::Some { of, .. }) if *of != all => {
                format!("the test has {all} messages, not {of}")
            }
            _ => continue,
        };
        problems.push(Problem::new(expectation.at, message, "the post line says how many there are"));
    }
    problems
}

/// A rule that is broken by an event or with the events, in the words of the script: events have lines, not numbers.
fn in_script(violation: Violation, script: &Script, places: &[At]) -> Problem {
    let index =
        |path: &str| path.strip_prefix("event[")?.split_once(']')?.0.parse::<usize>().ok()?.checked_sub(1);
    let of_event = index(&violation.field).and_then(|index| places.get(index)).copied();
    let of_setting = || {
        let (scope, key) = violation.field.split_once('.')?;
        let named = |setting: &&Setting| (setting.scope.name(), setting.key.value.as_str()) == (scope, key);
        Some(script.settings.iter().find(named)?.key.at)
    };
    let at = of_event.or_else(of_setting);
    let field = match (of_event, violation.field.split_once("].")) {
        (Some(_), Some((_, field))) => format!("{field}: "),
        (Some(_), None) => String::new(),
        (None, _) => format!("{}: ", violation.field),
    };
    let mut message = violation.message;
    for (number, other) in
        violation.rests_on.iter().filter_map(|path| Some((path, places.get(index(path)?)?)))
    {
        message = message.replace(number.as_str(), &format!("the event of line {}", other.line));
    }
    Problem::new(at.unwrap_or(script.post.at), format!("{field}{message}"), violation.help)
}

/// The settings as a test file, and where each of its lines comes from.
#[derive(Default)]
struct Toml {
    text: String,
    lines: Vec<Option<Source>>,
}

/// Origin of a line of the test file.
struct Source {
    key: At,
    value: At,
    /// Column at which the value begins in the test file, after the quote that the script may leave out.
    column: usize,
}

impl Toml {
    fn of(script: &Script) -> Result<Self, Vec<Problem>> {
        let mut toml = Self::default();
        let mut problems = Vec::new();
        toml.operations(script, &mut problems);
        for (name, scope) in [("requester", Scope::Requester), ("responder", Scope::Responder)] {
            let own = || script.settings.iter().filter(|setting| setting.scope == scope);
            let has_nic = own().any(|setting| setting.key.value == "nic");
            let both = script.settings.iter().filter(|setting| setting.scope == Scope::Hosts && !has_nic);
            let is_roce = |setting: &&Setting| nearest(&setting.key.value, roce_keys()).is_some();
            let host = both.chain(own().filter(|setting| !is_roce(setting)));
            toml.section(name, host, &mut problems);
            toml.section(&format!("{name}.roce-parameters"), own().filter(is_roce), &mut problems);
        }
        let traffic = script.settings.iter().filter(|setting| setting.scope == Scope::Traffic);
        let (said, traffic): (Vec<_>, Vec<_>) =
            traffic.partition(|setting| POSTED.contains(&setting.key.value.as_str()));
        for setting in said {
            let message = format!("`{}` is said by the post line", setting.key.value);
            let help = "write it there: post VERB SIZE mtu N x COUNT";
            problems.push(Problem::new(setting.key.at, message, help));
        }
        toml.section("traffic", traffic.into_iter(), &mut problems);
        toml.post(script);
        let network = || script.settings.iter().filter(|setting| setting.scope == Scope::Network);
        let is_of_repeat =
            |setting: &&Setting| nearest(&setting.key.value, Repeat::KEYS.iter().copied()).is_some();
        if network().next().is_some() {
            toml.section("network", network().filter(|setting| !is_of_repeat(setting)), &mut problems);
            toml.section("network.repeat", network().filter(is_of_repeat), &mut problems);
        }
        if problems.is_empty() { Ok(toml) } else { Err(problems) }
    }

    fn section<'s>(
        &mut self,
        header: &str,
        settings: impl Iterator<Item = &'s Setting>,
        problems: &mut Vec<Problem>,
    ) {
        self.line(&format!("[{header}]"), None);
        for setting in settings {
            match value(&setting.value) {
                Ok((text, quote)) => {
                    self.field(&setting.key.value, setting.key.at, &text, quote, setting.value.at);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }

    /// The operations on flow tables, as one list before all sections.
    fn operations(&mut self, script: &Script, problems: &mut Vec<Problem>) {
        let all = script.settings.iter().filter(|setting| setting.scope == Scope::Control);
        let mut all = all.peekable();
        let Some(first) = all.peek() else { return };
        self.line(&format!("{} = [", first.key.value), None);
        for setting in all {
            match value(&setting.value) {
                Ok((text, quote)) => {
                    let source = Source { key: setting.key.at, value: setting.value.at, column: 1 + quote };
                    self.line(&format!("{text},"), Some(source));
                }
                Err(problem) => problems.push(problem),
            }
        }
        self.line("]", None);
    }

    fn post(&mut self, script: &Script) {
        let post = &script.post;
        let verb = match post.verb.value {
            PostVerb::Write => "\"write\"",
            PostVerb::Read => "\"read\"",
            PostVerb::Send => "\"send\"",
            PostVerb::SendRead => "\"send_read\"",
        };
        let [verb_key, size_key, mtu_key, count_key] = POSTED;
        self.field(verb_key, post.verb.at, verb, 1, post.verb.at);
        self.field(size_key, post.size.at, &post.size.value.to_string(), 0, post.size.at);
        if let Some(mtu) = post.mtu {
            self.field(mtu_key, mtu.at, &mtu.value.to_string(), 0, mtu.at);
        }
        let count = post.count.unwrap_or(Placed { at: post.at, value: 1 });
        self.field(count_key, count.at, &count.value.to_string(), 0, count.at);
    }

    fn field(&mut self, key: &str, key_at: At, text: &str, quote: usize, value_at: At) {
        let column = key.len() + " = ".len() + 1 + quote;
        self.line(&format!("{key} = {text}"), Some(Source { key: key_at, value: value_at, column }));
    }

    fn line(&mut self, line: &str, source: Option<Source>) {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines.push(source);
    }

    /// A problem of the test file as one of the script.
    fn translate(&self, problem: &corpus::Problem, fallback: At) -> Problem {
        let at = problem.location.and_then(|location| {
            let source = self.lines.get(location.line.checked_sub(1)?)?.as_ref()?;
            if location.column + 1 < source.column {
                return Some(source.key);
            }
            let inside = u32::try_from(location.column.saturating_sub(source.column)).ok()?;
            Some(At { column: source.value.column + inside, ..source.value })
        });
        let field = if problem.field.is_empty() { String::new() } else { format!("{}: ", problem.field) };
        Problem::new(at.unwrap_or(fallback), format!("{field}{}", problem.message), problem.help.clone())
    }
}

/// A value as a test file writes it, and how many quotes had to be put before it: a single word may stand without.
fn value(value: &Placed<String>) -> Result<(String, usize), Problem> {
    let text = &value.value;
    if is_toml(text) {
        return Ok((text.clone(), 0));
    }
    if !is_plain(text) {
        let help =
            "write a number, true, false, a word, or what a test file would have there, such as [1, 2]";
        return Err(Problem::new(value.at, format!("`{}` is no value", clip(text)), help));
    }
    Ok((format!("\"{text}\""), 1))
}

/// Returns true if a text may stand in a setting without quotes.
pub(super) fn needs_no_quotes(text: &str) -> bool {
    is_plain(text) && !text.is_empty() && !text.starts_with('#') && !is_toml(text)
}

fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'[]{},=\\".contains(c))
}

fn is_toml(text: &str) -> bool {
    toml::from_str::<toml::Table>(&format!("v = {text}")).is_ok_and(|table| table.len() == 1)
}
