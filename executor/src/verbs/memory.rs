//! Protection domains and registered memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use super::{Context, VerbsError, sys};

/// Registered memory starts on a page of its own.
const PAGE: usize = 4096;

/// A protection domain.
pub struct Pd {
    pub(super) context: Rc<Context>,
    pub(super) raw: *mut sys::Pd,
}

impl Pd {
    /// Makes a protection domain.
    ///
    /// # Errors
    /// The device has no room for one.
    pub fn new(context: &Rc<Context>) -> Result<Rc<Self>, VerbsError> {
        // SAFETY: the context is open.
        let raw = unsafe { (context.verbs.functions.alloc_pd)(context.raw) };
        if raw.is_null() {
            return Err(VerbsError::last_of("ibv_alloc_pd"));
        }
        Ok(Rc::new(Self { context: Rc::clone(context), raw }))
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_alloc_pd, is freed once, and everything made in it has gone: each keeps
        // it.
        unsafe { (self.context.verbs.functions.dealloc_pd)(self.raw) };
    }
}

/// Access rights of the peer to registered memory. The host itself has all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// RDMA Writes.
    pub remote_write: bool,
    /// RDMA Reads.
    pub remote_read: bool,
}

impl Access {
    pub(super) const fn bits(self) -> u32 {
        let mut bits = sys::access::LOCAL_WRITE;
        if self.remote_write {
            bits |= sys::access::REMOTE_WRITE;
        }
        if self.remote_read {
            bits |= sys::access::REMOTE_READ;
        }
        bits
    }
}

/// Memory that the device may read and write by itself. It is only ever copied from and to, as its bytes can change at
/// any moment.
pub struct Mr {
    pd: Rc<Pd>,
    raw: *mut sys::Mr,
    memory: NonNull<u8>,
    layout: Layout,
}

impl Mr {
    /// Allocates and registers memory, zeroed.
    ///
    /// # Errors
    /// There is not as much, or the system does not let as much be locked.
    pub fn new(pd: &Rc<Pd>, bytes: usize, access: Access) -> Result<Self, VerbsError> {
        let no_room = || VerbsError::Call { call: "allocation", source: io::ErrorKind::OutOfMemory.into() };
        let layout = Layout::from_size_align(bytes.max(1), PAGE).map_err(|_| no_room())?;
        // SAFETY: the layout has at least one byte.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_room)?;
        let bits = i32::try_from(access.bits()).expect("three low bits");
        // SAFETY: the memory is allocated with this length and stays until the registration has gone.
        let raw = unsafe {
            (pd.context.verbs.functions.reg_mr)(pd.raw, memory.as_ptr().cast(), layout.size(), bits)
        };
        if raw.is_null() {
            let error = VerbsError::last_of("ibv_reg_mr");
            // SAFETY: allocated above with this layout, and not shared.
            unsafe { dealloc(memory.as_ptr(), layout) };
            return Err(error);
        }
        Ok(Self { pd: Rc::clone(pd), raw, memory, layout })
    }

    /// Address of a byte, as the peer names it.
    #[must_use]
    pub fn address(&self, offset: usize) -> u64 {
        self.memory.as_ptr() as u64 + offset as u64
    }

    /// Key with which the peer uses it.
    #[must_use]
    pub fn rkey(&self) -> u32 {
        // SAFETY: the registration lives as long as this.
        unsafe { (*self.raw).rkey }
    }

    /// Key with which the host's own requests use it.
    pub(super) fn lkey(&self) -> u32 {
        // SAFETY: the registration lives as long as this.
        unsafe { (*self.raw).lkey }
    }

    /// Copies bytes into it.
    ///
    /// # Panics
    /// They do not fit at this place.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(self.holds(offset, bytes.len()), "bytes are written inside of the memory");
        // SAFETY: the place is inside of the allocation, and `bytes` is outside of it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.as_ptr().add(offset), bytes.len()) };
    }

    /// Copies bytes out of it.
    ///
    /// # Panics
    /// There are not as many at this place.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(self.holds(offset, bytes.len()), "bytes are read inside of the memory");
        // SAFETY: the place is inside of the allocation, and `bytes` is outside of it.
        unsafe {
            ptr::copy_nonoverlapping(self.memory.as_ptr().add(offset), bytes.as_mut_ptr(), bytes.len());
        };
    }

    /// Returns true if so many bytes at this place are inside.
    pub(super) fn holds(&self, offset: usize, bytes: usize) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.layout.size())
    }
}

impl Drop for Mr {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_reg_mr and is given back once.
        if unsafe { (self.pd.context.verbs.functions.dereg_mr)(self.raw) } == 0 {
            // SAFETY: allocated with this layout; the device has just given it up. Where it has not, the memory is
            // leaked rather than written to later.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}
