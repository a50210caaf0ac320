//! The agent of a guest in virtual time: one thread, which serves the orchestrator at the guest's port.

use std::io;
use std::path::Path;
use std::rc::Rc;

use super::host::Host;
use super::kept::Kept;
use super::port::Port;
use super::proto::Ended;
use super::proto::from_agent::Message as FromMessage;
use super::proto::to_agent::Message as ToMessage;
use super::steps::{End, Out, Steps};
use super::{describe, session};

/// Serves the orchestrator at a port of this guest, until that is closed.
///
/// # Errors
/// The port is closed or fails, or says what no orchestrator says.
pub fn serve_port(host: &Host, path: &Path) -> io::Result<()> {
    let port = Rc::new(Port::open(path)?);
    let mut kept = Kept::default();
    loop {
        match port.next()? {
            ToMessage::Describe(_) => port.say(FromMessage::Description(describe::describe(host)))?,
            step @ ToMessage::Step(_) => {
                port.unread(step);
                let (mut steps, out) = (Steps::Port(Rc::clone(&port)), Out::Port(Rc::clone(&port)));
                let ended = match session::run_guarded(host, &mut kept, &mut steps, &out) {
                    Ok(()) => Ended::default(),
                    Err(End::Lost) => continue,
                    Err(End::Refused(status)) => {
                        Ended { code: status.code().into(), reason: status.message().to_owned() }
                    }
                };
                port.say(FromMessage::Ended(ended))?;
            }
            // Of a test that has ended by itself.
            ToMessage::Abandon(_) => {}
        }
    }
}
