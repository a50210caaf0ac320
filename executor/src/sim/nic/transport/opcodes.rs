//! Opcodes by verb and position.

use corpus::Verb;
use dumper::wire::{Opcode, Position};

/// Position of a packet that is or is not the first and the last of its message.
pub(super) const fn position(first: bool, last: bool) -> Position {
    match (first, last) {
        (true, true) => Position::Only,
        (true, false) => Position::First,
        (false, true) => Position::Last,
        (false, false) => Position::Middle,
    }
}

/// Opcode of a request packet.
pub(super) const fn request(verb: Verb, position: Position) -> Opcode {
    match (verb, position) {
        (Verb::Send, Position::First) => Opcode::SendFirst,
        (Verb::Send, Position::Middle) => Opcode::SendMiddle,
        (Verb::Send, Position::Last) => Opcode::SendLast,
        (Verb::Send, Position::Only) => Opcode::SendOnly,
        (Verb::Write, Position::First) => Opcode::WriteFirst,
        (Verb::Write, Position::Middle) => Opcode::WriteMiddle,
        (Verb::Write, Position::Last) => Opcode::WriteLast,
        (Verb::Write, Position::Only) => Opcode::WriteOnly,
        (Verb::Read, _) => Opcode::ReadRequest,
    }
}

/// Opcode of a Read response packet.
pub(super) const fn response(position: Position) -> Opcode {
    match position {
        Position::First => Opcode::ReadResponseFirst,
        Position::Middle => Opcode::ReadResponseMiddle,
        Position::Last => Opcode::ReadResponseLast,
        Position::Only => Opcode::ReadResponseOnly,
    }
}
