//! Completion channels and completion queues.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;
use std::rc::Rc;

use nix::errno::Errno;

use super::context::set_nonblocking;
use super::{Context, VerbsError, sys};

/// Completions that are taken at once.
const POLLED_AT_ONCE: usize = 32;

/// Channel on which completion queues report completions.
pub struct Channel {
    context: Rc<Context>,
    raw: *mut sys::CompChannel,
}

impl Channel {
    /// Makes a channel.
    ///
    /// # Errors
    /// The system has no room for one.
    pub fn new(context: &Rc<Context>) -> Result<Rc<Self>, VerbsError> {
        // SAFETY: the context is open.
        let raw = unsafe { (context.verbs.functions.create_comp_channel)(context.raw) };
        if raw.is_null() {
            return Err(VerbsError::last_of("ibv_create_comp_channel"));
        }
        let channel = Rc::new(Self { context: Rc::clone(context), raw });
        set_nonblocking(channel.as_fd()).map_err(|source| VerbsError::Call { call: "fcntl", source })?;
        Ok(channel)
    }

    /// Takes all events of the queues. The queue of each does not matter to a caller that polls all of them.
    ///
    /// # Errors
    /// The device has gone.
    pub fn clear(&self) -> Result<(), VerbsError> {
        loop {
            let (mut cq, mut unused) = (ptr::null_mut(), ptr::null_mut());
            let get = self.context.verbs.functions.get_cq_event;
            // SAFETY: the channel is open, and both places are valid.
            if unsafe { get(self.raw, &raw mut cq, &raw mut unused) } != 0 {
                return match Errno::last() {
                    Errno::EAGAIN | Errno::EINTR => Ok(()),
                    _ => Err(VerbsError::last_of("ibv_get_cq_event")),
                };
            }
            // SAFETY: destroying a queue waits for its events to be acknowledged, so it is still there.
            unsafe { (self.context.verbs.functions.ack_cq_events)(cq, 1) };
        }
    }
}

impl AsFd for Channel {
    /// Becomes readable when a queue that was armed has something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the channel's own, open until it is dropped.
        unsafe { BorrowedFd::borrow_raw((*self.raw).fd) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_create_comp_channel, is destroyed once, and its queues have gone: each keeps it.
        unsafe { (self.context.verbs.functions.destroy_comp_channel)(self.raw) };
    }
}

/// The end of a work request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCompletion {
    /// The number that the request was given.
    pub id: u64,
    /// `enum ibv_wc_status`; 0 is success.
    pub status: u32,
    /// The driver's own code of an error.
    pub vendor_error: u32,
    /// Bytes that a Receive took.
    pub bytes: u32,
}

/// A completion queue.
pub struct Cq {
    channel: Rc<Channel>,
    pub(super) raw: *mut sys::Cq,
}

impl Cq {
    /// Makes a queue of at least so many entries.
    ///
    /// # Errors
    /// The device has no such large queue.
    pub fn new(channel: &Rc<Channel>, entries: u32) -> Result<Rc<Self>, VerbsError> {
        let context = &channel.context;
        let entries = i32::try_from(entries).unwrap_or(i32::MAX);
        // SAFETY: context and channel are open; the queue's own pointer is not used.
        let raw = unsafe {
            (context.verbs.functions.create_cq)(context.raw, entries, ptr::null_mut(), channel.raw, 0)
        };
        if raw.is_null() {
            return Err(VerbsError::last_of("ibv_create_cq"));
        }
        Ok(Rc::new(Self { channel: Rc::clone(channel), raw }))
    }

    /// Arms the channel for the next completion. One that came before raises no event: poll once more.
    ///
    /// # Errors
    /// The device refuses.
    pub fn arm(&self) -> Result<(), VerbsError> {
        // SAFETY: a queue's context is open for as long as the queue is.
        let notify = unsafe { (*(*self.raw).context).ops.req_notify_cq };
        let notify = notify.ok_or_else(|| missing("req_notify_cq"))?;
        // SAFETY: the queue is open.
        VerbsError::check("ibv_req_notify_cq", unsafe { notify(self.raw, 0) })
    }

    /// Takes completions, oldest first, but no more than a few dozen at once.
    ///
    /// # Errors
    /// The queue is broken.
    pub fn poll(&self, taken: &mut Vec<WorkCompletion>) -> Result<(), VerbsError> {
        let mut entries = [sys::Wc::default(); POLLED_AT_ONCE];
        // SAFETY: a queue's context is open for as long as the queue is.
        let poll = unsafe { (*(*self.raw).context).ops.poll_cq }.ok_or_else(|| missing("poll_cq"))?;
        // SAFETY: the queue is open, and there is room for as many entries as are asked for.
        let found = unsafe { poll(self.raw, POLLED_AT_ONCE as i32, entries.as_mut_ptr()) };
        let found = usize::try_from(found).map_err(|_| VerbsError::last_of("ibv_poll_cq"))?;
        taken.extend(entries.iter().take(found).map(|wc| WorkCompletion {
            id: wc.wr_id,
            status: wc.status,
            vendor_error: wc.vendor_err,
            bytes: wc.byte_len,
        }));
        Ok(())
    }
}

impl Drop for Cq {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_create_cq, is destroyed once, and its QPs have gone: each keeps it.
        unsafe { (self.channel.context.verbs.functions.destroy_cq)(self.raw) };
    }
}

/// A driver without an operation that every driver has.
pub(super) fn missing(call: &'static str) -> VerbsError {
    VerbsError::Call { call, source: io::ErrorKind::Unsupported.into() }
}
