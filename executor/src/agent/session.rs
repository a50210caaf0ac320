//! One test from its first step to its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::sync::mpsc;
use tonic::Status;

use super::host::Host;
use super::kept::Kept;
use super::proto::{
    Connected, Deliveries, Event, Finished, Prepared, Started, event::Event as Said, step::Step as Asked,
};
use super::steps::{End, Out, StepSender, Steps, channel, out_of_order};
use super::test::Test;
use super::traffic::{self, Traffic};

/// Deliveries in one message.
const DELIVERIES_AT_ONCE: usize = 4096;

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
    let (sender, steps) = channel()?;
    tokio::task::spawn_blocking(move || {
        let reports = out.clone();
        let ended = run_guarded(&host, &mut Kept::default(), &mut Steps::Stream(steps), &Out::Stream(out));
        drop(lease);
        if let Err(End::Refused(status)) = ended {
            // A receiver that is gone needs no error.
            let _ = reports.blocking_send(Err(status));
        }
    });
    Ok(sender)
}

/// Runs a test; a panic is a failure of the agent.
pub(super) fn run_guarded(host: &Host, kept: &mut Kept, steps: &mut Steps, out: &Out) -> Result<(), End> {
    catch_unwind(AssertUnwindSafe(|| run(host, kept, steps, out))).unwrap_or_else(|panic| {
        Err(Status::internal(format!("the agent failed: {}", message_of(&*panic))).into())
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The steps of a test, in their order.
fn run(host: &Host, kept: &mut Kept, steps: &mut Steps, out: &Out) -> Result<(), End> {
    let prepare = match steps.next()? {
        Asked::Prepare(prepare) => prepare,
        other => return Err(out_of_order("Prepare", &other).into()),
    };
    let (mut test, prepared): (Test, Prepared) = Test::prepare(host, kept, &prepare)?;
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
