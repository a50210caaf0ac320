//! The steps of a test on their way to its thread, and the thread's reports on their way back.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use tokio::sync::mpsc;
use tonic::Status;

use super::proto::{Event, event::Event as Said, step::Step as Asked};
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

/// Outlet for the thread, which takes its steps from it.
pub(super) struct Steps {
    steps: Receiver<Asked>,
    /// Readable when there is a step, or when the last step has been taken.
    pub(super) wake: UnixStream,
}

impl Steps {
    /// The next step, as soon as it is there.
    pub(super) fn next(&self) -> Result<Asked, End> {
        self.steps.recv().map_err(|_| End::Lost)
    }

    /// A step, if there is one.
    pub(super) fn try_next(&self) -> Result<Option<Asked>, End> {
        match self.steps.try_recv() {
            Ok(step) => Ok(Some(step)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(End::Lost),
        }
    }

    /// Takes the bytes that made `wake` readable; the steps themselves stay.
    pub(super) fn clear_wake(&mut self) {
        let mut bytes = [0; 64];
        while self.wake.read(&mut bytes).is_ok_and(|read| read > 0) {}
    }
}

/// Channel for the reports of the thread.
pub(super) struct Out(mpsc::Sender<Result<Event, Status>>);

impl Out {
    pub(super) const fn new(reports: mpsc::Sender<Result<Event, Status>>) -> Self {
        Self(reports)
    }

    /// Sends the reason why the test ended.
    pub(super) fn refuse(&self, status: Status) {
        // A receiver that is gone needs no error.
        let _ = self.0.blocking_send(Err(status));
    }

    /// Sends a report, waiting until the client has taken the one before.
    pub(super) fn say(&self, said: Said) -> Result<(), End> {
        self.0.blocking_send(Ok(Event { event: Some(said) })).map_err(|_| End::Lost)
    }
}

/// Channel of the steps of a test, with room for what a client may send ahead.
///
/// # Errors
/// The system has no room for a pair of sockets.
pub(super) fn channel() -> std::io::Result<(StepSender, Steps)> {
    let (sender, steps) = sync_channel(STEPS_AHEAD);
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((StepSender { steps: sender, wake }, Steps { steps, wake: woken }))
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
