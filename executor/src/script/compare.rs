//! The lines of a script against the packets of an observation, in order.

use corpus::TestConfig;
use dumper::script::{
    Action, At, Direction, Field, Found, Operand, Packet, Placed, Scope, Script, Span, Step, Unit,
};
use dumper::trace::Origin;
use dumper::{Event, Nanos, Observation};

use super::expect::expectations;
use super::mismatch::Mismatch;
use super::seen::Seen;
use super::times::timeout;

/// Mismatches of packets after which the comparison ends: who reads one script's differences reads the first ones.
const MAX_MISMATCHES: usize = 50;

/// Differences of an observation from a script: none if it passed. `config` is the script's
/// ([`super::to_config`]), `found` is what the analyzers say.
///
/// Packets are compared until one is another packet than the line says; a difference in fields, times or
/// events alone does not end the comparison, up to 50 of them. Expectations are checked in any case.
pub fn compare(
    script: &Script,
    config: &TestConfig,
    observation: &Observation,
    found: &Found,
) -> Vec<Mismatch> {
    let seen = Seen::new(config, observation);
    let mut matcher = Matcher {
        script,
        timeout: timeout(&config.traffic),
        shows_events: observation.trace.origin() == Origin::Mirror,
        next: 0,
        last: None,
        mismatches: Vec::new(),
        seen,
    };
    matcher.strays();
    // An error has been noted.
    let _ = matcher.steps();
    let mut mismatches = matcher.mismatches;
    mismatches.extend(expectations(script, config, observation, found));
    mismatches
}

/// The comparison cannot go on.
struct Stop;

struct Matcher<'a> {
    script: &'a Script,
    seen: Seen<'a>,
    timeout: Nanos,
    /// True if the trace shows the injector's actions.
    shows_events: bool,
    /// The next packet of the trace.
    next: usize,
    /// The packet of the line before.
    last: Option<usize>,
    mismatches: Vec<Mismatch>,
}

impl Matcher<'_> {
    fn note(&mut self, at: At, what: String, expected: Option<&Packet>, seen: Option<usize>) {
        // At the end of the trace its last packets are shown.
        let around = seen.unwrap_or(self.next).min(self.seen.len());
        self.mismatches.push(Mismatch {
            file: self.script.file.clone(),
            at,
            what,
            expected: expected.map(Packet::to_string),
            seen: seen.map(|seen| self.seen.text(seen, expected)),
            trace: self.seen.around(around),
        });
    }

    fn strays(&mut self) {
        let mut strays = self.seen.strays();
        let count = strays.len();
        let Some(first) = strays.next() else { return };
        let first = format!("{} with sequence number {}", first.opcode(), first.sequence);
        let what = match count {
            1 => format!("a packet belongs to no connection of the test: {first}"),
            _ => format!("{count} packets belong to no connection of the test, the first is {first}"),
        };
        let (file, at) = (self.script.file.clone(), self.script.post.at);
        self.mismatches.push(Mismatch { file, at, what, expected: None, seen: None, trace: Vec::new() });
    }

    fn steps(&mut self) -> Result<(), Stop> {
        let script = self.script;
        let mut skip = false;
        for step in &script.steps {
            match step {
                Step::Skip(_) => {
                    skip = true;
                    continue;
                }
                Step::Packet(packet) => self.group(std::slice::from_ref(packet), skip)?,
                Step::Group(packets) => self.group(packets, skip)?,
            }
            skip = false;
        }
        if !skip && self.next < self.seen.len() {
            let at = script.packets().last().map_or(script.post.at, |packet| packet.at);
            let left = self.seen.len() - self.next;
            let what = match left {
                1 => "a packet is left over after the last line; end with `...` if that may be".to_owned(),
                _ => {
                    format!("{left} packets are left over after the last line; end with `...` if that may be")
                }
            };
            self.note(at, what, None, Some(self.next));
        }
        Ok(())
    }

    /// Packets in any order; a single one is a group of one.
    fn group(&mut self, packets: &[Packet], skip: bool) -> Result<(), Stop> {
        let since = self.last;
        let mut open: Vec<&Packet> = packets.iter().collect();
        if skip {
            self.skip_to(&open)?;
        }
        while let Some(first) = open.first() {
            if self.next == self.seen.len() {
                let what = "the packet was not seen: the trace ends before it".to_owned();
                self.note(first.at, what, Some(first), None);
                return Err(Stop);
            }
            let seen = self.seen.packet(self.next);
            let Some(chosen) = open
                .iter()
                .position(|line| fits(line, &seen))
                .or_else(|| open.iter().position(|line| is(line, &seen)))
            else {
                self.note_other(&open, &seen);
                return Err(Stop);
            };
            if self.mismatches.len() >= MAX_MISMATCHES {
                return Err(Stop);
            }
            let line = open.remove(chosen);
            self.check(line, &seen, since);
            self.last = Some(self.next);
            self.next += 1;
        }
        Ok(())
    }

    /// Goes on to the next packet that fits one of the lines.
    fn skip_to(&mut self, open: &[&Packet]) -> Result<(), Stop> {
        let found = (self.next..self.seen.len()).find(|at| {
            let seen = self.seen.packet(*at);
            open.iter().any(|line| fits(line, &seen))
        });
        if let Some(found) = found {
            self.next = found;
            return Ok(());
        }
        let line = open[0];
        let near = (self.next..self.seen.len()).find(|at| {
            let seen = self.seen.packet(*at);
            (seen.direction, seen.name, seen.qp) == (line.direction, line.name, line.qp)
        });
        let rest = self.seen.len() - self.next;
        let what = match near {
            Some(_) => format!("none of the {rest} packets after `...` is this one; the nearest is another"),
            None => format!("none of the {rest} packets after `...` is this one"),
        };
        self.note(line.at, what, Some(line), near);
        Err(Stop)
    }

    /// The packet belongs to none of the lines.
    fn note_other(&mut self, open: &[&Packet], seen: &Packet) {
        let line = open[0];
        let mut what = difference(line, seen);
        if open.len() > 1 {
            let lines: Vec<String> = open.iter().map(|line| line.at.line.to_string()).collect();
            what = format!("the packet is none of the group's open lines {}", lines.join(", "));
        }
        self.note(line.at, what, Some(line), Some(self.next));
    }

    /// Compares the fields in which a packet may differ from its line and still be the packet of that line.
    fn check(&mut self, line: &Packet, seen: &Packet, since: Option<usize>) {
        let at = self.next;
        for (field, expected) in &line.fields {
            let value = seen.fields.get(field);
            if value != Some(expected) {
                let (expected, value) = (said(*field, Some(*expected)), said(*field, value.copied()));
                self.note(
                    line.at,
                    format!("{}: expected {expected}, seen {value}", field.name()),
                    Some(line),
                    Some(at),
                );
            }
        }
        let distance = self.seen.time(at) - self.seen.time(since.unwrap_or(0));
        if !line.time.holds(distance, self.timeout) {
            let seen = Span::whole(distance.0, Unit::Ns);
            let what = format!("time: expected {}, seen +{seen} after the line before", line.time);
            self.note(line.at, what, Some(line), Some(at));
        }
        self.check_event(line, at);
    }

    /// The injector's actions must be those of the line; a line without events leaves them open. An `inject`
    /// line or the network may have added to it.
    fn check_event(&mut self, line: &Packet, at: usize) {
        let (expected, seen) = (event_of(&line.actions), self.seen.event(at));
        let networked = self.script.settings.iter().any(|setting| setting.scope == Scope::Network);
        let added = seen == Event::Several && (networked || !self.script.injections.is_empty());
        if self.shows_events && expected != Event::None && expected != seen && !added {
            self.note(line.at, format!("event: expected {expected}, seen {seen}"), Some(line), Some(at));
        }
    }
}

/// The event that the injector records for its actions on a packet.
pub(super) fn event_of(actions: &[Placed<Action>]) -> Event {
    // A copy that is lost leaves no trace but in the number of packets that leave.
    let shown = |action: &&Placed<Action>| !matches!(action.value.operand, Operand::Copy(_));
    Event::of(actions.iter().filter(shown).map(|action| action.value.kind))
}

/// Returns true if the packet is the line's, whatever its other fields.
fn is(line: &Packet, seen: &Packet) -> bool {
    let psn = line.fields.get(&Field::Psn);
    (line.direction, line.name, line.qp) == (seen.direction, seen.name, seen.qp)
        && psn.is_none_or(|psn| seen.fields.get(&Field::Psn) == Some(psn))
}

/// Returns true if the packet is the line's in all fields.
fn fits(line: &Packet, seen: &Packet) -> bool {
    is(line, seen) && line.fields.iter().all(|(field, value)| seen.fields.get(field) == Some(value))
}

/// Difference that makes it another packet.
fn difference(line: &Packet, seen: &Packet) -> String {
    let way = |direction| match direction {
        Direction::ToResponder => "to the responder (>)",
        Direction::ToRequester => "to the requester (<)",
    };
    if line.direction != seen.direction {
        return format!("direction: expected {}, seen {}", way(line.direction), way(seen.direction));
    }
    if line.name != seen.name {
        return format!("packet: expected {}, seen {}", line.name, seen.name);
    }
    if line.qp != seen.qp {
        return format!("qp: expected {}, seen {}", line.qp, seen.qp);
    }
    let psn = |packet: &Packet| said(Field::Psn, packet.fields.get(&Field::Psn).copied());
    format!("psn: expected {}, seen {}", psn(line), psn(seen))
}

/// A value as scripts say it.
fn said(field: Field, value: Option<i64>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    let word = Field::WORDS.iter().find(|(_, known, stands_for)| (*known, *stands_for) == (field, value));
    word.map_or_else(|| value.to_string(), |(word, ..)| (*word).to_owned())
}
