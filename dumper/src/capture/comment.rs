//! Contents of pcapng comments: a packet's event, vantage and exit from the switch, an interface's connections.
//!
//! The comments are for people first (they show in Wireshark's packet details), so they are words; they are
//! also read back, so their form is fixed:
//!
//! ```text
//! event=delay left=123456 copies=1 mig-req=1
//! event=none vantage=2
//! connection requester=10.0.0.1 qpn=0x11 psn=1000 responder=10.0.0.2 qpn=0x12 psn=77
//! ```

use std::fmt::Write as _;

use crate::connection::{Connection, Endpoint};
use crate::event::{Event, Exit};
use crate::trace::Vantage;
use crate::{Nanos, Psn};

/// Longest comment that is written, in bytes; option lengths have 16 bits.
const MAX_COMMENT_LEN: usize = 60_000;

/// The comment of a packet with an event, or from another vantage than the first.
pub(super) fn of_packet(event: Event, vantage: Vantage, exit: Option<Exit>) -> Option<String> {
    if event == Event::None && vantage == Vantage::FIRST && exit.is_none() {
        return None;
    }
    let mut text = format!("event={event}");
    if vantage != Vantage::FIRST {
        let _ = write!(text, " vantage={}", vantage.number());
    }
    if let Some(exit) = exit {
        let _ = write!(text, " left={} copies={}", exit.time.0, exit.copies);
        if exit.plain > 0 {
            let _ = write!(text, " plain={}", exit.plain);
        }
        for (set, word) in
            [(exit.corrupt, " corrupt=1"), (exit.ce, " ce=1"), (exit.rewritten, " rewritten=1")]
        {
            if set {
                text.push_str(word);
            }
        }
        if let Some(mig_req) = exit.mig_req {
            let _ = write!(text, " mig-req={}", u8::from(mig_req));
        }
    }
    Some(text)
}

/// A note for people, as long as a comment may be. None of its words is read back.
pub(super) fn of_people(note: &str) -> String {
    let end = note.floor_char_boundary(MAX_COMMENT_LEN);
    note[..end].to_owned()
}

/// Vantage of a packet, and its exit from the switch if it left otherwise than it entered, from its comment; `None` if the
/// comment was written by another program.
pub(super) fn parse_packet(text: &str) -> Option<(Vantage, Option<Exit>)> {
    let mut words = text.split_ascii_whitespace();
    Event::from_name(words.next()?.strip_prefix("event=")?)?;
    let (mut vantage, mut time, mut copies, mut plain) = (Vantage::FIRST, None, None, 0);
    let (mut corrupt, mut ce, mut rewritten, mut mig_req) = (false, false, false, None);
    for word in words {
        match word.split_once('=')? {
            ("vantage", value) => vantage = Vantage::new(value.parse().ok()?)?,
            ("left", value) => time = Some(Nanos(value.parse().ok()?)),
            ("copies", value) => copies = Some(value.parse().ok()?),
            ("plain", value) => plain = value.parse().ok()?,
            ("corrupt", value) => corrupt = value == "1",
            ("ce", value) => ce = value == "1",
            ("rewritten", value) => rewritten = value == "1",
            ("mig-req", value) => mig_req = Some(value == "1"),
            _ => return None,
        }
    }
    let exit = |(time, copies)| Exit { time, copies, plain, corrupt, ce, mig_req, rewritten };
    let exit = time.zip(copies).map(exit);
    // No packet has more plain copies than copies.
    exit.is_none_or(|exit| exit.plain <= exit.copies).then_some((vantage, exit))
}

/// Comments that name connections, one a line: as many a comment as its length field allows, since the programs
/// of Wireshark show the first comment of an interface only.
pub(super) fn of_connections(connections: &[Connection]) -> Vec<String> {
    let mut comments: Vec<String> = Vec::new();
    for line in connections.iter().map(of_connection) {
        match comments.last_mut() {
            Some(comment) if comment.len() + 1 + line.len() <= MAX_COMMENT_LEN => {
                comment.push('\n');
                comment.push_str(&line);
            }
            _ => comments.push(line),
        }
    }
    comments
}

/// The connections that a comment names; lines that name none come from other programs.
pub(super) fn parse_connections(text: &str) -> impl Iterator<Item = Connection> {
    text.lines().filter_map(parse_connection)
}

/// The line that names a connection.
fn of_connection(connection: &Connection) -> String {
    let end = |end: &Endpoint| {
        let mut text = end.ip.to_string();
        if let Some(qpn) = end.qpn {
            let _ = write!(text, " qpn={qpn:#x}");
        }
        if let Some(psn) = end.initial_psn {
            let _ = write!(text, " psn={psn}");
        }
        text
    };
    format!("connection requester={} responder={}", end(&connection.requester), end(&connection.responder))
}

/// The connection that a line names; `None` where it names none.
fn parse_connection(text: &str) -> Option<Connection> {
    let mut words = text.split_ascii_whitespace();
    if words.next()? != "connection" {
        return None;
    }
    let mut ends: Vec<Endpoint> = Vec::with_capacity(2);
    for word in words {
        match (word.split_once('=')?, ends.len()) {
            (("requester", ip), 0) | (("responder", ip), 1) => ends.push(Endpoint::new(ip.parse().ok()?)),
            (("qpn", value), _) => {
                ends.last_mut()?.qpn = Some(u32::from_str_radix(value.strip_prefix("0x")?, 16).ok()?);
            }
            (("psn", value), _) => ends.last_mut()?.initial_psn = Some(Psn::new(value.parse().ok()?)),
            _ => return None,
        }
    }
    match ends[..] {
        [requester, responder] => Some(Connection { requester, responder }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_comments_round_trip() {
        let exit = Exit {
            time: Nanos(77),
            copies: 2,
            plain: 1,
            corrupt: false,
            ce: true,
            mig_req: Some(false),
            rewritten: true,
        };
        let text = of_packet(Event::Several, Vantage::FIRST, Some(exit)).unwrap();
        assert_eq!(text, "event=several left=77 copies=2 plain=1 ce=1 rewritten=1 mig-req=0");
        assert_eq!(parse_packet(&text), Some((Vantage::FIRST, Some(exit))));
        assert_eq!(parse_packet(&text.replace("plain=1", "plain=3")), None);
        let other = Vantage::new(2).unwrap();
        let text = of_packet(Event::None, other, None).unwrap();
        assert_eq!(text, "event=none vantage=2");
        assert_eq!(parse_packet(&text), Some((other, None)));
        assert_eq!(parse_packet("event=drop"), Some((Vantage::FIRST, None)));
        assert_eq!(of_packet(Event::None, Vantage::FIRST, None), None);
        let foreign = [
            "",
            "event=boom left=1 copies=1",
            "event=delay left=x copies=1",
            "event=none vantage=8",
            "hello world",
        ];
        for foreign in foreign {
            assert_eq!(parse_packet(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn connection_comments_round_trip() {
        let mut requester = Endpoint::new("10.0.0.1".parse().unwrap());
        requester.qpn = Some(0x11);
        requester.initial_psn = Some(Psn::new(1000));
        let responder = Endpoint::new("fe80::1".parse().unwrap());
        let connection = Connection { requester, responder };
        let text = of_connection(&connection);
        assert_eq!(text, "connection requester=10.0.0.1 qpn=0x11 psn=1000 responder=fe80::1");
        assert_eq!(parse_connection(&text), Some(connection));
        for foreign in ["connection", "connection responder=10.0.0.2", "connection requester=x responder=y"] {
            assert_eq!(parse_connection(foreign), None, "{foreign}");
        }
        assert_eq!(
            parse_connections(&format!("{text}\nby hand:\n{text}\n")).collect::<Vec<_>>(),
            [connection; 2]
        );
    }

    #[test]
    fn many_connections_share_comments_that_are_not_too_long() {
        let end =
            |at: u32| Endpoint { qpn: Some(at), ..Endpoint::new(std::net::Ipv4Addr::from_bits(at).into()) };
        let connections: Vec<_> =
            (0..5_000).map(|at| Connection { requester: end(at), responder: end(at + 1) }).collect();
        let comments = of_connections(&connections);
        assert!(comments.len() > 1 && comments.iter().all(|comment| comment.len() <= MAX_COMMENT_LEN));
        let read: Vec<_> = comments.iter().flat_map(|comment| parse_connections(comment)).collect();
        assert_eq!(read, connections);
        assert_eq!(of_connections(&[]), [] as [String; 0]);
    }
}
