//! From text to a [`Script`], or to everything that is wrong with it: one problem for each wrong line.

mod expect;
mod inject;
mod packet;

use std::collections::BTreeMap;

use super::words::{Words, quoted, unknown, without_comment};
use super::{
    At, Expectation, Injection, MAX_PROBLEMS, Packet, Placed, Post, PostVerb, Problem, Scope, Script,
    ScriptErrors, Setting, Step,
};

/// Most bytes of a script: its parsed lines take about ten times as much memory.
pub const MAX_BYTES: usize = 4 << 20;

/// Most packet lines of a script. Nobody reads more, and longer recordings end with `...`.
pub const MAX_PACKETS: usize = 20_000;

/// Most packets of a group: each packet seen is compared with all of them.
pub const MAX_GROUP: usize = 256;

/// Reads a script. `file` is its name in messages, and the folder that its paths are relative to.
///
/// # Errors
/// Everything that is wrong with the text, at most [`MAX_PROBLEMS`] of it in words.
pub fn parse(file: &str, text: &str) -> Result<Script, ScriptErrors> {
    if text.len() > MAX_BYTES {
        let at = At { line: 1, column: 1 };
        let problem =
            Problem::new(at, "the file is too large", format!("a script has at most {MAX_BYTES} bytes"));
        return Err(ScriptErrors::new(file, vec![problem], 0));
    }
    let mut parser = Parser::default();
    for (number, line) in (1..).zip(text.lines()) {
        parser.line(line, number);
    }
    parser.finish(file)
}

#[derive(Default)]
struct Parser {
    /// Lines of the comment at the top; `body` ends it.
    prose: Vec<String>,
    body: bool,
    settings: Vec<Setting>,
    /// Lines of the settings, by scope and key.
    set: BTreeMap<(Scope, String), u32>,
    post: Option<Post>,
    injections: Vec<Injection>,
    steps: Vec<Step>,
    packets: usize,
    /// Packets of the group that is open, and where it began.
    group: Option<(At, Vec<Packet>)>,
    expectations: Vec<Expectation>,
    problems: Vec<Problem>,
    unkept: usize,
}

/// Words that a line can begin with, `+` standing for a time.
const BEGINNINGS: [&str; 12] = [
    "nic",
    "traffic",
    "network",
    "requester",
    "responder",
    "control",
    "inject",
    "expect",
    "+0",
    "{",
    "}",
    "...",
];

impl Parser {
    fn line(&mut self, line: &str, number: u32) {
        if !self.body {
            if let Some(comment) = line.trim_start().strip_prefix('#') {
                self.prose.push(comment.strip_prefix(' ').unwrap_or(comment).trim_end().to_owned());
                return;
            }
            // Empty lines may come before the comment, but not in it.
            self.body = !self.prose.is_empty() || !line.trim().is_empty();
        }
        let mut words = Words::new(without_comment(line), number);
        let Some(first) = words.peek() else { return };
        let result = match first.value {
            "nic" => self.setting(Scope::Hosts, first.at, &mut words),
            "traffic" => self.setting(Scope::Traffic, first.at, &mut words),
            "control" => self.setting(Scope::Control, first.at, &mut words),
            "network" => self.setting(Scope::Network, first.at, &mut words),
            "requester" => self.setting(Scope::Requester, first.at, &mut words),
            "responder" => self.setting(Scope::Responder, first.at, &mut words),
            "inject" => inject::line(&mut words).map(|injection| self.injections.push(injection)),
            "expect" => expect::line(&mut words).map(|expectation| self.expectations.push(expectation)),
            "..." => self.skip(&mut words),
            "{" => self.open(&mut words),
            "}" => self.close(&mut words),
            word if word.starts_with('+') => self.timed(&mut words),
            ">" | "<" | "post" => Err(Problem::new(
                first.at,
                "the line has no time",
                format!("begin it with +0 for `in order`, or a range such as +0~+5us: +0 {}", first.value),
            )),
            _ => Err(unknown(first, "begins no line", &BEGINNINGS)),
        };
        if let Err(problem) = result {
            self.report(problem);
        }
    }

    fn report(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.unkept += 1;
        }
    }

    fn setting(&mut self, scope: Scope, at: At, words: &mut Words<'_>) -> Result<(), Problem> {
        // The first word is the key of what has no other.
        if !matches!(scope, Scope::Hosts | Scope::Control) {
            words.next();
        }
        let key = words.need("the key", "write a key of a test file and its value")?;
        let value = words.rest();
        if value.value.is_empty() {
            return Err(Problem::new(
                value.at,
                format!("{} has no value", quoted(key.value)),
                "write it after the key",
            ));
        }
        if !key.value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            let help = "keys are those of a test file, such as tx-depth";
            return Err(Problem::new(key.at, format!("{} is no key", quoted(key.value)), help));
        }
        let before = self.set.insert((scope, key.value.to_owned()), at.line);
        if let Some(line) = before.filter(|_| scope != Scope::Control) {
            let message = format!("{} is set again", quoted(key.value));
            return Err(Problem::new(key.at, message, format!("line {line} sets it; keep one")));
        }
        let owned = |word: Placed<&str>| Placed { at: word.at, value: word.value.to_owned() };
        self.settings.push(Setting { at, scope, key: owned(key), value: owned(value) });
        Ok(())
    }

    /// A line that begins with a time: the post line or a packet.
    fn timed(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        let at = words.rest().at;
        let time = packet::window(words)?;
        if words.peek().is_some_and(|word| word.value == "post") {
            let post = post(at, words)?;
            if time != super::Window::ANY {
                let help = "all messages are posted at the start, as fast as tx-depth lets them: write +0";
                return Err(Problem::new(at, "messages cannot be posted later", help));
            }
            if let Some(first) = &self.post {
                let message = format!("a script posts once, and line {} did", first.at.line);
                let help = "all messages of a test are alike and are posted from the start; \
                            write their number there: post write 4096 x 10";
                return Err(Problem::new(at, message, help));
            }
            self.post = Some(post);
            return Ok(());
        }
        let packet = packet::packet(time, words)?;
        self.packets += 1;
        if self.packets == MAX_PACKETS + 1 {
            let message = format!("the script has more than {MAX_PACKETS} packets");
            return Err(Problem::new(at, message, "leave packets out with `...`"));
        }
        match &mut self.group {
            _ if self.packets > MAX_PACKETS => {}
            None => self.steps.push(Step::Packet(packet)),
            Some((_, group)) if group.len() == MAX_GROUP => {
                let help = format!("at most {MAX_GROUP} are allowed; leave packets out with `...`");
                return Err(Problem::new(at, "the group has too many packets", help));
            }
            Some((_, group)) => group.push(packet),
        }
        Ok(())
    }

    fn skip(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        let at = words.rest().at;
        words.next();
        words.end()?;
        if self.group.is_some() {
            return Err(Problem::new(
                at,
                "packets cannot be skipped in a group",
                "close the group with } first",
            ));
        }
        if let Some(Step::Skip(before)) = self.steps.last() {
            let message = format!("line {} skips packets already", before.line);
            return Err(Problem::new(at, message, "one `...` stands for any number of packets"));
        }
        self.steps.push(Step::Skip(at));
        Ok(())
    }

    fn open(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        let at = words.rest().at;
        words.next();
        words.end()?;
        if let Some((open, _)) = &self.group {
            let message = format!("a group is open since line {}", open.line);
            return Err(Problem::new(at, message, "close it with } first; groups do not nest"));
        }
        self.group = Some((at, Vec::new()));
        Ok(())
    }

    fn close(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        let at = words.rest().at;
        words.next();
        words.end()?;
        match self.group.take() {
            None => Err(Problem::new(at, "no group is open", "open one with {")),
            // Its lines may have been wrong.
            Some((_, group)) if group.is_empty() && self.problems.is_empty() => {
                Err(Problem::new(at, "the group is empty", "write its packets between { and }, one a line"))
            }
            Some((_, group)) => {
                self.steps.push(Step::Group(group));
                Ok(())
            }
        }
    }

    fn finish(mut self, file: &str) -> Result<Script, ScriptErrors> {
        if let Some((at, _)) = self.group.take() {
            self.report(Problem::new(at, "the group is not closed", "close it with } on a line of its own"));
        }
        if self.post.is_none() && self.problems.is_empty() {
            let help = "write what is sent, for example: +0 post write 4096";
            self.report(Problem::new(At { line: 1, column: 1 }, "the script posts nothing", help));
        }
        match self.post {
            Some(post) if self.problems.is_empty() => Ok(Script {
                file: file.to_owned(),
                prose: self.prose,
                settings: self.settings,
                post,
                injections: self.injections,
                steps: self.steps,
                expectations: self.expectations,
            }),
            _ => Err(ScriptErrors::new(file, self.problems, self.unkept)),
        }
    }
}

/// `post VERB SIZE [mtu N] [x COUNT]`
fn post(at: At, words: &mut Words<'_>) -> Result<Post, Problem> {
    let largest = i64::from(u32::MAX);
    words.next();
    let verb = words.choice::<PostVerb>("a verb", &PostVerb::NAMES)?;
    let size = placed_u32(words.number(verb_name(verb.value), 0, largest)?);
    let mut post = Post { at, verb, size, mtu: None, count: None };
    while let Some(word) = words.next() {
        let (slot, name) = match word.value {
            "mtu" => (&mut post.mtu, "mtu"),
            "x" => (&mut post.count, "x"),
            _ => return Err(unknown(word, "does not belong to a post line", &["mtu", "x"])),
        };
        if slot.is_some() {
            return Err(Problem::new(word.at, format!("{} is given again", quoted(name)), "keep one"));
        }
        *slot = Some(placed_u32(words.number(name, 0, largest)?));
    }
    Ok(post)
}

fn verb_name(verb: PostVerb) -> &'static str {
    PostVerb::NAMES.iter().find(|(_, known)| *known == verb).map_or("", |(name, _)| name)
}

/// A number that was read with bounds inside of 32 bits.
fn as_u32(number: i64) -> u32 {
    u32::try_from(number).expect("the bounds of the number are inside of 32 bits")
}

fn placed_u32(number: Placed<i64>) -> Placed<u32> {
    Placed { at: number.at, value: as_u32(number.value) }
}
