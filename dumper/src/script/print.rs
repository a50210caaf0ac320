//! From a [`Script`] to text that reads back the same, in columns.

use std::fmt::{self, Display, Formatter};

use super::{
    Action, Anomalies, Connections, ControlKind, Delivered, Direction, Expectation, Expected, Field, Host,
    Injection, Operand, Packet, Post, PostVerb, STATUSES, Script, Setting, Step, Target,
};

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for line in &self.prose {
            writeln!(f, "{}", format!("# {line}").trim_end())?;
        }
        for setting in &self.settings {
            writeln!(f, "{setting}")?;
        }
        let widest = |width: fn(&Packet) -> usize| self.packets().map(width).max().unwrap_or_default();
        let times = widest(|packet| packet.time.to_string().len()).max(2);
        let names = widest(|packet| packet.name.to_string().len());
        writeln!(f, "{:times$} {}", "+0", self.post)?;
        for injection in &self.injections {
            writeln!(f, "{injection}")?;
        }
        let packet = |f: &mut Formatter<'_>, indent: &str, packet: &Packet| {
            let line = format!("{:times$} {}", packet.time.to_string(), Columns(packet, names));
            writeln!(f, "{indent}{}", line.trim_end())
        };
        for step in &self.steps {
            match step {
                Step::Packet(one) => packet(f, "", one)?,
                Step::Skip(_) => writeln!(f, "...")?,
                Step::Group(group) => {
                    writeln!(f, "{{")?;
                    group.iter().try_for_each(|one| packet(f, "  ", one))?;
                    writeln!(f, "}}")?;
                }
            }
        }
        self.expectations.iter().try_for_each(|expectation| writeln!(f, "{expectation}"))
    }
}

/// The name of a value in one of the tables of names.
fn name<T: PartialEq>(names: &'static [(&str, T)], value: &T) -> &'static str {
    names.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scope = self.scope.name();
        write!(f, "{scope}{}{} {}", if scope.is_empty() { "" } else { " " }, self.key.value, self.value.value)
    }
}

impl Display for Post {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "post {} {}", name(&PostVerb::NAMES, &self.verb.value), self.size.value)?;
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {}", mtu.value)?;
        }
        if let Some(count) = self.count {
            write!(f, " x {}", count.value)?;
        }
        Ok(())
    }
}

impl Display for Injection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("inject qp ")?;
        match &self.connections {
            Connections::One(qp) => write!(f, "{qp}")?,
            Connections::First(n) => write!(f, "first {n}")?,
            Connections::All => f.write_str("all")?,
            Connections::List(list) => {
                let list: Vec<String> = list.iter().map(u32::to_string).collect();
                f.write_str(&list.join(","))?;
            }
        }
        match self.target {
            Target::Data { psn, iter: 1 } => write!(f, " psn {psn}")?,
            Target::Data { psn, iter } => write!(f, " psn {psn} iter {iter}")?,
            Target::Control { kind, nth } => write!(f, " {} nth {nth}", name(&ControlKind::NAMES, &kind))?,
        }
        if let Some(every) = self.every {
            write!(f, " every {every}")?;
        }
        if let Some(count) = self.count {
            write!(f, " count {count}")?;
        }
        self.actions.iter().try_for_each(|action| write!(f, " {}", action.value))
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        match self.operand {
            Operand::Alone => Ok(()),
            Operand::AllCopies => f.write_str(" all"),
            Operand::Copy(copy) => write!(f, " copy {copy}"),
            Operand::Time(span) => write!(f, " {span}"),
            Operand::Number(number) => write!(f, " {number}"),
            Operand::Field { field, value } => write!(f, " {field} {value}"),
        }
    }
}

/// The packet as its line says it, without its time.
impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Columns(self, 0).fmt(f)
    }
}

/// A packet with its name in so many columns.
struct Columns<'a>(&'a Packet, usize);

impl Display for Columns<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(packet, width) = *self;
        let direction = match packet.direction {
            Direction::ToResponder => '>',
            Direction::ToRequester => '<',
        };
        write!(f, "{direction} {:width$}", packet.name)?;
        if packet.qp != 1 {
            write!(f, " qp {}", packet.qp)?;
        }
        for (field, value) in &packet.fields {
            match Field::WORDS.iter().find(|(_, word, stands_for)| word == field && stands_for == value) {
                Some((word, ..)) => write!(f, " {word}")?,
                None => write!(f, " {} {value}", field.name())?,
            }
        }
        let gap = if packet.actions.is_empty() { "" } else { "  " };
        f.write_str(gap)?;
        let actions: Vec<String> = packet.actions.iter().map(|action| action.value.to_string()).collect();
        f.write_str(&actions.join(" "))
    }
}

impl Display for Expectation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "expect {}", self.expected)
    }
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anomaly(Anomalies::No) => f.write_str("no anomaly"),
            Self::Anomaly(Anomalies::Some { kind, rule: None }) => write!(f, "anomaly {kind}"),
            Self::Anomaly(Anomalies::Some { kind, rule: Some(rule) }) => write!(f, "anomaly {kind} {rule}"),
            Self::Counter { host, name: counter, moved } => {
                write!(f, "counter {} {counter} {moved}", name(&Host::NAMES, host))
            }
            Self::Completion { qp, messages, status } => {
                f.write_str("completion ")?;
                if let Some(qp) = qp {
                    write!(f, "qp {qp} ")?;
                }
                match messages {
                    Some(range) if range.first == range.last => write!(f, "message {} ", range.first)?,
                    Some(range) => write!(f, "message {}~{} ", range.first, range.last)?,
                    None => {}
                }
                f.write_str(name(&STATUSES, status))
            }
            Self::Delivered(Delivered::All) => f.write_str("delivered all"),
            Self::Delivered(Delivered::Some { arrived, of }) => write!(f, "delivered {arrived} of {of}"),
            Self::Packets(packets) => write!(f, "packets {packets}"),
            Self::TimeOuts { cause, number } => write!(f, "timeouts {cause} {number}"),
        }
    }
}
