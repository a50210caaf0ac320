//! Somebody between a guest and the switch, who forges packets of the guest: to the switch and to the other
//! host it is the guest that sends them.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use corpus::Role;
use dumper::wire::frame::{Parsed, UdpPorts};
use dumper::wire::{Frame, Opcode, icrc};
use executor::guests::run_folder;
use executor::vm::switch_socket;
use p4::Actions;

/// Longer than any frame of a guest, whose MTU is 4200.
const MAX_FRAME: usize = 8192;

/// Longest time until a forger sees that it is to end.
const LOOK_UP: Duration = Duration::from_millis(20);

/// Work of a forger.
#[derive(Clone, Copy)]
pub(crate) struct Forgery {
    /// To the first packet of this opcode.
    pub(crate) opcode: Opcode,
    /// A bit of its payload is inverted.
    pub(crate) alters: bool,
    /// Actions on the packet; its ICRC becomes right.
    pub(crate) actions: Actions,
}

impl Forgery {
    /// The packet after it.
    fn of(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let mut altered = frame.to_vec();
        if self.alters {
            // The last byte before the ICRC.
            let at = altered.len().checked_sub(icrc::LEN + 1)?;
            altered[at] ^= 1;
        }
        p4::rewrite::rewrite(&altered, &self.actions)
    }
}

/// A forger at work, until it is dropped: then the guest's frames come to the switch again as they are.
pub(crate) struct Forger {
    /// Address that the guest sends to.
    taken: PathBuf,
    /// Address at which the switch receives meanwhile.
    moved: PathBuf,
    ends: Arc<AtomicBool>,
    forged: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forger {
    /// Gets between the guest of a host and the switch of the only pair that this process runs. QEMU looks
    /// its peer up by path for each frame.
    pub(crate) fn between(role: Role, forgery: Forgery) -> Self {
        let ours = run_folder::found().unwrap().into_iter().filter(|found| found.owner == std::process::id());
        let folder = ours.map(|found| found.path).find(|path| switch_socket(path, 1).exists()).unwrap();
        let taken = switch_socket(&folder, if role == Role::Requester { 1 } else { 2 });
        let moved = taken.with_extension("moved");
        fs::rename(&taken, &moved).unwrap();
        let socket = UnixDatagram::bind(&taken).unwrap();
        socket.set_read_timeout(Some(LOOK_UP)).unwrap();
        let (ends, forged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (moved, ends, forged) = (moved.clone(), Arc::clone(&ends), Arc::clone(&forged));
            move || pass(&socket, &moved, forgery, &ends, &forged)
        });
        Self { taken, moved, ends, forged, thread: Some(thread) }
    }

    /// Returns true if it has forged its packet.
    pub(crate) fn has_forged(&self) -> bool {
        self.forged.load(Ordering::Relaxed)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        // Takes the forger's place at once.
        let renamed = fs::rename(&self.moved, &self.taken);
        self.ends.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            renamed.unwrap();
            joined.unwrap().unwrap();
        }
    }
}

/// Passes frames on, one of them forged, until it is to end and nothing is left.
fn pass(socket: &UnixDatagram, switch: &Path, forgery: Forgery, ends: &AtomicBool, forged: &AtomicBool) {
    let mut buffer = [0; MAX_FRAME];
    loop {
        let len = match socket.recv(&mut buffer) {
            Ok(len) => len,
            Err(_) if ends.load(Ordering::Relaxed) => return,
            Err(_) => continue,
        };
        let frame = &buffer[..len];
        let is_it = opcode_of(frame) == Some(forgery.opcode) && !forged.load(Ordering::Relaxed);
        let sent = if is_it { forgery.of(frame) } else { None };
        forged.fetch_or(is_it, Ordering::Relaxed);
        // A switch that is gone is what the test will say.
        let _ = socket.send_to(sent.as_deref().unwrap_or(frame), switch);
    }
}

/// The opcode of a RoCEv2 frame.
fn opcode_of(frame: &[u8]) -> Option<Opcode> {
    match Frame::parse(frame, UdpPorts::Roce) {
        Ok(Parsed::Roce(frame)) => Some(frame.bth.opcode),
        _ => None,
    }
}
