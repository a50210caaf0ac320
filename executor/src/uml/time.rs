//! The time protocol of a user-mode kernel (`include/uapi/linux/um_timetravel.h`): who may run, and until when.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use dumper::Nanos;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Bytes of a message.
const MESSAGE: usize = 16;

/// Operation of a message (`enum um_timetravel_ops`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Op {
    /// Answer to any other message.
    Ack = 0,
    /// The guest begins; it runs once it is answered.
    Start = 1,
    /// The guest wants to run at a time. A later request replaces an earlier one.
    Request = 2,
    /// The guest sleeps until it is run.
    Wait = 3,
    /// The guest asks for the time.
    Get = 4,
    /// The guest tells the time, before it touches something outside.
    Update = 5,
    /// The guest runs, at a time.
    Run = 6,
    /// The guest need not ask for times before this one.
    FreeUntil = 7,
    /// The guest asks for the time of day.
    GetTimeOfDay = 8,
    /// A word for everybody.
    Broadcast = 9,
}

impl Op {
    const ALL: [Self; 10] = [
        Self::Ack,
        Self::Start,
        Self::Request,
        Self::Wait,
        Self::Get,
        Self::Update,
        Self::Run,
        Self::FreeUntil,
        Self::GetTimeOfDay,
        Self::Broadcast,
    ];
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) op: Op,
    /// The answer to a message has its number.
    pub(super) number: u32,
    pub(super) time: Nanos,
}

impl Message {
    fn bytes(self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.0.to_ne_bytes());
        bytes
    }

    fn parse(bytes: [u8; MESSAGE]) -> io::Result<Self> {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        let op = u32::from_ne_bytes([a, b, c, d]);
        let known = Op::ALL.into_iter().find(|one| *one as u32 == op);
        let op = known.ok_or_else(|| io::Error::other(format!("a time message has the operation {op}")))?;
        Ok(Self { op, number: u32::from_ne_bytes([e, f, g, h]), time: Nanos(u64::from_ne_bytes(time)) })
    }
}

/// The connection of a guest to the calendar.
#[derive(Debug)]
pub(super) struct TimeSocket {
    stream: UnixStream,
    /// Number of the last message that this side began.
    number: u32,
}

impl TimeSocket {
    pub(super) const fn new(stream: UnixStream) -> Self {
        Self { stream, number: 0 }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The next message, which is waited for.
    pub(super) fn read(&mut self) -> io::Result<Message> {
        let mut bytes = [0; MESSAGE];
        io::Read::read_exact(&mut self.stream, &mut bytes)?;
        Message::parse(bytes)
    }

    /// Answers a message.
    pub(super) fn answer(&mut self, to: Message, time: Nanos) -> io::Result<()> {
        self.write(Message { op: Op::Ack, time, ..to })
    }

    /// Answers the first message, with the descriptors of the shared memory and of a log.
    pub(super) fn answer_start(&mut self, to: Message, id: u64, fds: [BorrowedFd<'_>; 2]) -> io::Result<()> {
        let bytes = Message { op: Op::Ack, time: Nanos(id), ..to }.bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&fds));
        match sendmsg(&self.stream, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(MESSAGE) => Ok(()),
            Ok(_) => Err(Errno::MSGSIZE.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a message of this side's own; its number.
    pub(super) fn tell(&mut self, op: Op, time: Nanos) -> io::Result<u32> {
        self.number = self.number.wrapping_add(1);
        self.write(Message { op, number: self.number, time })?;
        Ok(self.number)
    }

    fn write(&mut self, message: Message) -> io::Result<()> {
        io::Write::write_all(&mut self.stream, &message.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_kernel() {
        // struct um_timetravel_msg: op, seq, time.
        let request = Message { op: Op::Request, number: 7, time: Nanos(0x1_0000_0002) };
        let mut bytes = Vec::new();
        for word in [2_u32, 7, 2, 1] {
            bytes.extend(word.to_le_bytes());
        }
        assert_eq!(request.bytes()[..], bytes[..]);
        assert_eq!(Message::parse(request.bytes()).unwrap(), request);
        let mut unknown = request.bytes();
        unknown[0] = 10;
        assert!(Message::parse(unknown).is_err());
    }

    #[test]
    fn an_answer_has_the_number_of_its_message() {
        let (ours, guests) = UnixStream::pair().unwrap();
        let (mut ours, mut guests) = (TimeSocket::new(ours), TimeSocket::new(guests));
        let number = guests.tell(Op::Get, Nanos(0)).unwrap();
        let asked = ours.read().unwrap();
        ours.answer(asked, Nanos(12)).unwrap();
        assert_eq!(guests.read().unwrap(), Message { op: Op::Ack, number, time: Nanos(12) });
    }
}
