//! Packet lines: time, direction, name, fields, events.

use std::collections::BTreeMap;

use super::super::words::{Word, Words, quoted, unknown};
use super::super::{
    Action, Direction, Field, Name, Operand, Packet, Placed, Problem, SETTABLE, Span, Window,
};
use super::as_u32;
use crate::{ActionKind, Form};

/// Names of actions.
pub(super) fn actions() -> impl Iterator<Item = &'static str> {
    ActionKind::WORDS.iter().map(|(word, _)| *word)
}

/// The action with a name.
pub(super) fn named(word: &str) -> Option<ActionKind> {
    ActionKind::WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

/// `+a` or `+a~+b`
pub(super) fn window(words: &mut Words<'_>) -> Result<Window, Problem> {
    const HELP: &str = "write +0, or a least time such as +5us, or a range such as +0~+5us; \
                        units are ns, us, ms, s and T (the ACK timeout)";
    let word = words.need("the time", HELP)?;
    let (least, most) = match word.value.split_once('~') {
        Some((least, most)) => (least, Some(most)),
        None => (word.value, None),
    };
    let end = |text: &str| {
        let digits = text.strip_prefix('+').ok_or("does not begin with `+`");
        let span = digits.and_then(Span::read);
        span.map_err(|reason| Problem::new(word.at, format!("the time {} {reason}", quoted(text)), HELP))
    };
    Ok(Window { least: end(least)?, most: most.map(end).transpose()? })
}

/// `> NAME fields and events` after the time.
pub(super) fn packet(time: Window, words: &mut Words<'_>) -> Result<Packet, Problem> {
    const DIRECTIONS: [(&str, Direction); 2] = [(">", Direction::ToResponder), ("<", Direction::ToRequester)];
    let direction = words.choice("a direction or `post`", &DIRECTIONS)?;
    let word =
        words.need("the name of the packet", "for example WRITE_FIRST, READ_REQUEST, ACK or NAK-SEQ")?;
    let name = Name::read(word.value).map_err(|near| {
        let help = match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                "names are those of opcodes, such as WRITE_FIRST, READ_REQUEST or CNP, and ACK, NAK-SEQ, \
                     NAK-INVALID, NAK-ACCESS, NAK-OPERATIONAL, RNR-NAK"
                    .to_owned()
            }
        };
        Problem::new(word.at, format!("{} is no packet", quoted(word.value)), help)
    })?;
    let mut packet = Packet {
        at: direction.at,
        time,
        direction: direction.value,
        name,
        qp: 1,
        fields: BTreeMap::new(),
        actions: vec![],
    };
    let mut has_qp = false;
    while let Some(word) = words.peek() {
        let (field, value) = if word.value == "qp" {
            words.next();
            let qp = words.number("qp", 1, i64::from(u32::MAX))?;
            if std::mem::replace(&mut has_qp, true) {
                return Err(twice(word));
            }
            packet.qp = as_u32(qp.value);
            continue;
        } else if let Some((name, field, min, max)) =
            Field::NUMBERS.iter().find(|(name, ..)| *name == word.value)
        {
            words.next();
            (*field, words.number(name, *min, *max)?.value)
        } else if let Some((_, field, value)) = Field::WORDS.iter().find(|(name, ..)| *name == word.value) {
            words.next();
            (*field, *value)
        } else if named(word.value).is_some() {
            packet.actions.push(action(words)?);
            continue;
        } else {
            let fields = Field::NUMBERS.iter().map(|(name, ..)| *name);
            let flags = Field::WORDS.iter().map(|(name, ..)| *name);
            let known: Vec<&str> = ["qp"].into_iter().chain(fields).chain(flags).chain(actions()).collect();
            return Err(unknown(word, "is no field of a packet and no event", &known));
        };
        if !name.has(field) {
            let message = format!("{name} has no {}", quoted(word.value));
            return Err(Problem::new(word.at, message, belongs(field)));
        }
        if packet.fields.insert(field, value).is_some() {
            return Err(twice(word));
        }
    }
    check_actions(&packet)?;
    Ok(packet)
}

/// Checks the actions on a packet for combinations that cannot happen.
fn check_actions(packet: &Packet) -> Result<(), Problem> {
    let Some(first) = packet.actions.first() else { return Ok(()) };
    if !packet.name.class().is_data() && packet.name.control().is_none() {
        let help = "events act on Sends, Writes, Read requests and responses, ACKs, NAKs and CNPs";
        return Err(Problem::new(first.at, format!("nothing can be done to {}", packet.name), help));
    }
    if packet.name.class().is_data() && !packet.fields.contains_key(&Field::Psn) {
        let message = format!("an event on {} needs its psn", packet.name);
        return Err(Problem::new(first.at, message, "write psn N before the event"));
    }
    Ok(())
}

/// Packets that have a field, in words.
fn belongs(field: Field) -> &'static str {
    match field {
        Field::Psn => "a CNP carries PSN 0, whatever it answers",
        Field::Iter => {
            "only Sends, Writes and Read responses have rounds; other packets are counted with nth"
        }
        Field::Nth => "only ACKs, NAKs, CNPs and Read requests are counted; data packets have psn and iter",
        Field::Msn => "only ACKs, NAKs and Read responses FIRST, LAST and ONLY have an AETH",
        Field::Dma | Field::Offset => "only WRITE_FIRST, WRITE_ONLY and READ_REQUEST have a RETH",
        Field::Timer => "only RNR-NAK has a timer",
        Field::AckReq | Field::Len | Field::MigReq | Field::Ce => "",
    }
}

fn twice(word: Word<'_>) -> Problem {
    Problem::new(word.at, format!("{} is given again", quoted(word.value)), "keep one")
}

/// The next event.
pub(super) fn action(words: &mut Words<'_>) -> Result<Placed<Action>, Problem> {
    let word = words.need("the event", "say what happens, for example drop")?;
    let Some(kind) = named(word.value) else {
        return Err(unknown(word, "is no event", &actions().collect::<Vec<_>>()));
    };
    let operand = match kind.form() {
        Form::Alone => Operand::Alone,
        Form::Copies => match words.peek().map(|word| word.value) {
            Some("all") => {
                words.next();
                Operand::AllCopies
            }
            Some(word @ "copy") => {
                words.next();
                Operand::Copy(words.number(word, 1, u8::MAX.into())?.value as u8)
            }
            _ => Operand::Alone,
        },
        Form::Time => Operand::Time(time(word, words)?),
        Form::Number(most) => Operand::Number(words.number(kind.word(), 1, most.into())?.value as u16),
        Form::Field => {
            let fields = SETTABLE.map(|(field, most)| (field, (field, most)));
            let (field, most) = words.choice("a header field", &fields)?.value;
            let value = words.number(field, 0, i64::try_from(most).unwrap_or(i64::MAX))?.value;
            Operand::Field { field, value: value.unsigned_abs() }
        }
    };
    Ok(Placed { at: word.at, value: Action { kind, operand } })
}

/// The time that an action takes.
fn time(action: Word<'_>, words: &mut Words<'_>) -> Result<Span, Problem> {
    let name = action.value;
    let help = format!("for example {name} 20us");
    let word = words.need(&format!("the time after `{name}`"), &help)?;
    let span = Span::read(word.value).map_err(|reason| {
        Problem::new(word.at, format!("the {name} {} {reason}", quoted(word.value)), &help)
    })?;
    match span {
        Span::ZERO => Err(Problem::new(action.at, format!("a {name} of 0 {name}s nothing"), help)),
        span => Ok(span),
    }
}
