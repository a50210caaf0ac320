//! Two guests, the network between them, and the calendar: one loop, in which everything happens in one order.

use std::path::Path;
use std::sync::Arc;

use corpus::Role;
use dumper::Nanos;

use super::UmlError;
use super::core::Core;
use super::guest::{Did, Guest, Which};
use super::host::Host;
use super::image::Image;
use super::mode::{MODERATION, Mode};
use super::shared::Shared;
use super::wire::Wire;
use crate::profile::Link;

/// Everything that has a place in virtual time.
#[derive(Debug)]
pub(super) struct World {
    now: Nanos,
    guests: [Guest; 2],
    pub(super) wire: Wire,
    mode: Mode,
    /// Times at which the guests get the frames that wait for others.
    moderated: [Option<Nanos>; 2],
}

impl World {
    /// Starts the processes of the guests, which do nothing yet; their sockets are in the folder.
    pub(super) fn start(
        images: [&Image; 2],
        folder: &Path,
        mode: Mode,
        core: Option<Core>,
    ) -> Result<Self, UmlError> {
        let shared = Arc::new(Shared::new()?);
        let start = |host: Role| {
            let at = host as usize;
            Guest::start(Host::of(host), images[at], folder, mode, (Arc::clone(&shared), core))
        };
        let guests = [start(Role::Requester)?, start(Role::Responder)?];
        Ok(Self { now: Nanos::ZERO, guests, wire: Wire::new(Link::default()), mode, moderated: [None; 2] })
    }

    /// The time.
    pub(super) const fn now(&self) -> Nanos {
        self.now
    }

    /// A guest.
    pub(super) const fn guest(&self, host: Role) -> &Guest {
        &self.guests[host as usize]
    }

    /// The same, to be changed.
    pub(super) const fn guest_mut(&mut self, host: Role) -> &mut Guest {
        &mut self.guests[host as usize]
    }

    /// Lets time pass until something holds, or until a time; true if it holds.
    pub(super) fn run_until(
        &mut self,
        limit: Nanos,
        mut holds: impl FnMut(&mut Self) -> Result<bool, UmlError>,
    ) -> Result<bool, UmlError> {
        loop {
            if holds(self)? {
                return Ok(true);
            }
            if let Some(packets) = self.wire.too_many() {
                return Err(UmlError::TooManyPackets(packets));
            }
            let requests = Role::ALL.map(|host| self.guests[host as usize].request());
            let wire = self.wire.next_at();
            let own = self.moderated.into_iter().flatten().chain(wire).min();
            let next = requests.into_iter().flatten().chain(own).min();
            let Some(next) = next.filter(|next| *next <= limit) else {
                self.now = self.now.max(limit);
                return Ok(false);
            };
            self.now = self.now.max(next);
            if wire == Some(next) {
                if let Some((to, frame)) = self.wire.handle(self.now) {
                    let guest = &mut self.guests[to as usize];
                    guest.net()?.put(frame);
                    match self.mode {
                        Mode::Exact => guest.fill(Which::Net, self.now)?,
                        Mode::Fast => {
                            self.moderated[to as usize].get_or_insert(self.now + MODERATION);
                        }
                    }
                }
                continue;
            }
            if let Some(host) =
                Role::ALL.into_iter().find(|host| self.moderated[*host as usize] == Some(next))
            {
                self.moderated[host as usize] = None;
                self.guests[host as usize].fill(Which::Net, self.now)?;
                continue;
            }
            let host = Role::ALL.into_iter().find(|host| requests[*host as usize] == Some(next));
            if let Some(host) = host {
                let other = requests[host.peer() as usize];
                let ends = [own, other, Some(self.now + self.mode.slice()), Some(limit + Nanos(1))];
                self.run(host, ends.into_iter().flatten().min().unwrap_or(limit))?;
            }
        }
    }

    /// Tells the agent of a host something.
    pub(super) fn tell(&mut self, host: Role, bytes: &[u8]) -> Result<(), UmlError> {
        let guest = &mut self.guests[host as usize];
        guest.port()?.tell(bytes);
        guest.fill(Which::Port, self.now)
    }

    /// Runs a guest until it waits.
    fn run(&mut self, host: Role, mut free_until: Nanos) -> Result<(), UmlError> {
        let guest = &mut self.guests[host as usize];
        guest.run(self.now, free_until)?;
        loop {
            match guest.serve(&mut self.now)? {
                Did::Waits => {
                    // It may have run so far without a word.
                    let ran_until = guest.request().map_or(free_until, |request| request.min(free_until));
                    self.now = self.now.max(Nanos(ran_until.0.saturating_sub(1)));
                    if self.mode == Mode::Fast && guest.has(Which::Net) && guest.has(Which::Port) {
                        let (wire, now) = (&mut self.wire, self.now);
                        guest.net()?.take(|frame| wire.send(host, frame, now))?;
                        guest.port()?.take()?;
                    }
                    if guest.has(Which::Net) {
                        guest.tell_taken(self.now)?;
                    }
                    for which in [Which::Net, Which::Port] {
                        // Frames that wait for others wait on.
                        let waits = which == Which::Net && self.moderated[host as usize].is_some();
                        if guest.has(which) && !waits {
                            guest.fill(which, self.now)?;
                        }
                    }
                    return Ok(());
                }
                Did::Kicked(which) => {
                    match which {
                        Which::Net => {
                            let (wire, now) = (&mut self.wire, self.now);
                            guest.net()?.take(|frame| wire.send(host, frame, now))?;
                            if let Some(next) = wire.next_at().filter(|next| *next < free_until) {
                                free_until = next;
                                guest.shorten(next, now)?;
                            }
                        }
                        Which::Port => guest.port()?.take()?,
                    }
                    guest.answer(which)?;
                }
            }
        }
    }
}
