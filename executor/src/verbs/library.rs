//! libibverbs, found when the agent starts.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use libloading::Library;
use nix::errno::Errno;

use super::VerbsError;
use super::sys::{
    AsyncEvent, CompChannel, Context, Cq, Device, DeviceAttr, GidEntry, Mr, Pd, PortAttr, Qp, QpAttr,
    QpInitAttr,
};

/// The library's name; version 1 of its interface is the only one that there has been.
const LIBRARY: &str = "libibverbs.so.1";

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The exported functions, and the library that must stay loaded for as long as they are used.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            _library: Library,
        }

        impl Functions {
            fn load(library: Library) -> Result<Self, VerbsError> {
                Ok(Self {
                    $(
                        // SAFETY: the type is the one that infiniband/verbs.h declares for the symbol, and the
                        // pointer is kept no longer than the library.
                        $field: *unsafe { library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol) }
                            .map_err(|_| VerbsError::TooOld { symbol: $symbol })?,
                    )*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    get_device_list = "ibv_get_device_list": fn(*mut c_int) -> *mut *mut Device;
    free_device_list = "ibv_free_device_list": fn(*mut *mut Device);
    get_device_name = "ibv_get_device_name": fn(*mut Device) -> *const c_char;
    open_device = "ibv_open_device": fn(*mut Device) -> *mut Context;
    close_device = "ibv_close_device": fn(*mut Context) -> c_int;
    query_device = "ibv_query_device": fn(*mut Context, *mut DeviceAttr) -> c_int;
    query_port = "ibv_query_port": fn(*mut Context, u8, *mut PortAttr) -> c_int;
    query_gid_table = "_ibv_query_gid_table": fn(*mut Context, *mut GidEntry, usize, u32, usize) -> isize;
    get_async_event = "ibv_get_async_event": fn(*mut Context, *mut AsyncEvent) -> c_int;
    ack_async_event = "ibv_ack_async_event": fn(*mut AsyncEvent);
    event_type_str = "ibv_event_type_str": fn(c_int) -> *const c_char;
    wc_status_str = "ibv_wc_status_str": fn(u32) -> *const c_char;
    alloc_pd = "ibv_alloc_pd": fn(*mut Context) -> *mut Pd;
    dealloc_pd = "ibv_dealloc_pd": fn(*mut Pd) -> c_int;
    reg_mr = "ibv_reg_mr": fn(*mut Pd, *mut c_void, usize, c_int) -> *mut Mr;
    dereg_mr = "ibv_dereg_mr": fn(*mut Mr) -> c_int;
    create_comp_channel = "ibv_create_comp_channel": fn(*mut Context) -> *mut CompChannel;
    destroy_comp_channel = "ibv_destroy_comp_channel": fn(*mut CompChannel) -> c_int;
    create_cq = "ibv_create_cq": fn(*mut Context, c_int, *mut c_void, *mut CompChannel, c_int) -> *mut Cq;
    destroy_cq = "ibv_destroy_cq": fn(*mut Cq) -> c_int;
    get_cq_event = "ibv_get_cq_event": fn(*mut CompChannel, *mut *mut Cq, *mut *mut c_void) -> c_int;
    ack_cq_events = "ibv_ack_cq_events": fn(*mut Cq, u32);
    create_qp = "ibv_create_qp": fn(*mut Pd, *mut QpInitAttr) -> *mut Qp;
    modify_qp = "ibv_modify_qp": fn(*mut Qp, *mut QpAttr, c_int) -> c_int;
    query_qp = "ibv_query_qp": fn(*mut Qp, *mut QpAttr, c_int, *mut QpInitAttr) -> c_int;
    destroy_qp = "ibv_destroy_qp": fn(*mut Qp) -> c_int;
}

/// libibverbs.
#[derive(Clone)]
pub struct Verbs {
    pub(super) functions: Arc<Functions>,
}

impl Verbs {
    /// Loads the library.
    ///
    /// # Errors
    /// It is not installed, or it is older than version 32 of rdma-core.
    pub fn load() -> Result<Self, VerbsError> {
        // SAFETY: the library's initialisation only prepares its own state.
        let library = unsafe { Library::new(LIBRARY) }
            .map_err(|error| VerbsError::NotLoaded { library: LIBRARY, reason: error.to_string() })?;
        Ok(Self { functions: Arc::new(Functions::load(library)?) })
    }

    /// The host's RDMA devices. None where the kernel has no RDMA module.
    ///
    /// # Errors
    /// The system refused to tell.
    pub fn devices(&self) -> Result<DeviceList, VerbsError> {
        let mut count = 0;
        // SAFETY: the argument is a valid place for an int.
        let list = unsafe { (self.functions.get_device_list)(&raw mut count) };
        if list.is_null() && Errno::last() != Errno::ENOSYS {
            return Err(VerbsError::last_of("ibv_get_device_list"));
        }
        Ok(DeviceList { verbs: self.clone(), list, count: usize::try_from(count).unwrap_or(0) })
    }

    /// The name that the library gives to a status of a completion.
    #[must_use]
    pub fn wc_status_name(&self, status: u32) -> String {
        // SAFETY: every value is answered with a static text.
        text_of(unsafe { (self.functions.wc_status_str)(status) })
    }
}

/// Devices as the library lists them; one that was opened lives on when this is dropped.
pub struct DeviceList {
    verbs: Verbs,
    list: *mut *mut Device,
    count: usize,
}

impl DeviceList {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.named().map(|(name, _)| name)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// There is no device of this name, or it cannot be opened.
    pub fn open(&self, name: &str) -> Result<Rc<super::Context>, VerbsError> {
        let (_, device) = self
            .named()
            .find(|(known, _)| known == name)
            .ok_or_else(|| VerbsError::NoDevice { name: name.to_owned() })?;
        // SAFETY: the device is on the list, which has not been freed.
        unsafe { super::Context::open(self.verbs.clone(), device) }
    }

    /// Names and devices.
    fn named(&self) -> impl Iterator<Item = (String, *mut Device)> {
        let count = if self.list.is_null() { 0 } else { self.count };
        (0..count).map(|at| {
            // SAFETY: the library says that the list has this many entries, each a device.
            let device = unsafe { *self.list.add(at) };
            // SAFETY: the device is on the list, which has not been freed.
            (text_of(unsafe { (self.verbs.functions.get_device_name)(device) }), device)
        })
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        if !self.list.is_null() {
            // SAFETY: it came from ibv_get_device_list and is freed once.
            unsafe { (self.verbs.functions.free_device_list)(self.list) };
        }
    }
}

/// A text of the library; empty where it has none.
pub(super) fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library's texts end in a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl VerbsError {
    /// A call that failed and left its reason in errno.
    pub(super) fn last_of(call: &'static str) -> Self {
        Self::Call { call, source: io::Error::last_os_error() }
    }

    /// Result of a call that returns 0 or an error number.
    pub(super) fn check(call: &'static str, returned: c_int) -> Result<(), Self> {
        match returned {
            0 => Ok(()),
            // Some return -1, some the number, some its negative.
            -1 => Err(Self::last_of(call)),
            number => Err(Self::Call { call, source: io::Error::from_raw_os_error(number.saturating_abs()) }),
        }
    }
}
