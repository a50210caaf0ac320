//! `inject qp SET psn N [iter N] | KIND nth N [every N [count N]] EVENT...`

use super::super::words::{Word, Words, number, quoted, unknown};
use super::super::{Connections, ControlKind, Injection, Problem, Target};
use super::as_u32;
use super::packet::{action, named};

/// Most connections in a list: those of the largest test.
const MAX_LIST: usize = 10_000;

const LARGEST: i64 = u32::MAX as i64;

pub(super) fn line(words: &mut Words<'_>) -> Result<Injection, Problem> {
    let at = words.rest().at;
    words.next();
    words.keyword("qp", "say on which connections: inject qp 1 psn 7 drop")?;
    let connections = connections(words)?;
    let target = target(words)?;
    let every = optional(words, "every")?;
    let count = match every {
        Some(_) => optional(words, "count")?,
        None => None,
    };
    let mut actions = vec![action(words).map_err(|problem| with_progression(problem, every.is_some()))?];
    while words.peek().is_some() {
        actions.push(action(words)?);
    }
    Ok(Injection { at, connections, target, every, count, actions })
}

/// A word that is not an event may have been meant for something that comes before the events.
fn with_progression(problem: Problem, has_every: bool) -> Problem {
    let help = match problem.help.strip_prefix("allowed: ") {
        Some(events) if !has_every => format!("allowed: every N, or an event: {events}"),
        _ => problem.help,
    };
    Problem { help, ..problem }
}

fn connections(words: &mut Words<'_>) -> Result<Connections, Problem> {
    const HELP: &str = "write a number, numbers with commas as in 1,4,5, `all`, or `first N`";
    let word = words.need("the set of connections", HELP)?;
    match word.value {
        "all" => Ok(Connections::All),
        "first" => Ok(Connections::First(as_u32(words.number("first", 1, LARGEST)?.value))),
        one if !one.contains(',') => {
            let one =
                number(word, "qp", 1, LARGEST).map_err(|problem| Problem { help: HELP.into(), ..problem })?;
            Ok(Connections::One(as_u32(one)))
        }
        list => {
            if list.split(',').count() > MAX_LIST {
                return Err(Problem::new(
                    word.at,
                    "the list is too long",
                    format!("at most {MAX_LIST} connections"),
                ));
            }
            let members = list.split(',').map(|member| {
                let member = Word { value: member, ..word };
                number(member, "qp", 1, LARGEST)
                    .map(as_u32)
                    .map_err(|problem| Problem { help: HELP.into(), ..problem })
            });
            Ok(Connections::List(members.collect::<Result<_, _>>()?))
        }
    }
}

fn target(words: &mut Words<'_>) -> Result<Target, Problem> {
    const HELP: &str = "write psn N for a data packet, or ack, nak, cnp or read-request and nth N";
    let word = words.need("the packet", HELP)?;
    if word.value == "psn" {
        let psn = as_u32(words.number("psn", 1, LARGEST)?.value);
        return Ok(Target::Data { psn, iter: optional(words, "iter")?.unwrap_or(1) });
    }
    let Some((_, kind)) = ControlKind::NAMES.iter().find(|(name, _)| *name == word.value) else {
        if named(word.value).is_some() {
            return Err(Problem::new(
                word.at,
                format!("{} comes before the packet", quoted(word.value)),
                HELP,
            ));
        }
        let kinds = ControlKind::NAMES.map(|(name, _)| name);
        return Err(unknown(word, "names no packet", &[&["psn"][..], &kinds].concat()));
    };
    words.keyword("nth", "control packets are counted: nak nth 1")?;
    Ok(Target::Control { kind: *kind, nth: as_u32(words.number("nth", 1, LARGEST)?.value) })
}

/// The number after a word, if the word is there.
fn optional(words: &mut Words<'_>, name: &str) -> Result<Option<u32>, Problem> {
    if words.peek().is_none_or(|word| word.value != name) {
        return Ok(None);
    }
    words.next();
    Ok(Some(as_u32(words.number(name, 1, LARGEST)?.value)))
}
