//! The way to an agent through the port of its guest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use corpus::Role;
use dumper::Nanos;

use super::UmlError;
use super::world::World;
use crate::agent::frames::{Frames, framed};
use crate::agent::proto::from_agent::Message as FromMessage;
use crate::agent::proto::to_agent::Message as ToMessage;
use crate::agent::proto::{Abandon, Event, FromAgent, Step, ToAgent};
use crate::agent::{Link, Silence};
use crate::lock::locked;

/// The way to an agent through the port of its guest.
pub(super) struct PortLink {
    world: Arc<Mutex<World>>,
    host: Role,
    inbox: Arc<Mutex<Frames>>,
    /// True while the agent has a test.
    open: bool,
}

impl PortLink {
    /// The way to the agent of a host, whose messages come into an inbox.
    pub(super) const fn new(world: Arc<Mutex<World>>, host: Role, inbox: Arc<Mutex<Frames>>) -> Self {
        Self { world, host, inbox, open: false }
    }

    fn send(&self, message: ToMessage) -> Result<(), UmlError> {
        locked(&self.world).tell(self.host, &framed(&ToAgent { message: Some(message) }))
    }

    /// The next message; none if none comes until then.
    fn receive(&self, until: Nanos) -> Result<Option<FromMessage>, UmlError> {
        let mut message = None;
        let mut inbox = locked(&self.inbox);
        locked(&self.world).run_until(until, |world| {
            let port = world.guest_mut(self.host).port()?;
            inbox.add(port.said());
            port.said().clear();
            message = inbox
                .next::<FromAgent>()
                .map_err(|what| world.guest(self.host).says(&what))?
                .and_then(|from| from.message);
            Ok(message.is_some())
        })?;
        Ok(message)
    }
}

impl Link for PortLink {
    type Moment = Nanos;

    fn after(&self, time: Duration) -> Nanos {
        locked(&self.world).now() + Nanos(time.as_nanos() as u64)
    }

    async fn ask(&mut self, step: Step, _: Nanos) {
        self.open = true;
        // A guest that has ended says so when its answer is waited for.
        let _ = self.send(ToMessage::Step(step));
    }

    async fn next(&mut self, until: Nanos) -> Result<Option<Event>, Silence> {
        match self.receive(until).map_err(|error| Silence::Lost(error.to_string()))? {
            None => Err(Silence::TimedOut),
            Some(FromMessage::Event(event)) => Ok(Some(event)),
            Some(FromMessage::Ended(ended)) => {
                self.open = false;
                if ended.code == 0 {
                    return Ok(None);
                }
                Err(Silence::Status(tonic::Status::new(ended.code.into(), ended.reason)))
            }
            Some(FromMessage::Description(_)) => Err(Silence::Lost("it describes itself in a test".into())),
        }
    }
}

impl Drop for PortLink {
    fn drop(&mut self) {
        if self.open {
            // The guest may be what was lost.
            let _ = self.send(ToMessage::Abandon(Abandon {}));
        }
    }
}
