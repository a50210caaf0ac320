//! The steps of a test on their way to its thread, and the thread's reports on their way back.

use std::io::{Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use tokio::sync::mpsc;
use tonic::Status;

use super::port::Port;
use super::proto::from_agent::Message as FromMessage;
use super::proto::to_agent::Message as ToMessage;
use super::proto::{Event, Step, event::Event as Said, step::Step as Asked};
use crate::verbs::VerbsError;

/// Steps that may wait for the thread; a client that keeps to the protocol has one at a time.
const STEPS_AHEAD: usize = 2;

/// Reasons why a test ended before its last step.
pub(super) enum End {
    /// Nobody is there any more to whom it would matter.
    Lost,
    /// It is refused, or failed.
    Refused(Status),
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl From<VerbsError> for End {
    fn from(error: VerbsError) -> Self {
        Self::Refused(Status::internal(error.to_string()))
    }
}

/// Inlet for a test's steps; when it is dropped, the test ends.
pub(super) struct StepSender {
    steps: SyncSender<Asked>,
    wake: UnixStream,
}

impl StepSender {
    /// Hands over a step; returns true if there is a receiver.
    pub(super) fn send(&mut self, step: Asked) -> bool {
        let taken = self.steps.try_send(step).is_ok();
        // A full pipe wakes as well.
        let _ = self.wake.write(&[0]);
        taken
    }
}

/// Steps of a stream of gRPC, on their way to the thread of the test.
pub(super) struct StreamSteps {
    steps: Receiver<Asked>,
    /// Readable when there is a step, or when the last step has been taken.
    wake: UnixStream,
}

/// Outlet for a test, which takes its steps from it.
pub(super) enum Steps {
    /// Of a stream of gRPC.
    Stream(StreamSteps),
    /// Of a port.
    Port(Rc<Port>),
}

impl Steps {
    /// The next step, as soon as it is there.
    pub(super) fn next(&self) -> Result<Asked, End> {
        match self {
            Self::Stream(stream) => stream.steps.recv().map_err(|_| End::Lost),
            Self::Port(port) => port.next().map_err(|error| failed(&error)).and_then(step_of),
        }
    }

    /// A step, if there is one.
    pub(super) fn try_next(&self) -> Result<Option<Asked>, End> {
        match self {
            Self::Stream(stream) => match stream.steps.try_recv() {
                Ok(step) => Ok(Some(step)),
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(End::Lost),
            },
            Self::Port(port) => port.try_next().map_err(|error| failed(&error))?.map(step_of).transpose(),
        }
    }

    /// Readable when there is a step.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stream(stream) => stream.wake.as_fd(),
            Self::Port(port) => port.fd(),
        }
    }

    /// Takes what made [`Self::fd`] readable beside the steps themselves, which stay.
    pub(super) fn clear_wake(&mut self) {
        if let Self::Stream(stream) = self {
            let mut bytes = [0; 64];
            while stream.wake.read(&mut bytes).is_ok_and(|read| read > 0) {}
        }
    }
}

/// The port does not work.
fn failed(error: &std::io::Error) -> End {
    Status::internal(format!("the port: {error}")).into()
}

/// The step that a message is.
fn step_of(message: ToMessage) -> Result<Asked, End> {
    match message {
        ToMessage::Step(Step { step: Some(step) }) => Ok(step),
        ToMessage::Step(Step { step: None }) | ToMessage::Abandon(_) => Err(End::Lost),
        ToMessage::Describe(_) => {
            Err(Status::failed_precondition("a test is running; its end has to come first").into())
        }
    }
}

/// Channel for the reports of a test.
pub(super) enum Out {
    /// A stream of gRPC.
    Stream(mpsc::Sender<Result<Event, Status>>),
    /// A port.
    Port(Rc<Port>),
}

impl Out {
    /// Sends a report, waiting until the client has taken the one before.
    pub(super) fn say(&self, said: Said) -> Result<(), End> {
        let event = Event { event: Some(said) };
        match self {
            Self::Stream(reports) => reports.blocking_send(Ok(event)).map_err(|_| End::Lost),
            Self::Port(port) => port.say(FromMessage::Event(event)).map_err(|_| End::Lost),
        }
    }
}

/// Channel of the steps of a test, with room for what a client may send ahead.
///
/// # Errors
/// The system has no room for a pair of sockets.
pub(super) fn channel() -> std::io::Result<(StepSender, StreamSteps)> {
    let (sender, steps) = sync_channel(STEPS_AHEAD);
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((StepSender { steps: sender, wake }, StreamSteps { steps, wake: woken }))
}

/// A step out of its order.
pub(super) fn out_of_order(expected: &str, step: &Asked) -> Status {
    let found = match step {
        Asked::Prepare(_) => "Prepare",
        Asked::Connect(_) => "Connect",
        Asked::Start(_) => "Start",
        Asked::Finish(_) => "Finish",
    };
    Status::failed_precondition(format!(
        "expected the step {expected}, got {found}; the steps of a test are Prepare, Connect, Start, Finish"
    ))
}
