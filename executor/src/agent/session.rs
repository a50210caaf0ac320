//! One test from its first step to its end.

use std::any::Any;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::sync::mpsc;
use tonic::Status;

use super::host::Host;
use super::proto::{
    Connected, Deliveries, Event, Finished, Prepared, Started, event::Event as Said, step::Step as Asked,
};
use super::test::Test;
use super::traffic::{self, Traffic};
use crate::verbs::VerbsError;

/// Steps that may wait for the thread; a client that keeps to the protocol has one at a time.
const STEPS_AHEAD: usize = 2;

/// Deliveries in one message.
const DELIVERIES_AT_ONCE: usize = 4096;

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
    fn next(&self) -> Result<Asked, End> {
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
    /// Sends a report, waiting until the client has taken the one before.
    pub(super) fn say(&self, said: Said) -> Result<(), End> {
        self.0.blocking_send(Ok(Event { event: Some(said) })).map_err(|_| End::Lost)
    }
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

/// Starts a test on a thread of its own, which waits for the next test when it is over. It keeps the lease until
/// everything is destroyed, and says how it ended after that.
///
/// # Errors
/// The system has no room for a pair of sockets.
pub(super) fn spawn(
    host: Arc<Host>,
    out: mpsc::Sender<Result<Event, Status>>,
    lease: OwnedMutexGuard<()>,
) -> std::io::Result<StepSender> {
    let (steps, receiver) = sync_channel(STEPS_AHEAD);
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    let mut steps_taken = Steps { steps: receiver, wake: woken };
    tokio::task::spawn_blocking(move || {
        let out = Out(out);
        let ended = catch_unwind(AssertUnwindSafe(|| run(&host, &mut steps_taken, &out)));
        drop(lease);
        let status = match ended {
            Ok(Ok(()) | Err(End::Lost)) => return,
            Ok(Err(End::Refused(status))) => status,
            Err(panic) => Status::internal(format!("the agent failed: {}", message_of(&*panic))),
        };
        // A receiver that is gone needs no error.
        let _ = out.0.blocking_send(Err(status));
    });
    Ok(StepSender { steps, wake })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The steps of a test, in their order.
fn run(host: &Host, steps: &mut Steps, out: &Out) -> Result<(), End> {
    let prepare = match steps.next()? {
        Asked::Prepare(prepare) => prepare,
        other => return Err(out_of_order("Prepare", &other).into()),
    };
    let (mut test, prepared): (Test, Prepared) = Test::prepare(host, &prepare)?;
    out.say(Said::Prepared(prepared))?;

    let connect = match steps.next()? {
        Asked::Connect(connect) => connect,
        other => return Err(out_of_order("Connect", &other).into()),
    };
    test.connect(&connect.peers)?;
    let mut traffic = Traffic::new(&test)?;
    out.say(Said::Connected(Connected {}))?;

    let start = match steps.next()? {
        Asked::Start(start) => start,
        other => return Err(out_of_order("Start", &other).into()),
    };
    out.say(Said::Started(Started {}))?;
    traffic::drive(&mut test, &mut traffic, Duration::from_millis(start.deadline_ms.into()), steps, out)?;

    let mut deliveries = Vec::new();
    for connection in 0..test.config.traffic.load.connections() {
        for message in 0..test.config.traffic.num_msgs_per_qp {
            let Some(found) = test.delivery(connection, message) else { continue };
            let delivery = traffic.told(found);
            if delivery.bytes > 0 || !delivery.intact {
                deliveries.push(delivery);
            }
            if deliveries.len() == DELIVERIES_AT_ONCE {
                out.say(Said::Deliveries(Deliveries { deliveries: std::mem::take(&mut deliveries) }))?;
            }
        }
    }
    out.say(Said::Deliveries(Deliveries { deliveries }))?;
    let errors = test.take_errors()?;
    let counters = Some(test.counters().into());
    let goodput_bits_per_second = traffic.goodput();
    drop(test);
    out.say(Said::Finished(Finished { counters, errors, goodput_bits_per_second }))
}
