//! `expect` lines.

use super::super::words::{Word, Words, number, quoted};
use super::super::{Anomalies, Delivered, Expectation, Expected, Host, Messages, Problem, STATUSES};
use super::as_u32;

const LARGEST: i64 = u32::MAX as i64;

#[derive(Clone, Copy)]
enum What {
    No,
    Anomaly,
    Counter,
    Completion,
    Delivered,
    Packets,
    TimeOuts,
}

const WHAT: [(&str, What); 7] = [
    ("no", What::No),
    ("anomaly", What::Anomaly),
    ("counter", What::Counter),
    ("completion", What::Completion),
    ("delivered", What::Delivered),
    ("packets", What::Packets),
    ("timeouts", What::TimeOuts),
];

pub(super) fn line(words: &mut Words<'_>) -> Result<Expectation, Problem> {
    let at = words.rest().at;
    words.next();
    let expected = match words.choice("something to expect", &WHAT)?.value {
        What::No => {
            words.keyword("anomaly", "write expect no anomaly")?;
            Expected::Anomaly(Anomalies::No)
        }
        What::Anomaly => {
            let kind = words.need("the kind of anomaly", "for example gbn-violation")?.value.to_owned();
            Expected::Anomaly(Anomalies::Some { kind, rule: words.next().map(|rule| rule.value.to_owned()) })
        }
        What::Counter => Expected::Counter {
            host: words.choice("a host", &Host::NAMES)?.value,
            name: words.need("the name of the counter", "for example out_of_sequence")?.value.to_owned(),
            moved: words.number("counter", 0, i64::MAX)?.value as u64,
        },
        What::Completion => completion(words)?,
        What::Delivered => Expected::Delivered(delivered(words)?),
        What::Packets => Expected::Packets(words.number("packets", 0, i64::MAX)?.value as u64),
        What::TimeOuts => Expected::TimeOuts {
            cause: words.need("the cause of the time-outs", "for example tail-lost")?.value.to_owned(),
            // None of a cause that is written wrong would always hold.
            number: words.number("timeouts", 1, i64::MAX)?.value as u64,
        },
    };
    words.end()?;
    Ok(Expectation { at, expected })
}

/// `[qp N] [message N[~M]] STATUS`
fn completion(words: &mut Words<'_>) -> Result<Expected, Problem> {
    let (mut qp, mut messages) = (None, None);
    while let Some(word) = words.peek().filter(|word| ["qp", "message"].contains(&word.value)) {
        words.next();
        let given = if word.value == "qp" { qp.is_some() } else { messages.is_some() };
        if given {
            return Err(Problem::new(word.at, format!("{} is given again", quoted(word.value)), "keep one"));
        }
        if word.value == "qp" {
            qp = Some(as_u32(words.number("qp", 1, LARGEST)?.value));
        } else {
            messages = Some(range(words)?);
        }
    }
    let status = words.choice("the end of a message", &STATUSES)?.value;
    Ok(Expected::Completion { qp, messages, status })
}

fn range(words: &mut Words<'_>) -> Result<Messages, Problem> {
    let word = words.need("the number after `message`", "write one, or a range such as 2~10")?;
    let (first, last) = word.value.split_once('~').unwrap_or((word.value, word.value));
    let end = |text| number(Word { value: text, ..word }, "message", 1, LARGEST).map(as_u32);
    let (first, last) = (end(first)?, end(last)?);
    if last < first {
        let message = format!("the range {first}~{last} is empty");
        return Err(Problem::new(word.at, message, "write the smaller number first"));
    }
    Ok(Messages { first, last })
}

/// `all` or `N of M`
fn delivered(words: &mut Words<'_>) -> Result<Delivered, Problem> {
    const HELP: &str = "write `all`, or how many, as in `3 of 10`";
    let word = words.need("how many messages", HELP)?;
    if word.value == "all" {
        return Ok(Delivered::All);
    }
    let arrived =
        number(word, "delivered", 0, i64::MAX).map_err(|problem| Problem { help: HELP.into(), ..problem })?;
    words.keyword("of", HELP)?;
    let of = words.number("of", arrived, i64::MAX)?.value;
    Ok(Delivered::Some { arrived: arrived as u64, of: of as u64 })
}
