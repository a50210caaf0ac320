//! An open RDMA device: its limits, ports, GIDs, and the events that it reports by itself.

use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;
use std::rc::Rc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::library::text_of;
use super::sys::{self, GidEntry};
use super::{Verbs, VerbsError};

/// Most GIDs that are requested: as many as the kernel's interface takes, whose answers have 16 bits for
/// their length. The largest tables of common devices have 1024.
const MAX_GIDS: usize = u16::MAX as usize / size_of::<GidEntry>();

/// GIDs that are asked for first: each address of a host makes two.
const FEW_GIDS: usize = 32;

/// An open device.
pub struct Context {
    pub(super) verbs: Verbs,
    pub(super) raw: *mut sys::Context,
}

/// Limits of a device that bind tests (`ibv_query_device`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Version of its firmware.
    pub firmware: String,
    /// Its maker.
    pub vendor_id: u32,
    /// Its type.
    pub vendor_part_id: u32,
    /// QPs.
    pub max_qp: u32,
    /// Work requests of a queue of a QP.
    pub max_qp_wr: u32,
    /// Completion queues.
    pub max_cq: u32,
    /// Entries of a completion queue.
    pub max_cqe: u32,
    /// Bytes of a memory region.
    pub max_mr_bytes: u64,
    /// Reads that a QP answers at a time.
    pub max_qp_rd_atom: u32,
    /// Reads that a QP may have outstanding.
    pub max_qp_init_rd_atom: u32,
    /// Ports, numbered from 1.
    pub ports: u8,
}

/// A port (`ibv_query_port`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortState {
    /// True if packets flow.
    pub active: bool,
    /// True if it is an Ethernet port.
    pub ethernet: bool,
    /// Largest path MTU that can be used now, in bytes.
    pub active_mtu: u32,
    /// Largest path MTU that the port has, in bytes.
    pub max_mtu: u32,
    /// Bytes of the longest message.
    pub max_message_bytes: u32,
}

/// Kinds of GIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidType {
    /// Of InfiniBand.
    Infiniband,
    /// Of RoCE without IP and UDP.
    RoceV1,
    /// Of RoCE over UDP.
    RoceV2,
}

/// An entry of a port's GID table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Place in the table.
    pub index: u32,
    /// Kind.
    pub kind: GidType,
    /// The GID.
    pub raw: [u8; 16],
    /// Its network device, 0 for none.
    pub interface: u32,
}

impl Gid {
    /// The IP address of a RoCE v2 GID (IBA vol. 1, annex A17.4.5: an IPv4 address is mapped into IPv6).
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        (self.kind == GidType::RoceV2).then(|| Ipv6Addr::from(self.raw).to_canonical())
    }
}

/// The GID of an IP address.
pub(super) fn gid_of(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// Something that the device reports without having been asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// The library's words for it.
    pub what: String,
    /// The QP that it is about.
    pub qpn: Option<u32>,
    /// True for an error, false for a mere change.
    pub is_error: bool,
}

impl Context {
    /// Opens a device.
    ///
    /// # Safety
    /// The device is on a list that has not been freed.
    pub(super) unsafe fn open(verbs: Verbs, device: *mut sys::Device) -> Result<Rc<Self>, VerbsError> {
        // SAFETY: as the caller promises.
        let raw = unsafe { (verbs.functions.open_device)(device) };
        if raw.is_null() {
            return Err(VerbsError::last_of("ibv_open_device"));
        }
        let context = Rc::new(Self { verbs, raw });
        // Asking for an event shall not wait for one.
        set_nonblocking(context.as_fd()).map_err(|source| VerbsError::Call { call: "fcntl", source })?;
        Ok(context)
    }

    /// The library that opened it.
    #[must_use]
    pub const fn verbs(&self) -> &Verbs {
        &self.verbs
    }

    /// The device's limits.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn limits(&self) -> Result<DeviceLimits, VerbsError> {
        let mut attr = MaybeUninit::<sys::DeviceAttr>::zeroed();
        // SAFETY: the context is open, and the place is as large as the type that the function fills.
        let returned = unsafe { (self.verbs.functions.query_device)(self.raw, attr.as_mut_ptr()) };
        VerbsError::check("ibv_query_device", returned)?;
        // SAFETY: all zeros is a value of this type, and whatever was written over them is, too.
        let attr = unsafe { attr.assume_init() };
        let count = |value: i32| u32::try_from(value).unwrap_or(0);
        let firmware =
            attr.fw_ver.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect::<Vec<_>>();
        Ok(DeviceLimits {
            firmware: String::from_utf8_lossy(&firmware).into_owned(),
            vendor_id: attr.vendor_id,
            vendor_part_id: attr.vendor_part_id,
            max_qp: count(attr.max_qp),
            max_qp_wr: count(attr.max_qp_wr),
            max_cq: count(attr.max_cq),
            max_cqe: count(attr.max_cqe),
            max_mr_bytes: attr.max_mr_size,
            max_qp_rd_atom: count(attr.max_qp_rd_atom),
            max_qp_init_rd_atom: count(attr.max_qp_init_rd_atom),
            ports: attr.phys_port_cnt,
        })
    }

    /// The state of a port, numbered from 1.
    ///
    /// # Errors
    /// There is no such port, or the device does not answer.
    pub fn port(&self, port: u8) -> Result<PortState, VerbsError> {
        let mut attr = MaybeUninit::<sys::PortAttr>::zeroed();
        // SAFETY: the context is open; the exported function fills the beginning of the type.
        let returned = unsafe { (self.verbs.functions.query_port)(self.raw, port, attr.as_mut_ptr()) };
        VerbsError::check("ibv_query_port", returned)?;
        // SAFETY: all zeros is a value of this type, and whatever was written over them is, too.
        let attr = unsafe { attr.assume_init() };
        // enum ibv_mtu: 1 is 256 bytes, and each step doubles it.
        let mtu = |code: i32| if (1..=5).contains(&code) { 128 << code } else { 0 };
        Ok(PortState {
            active: attr.state == sys::PORT_ACTIVE,
            ethernet: attr.link_layer == sys::LINK_LAYER_ETHERNET,
            active_mtu: mtu(attr.active_mtu),
            max_mtu: mtu(attr.max_mtu),
            max_message_bytes: attr.max_msg_sz,
        })
    }

    /// The GIDs of a port, in the order of their indices.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn gids(&self, port: u8) -> Result<Vec<Gid>, VerbsError> {
        // The kernel clears all the room that it is offered, and refuses too little room.
        let entries = self.gid_table(FEW_GIDS).or_else(|_| self.gid_table(MAX_GIDS))?;
        let of_port = entries.iter().filter(|entry| entry.port_num == u32::from(port));
        let mut gids: Vec<_> = of_port
            .filter_map(|entry| {
                let kind = match entry.gid_type {
                    0 => GidType::Infiniband,
                    1 => GidType::RoceV1,
                    2 => GidType::RoceV2,
                    _ => return None,
                };
                let (index, raw, interface) = (entry.gid_index, entry.gid, entry.ndev_ifindex);
                Some(Gid { index, kind, raw, interface })
            })
            .collect();
        gids.sort_by_key(|gid| gid.index);
        Ok(gids)
    }

    /// The entries of all ports, of which there are no more than `most`.
    fn gid_table(&self, most: usize) -> Result<Vec<GidEntry>, VerbsError> {
        let mut entries = vec![GidEntry::default(); most];
        // SAFETY: the context is open, and there is room for as many entries, of the size that is told.
        let found = unsafe {
            (self.verbs.functions.query_gid_table)(
                self.raw,
                entries.as_mut_ptr(),
                entries.len(),
                0,
                size_of::<GidEntry>(),
            )
        };
        // Errors are negative error numbers.
        let found = usize::try_from(found).map_err(|_| VerbsError::Call {
            call: "ibv_query_gid_table",
            source: std::io::Error::from_raw_os_error(i32::try_from(-found).unwrap_or(0)),
        })?;
        entries.truncate(found);
        Ok(entries)
    }

    /// Next report of the device that has not been taken yet.
    ///
    /// # Errors
    /// The device has gone.
    pub fn next_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError> {
        let mut event = sys::AsyncEvent { element: ptr::null_mut(), event_type: 0 };
        // SAFETY: the context is open, and the place is one for an event.
        if unsafe { (self.verbs.functions.get_async_event)(self.raw, &raw mut event) } != 0 {
            return match Errno::last() {
                Errno::EAGAIN | Errno::EINTR => Ok(None),
                _ => Err(VerbsError::last_of("ibv_get_async_event")),
            };
        }
        let qpn = sys::event::is_of_qp(event.event_type).then(|| {
            // SAFETY: the element of such an event is a QP, and destroying a QP waits for its events to be
            // acknowledged.
            unsafe { (*event.element.cast::<sys::Qp>()).qp_num }
        });
        // SAFETY: every value is answered with a static text.
        let what = text_of(unsafe { (self.verbs.functions.event_type_str)(event.event_type) });
        // SAFETY: it is the event that was taken above, acknowledged once.
        unsafe { (self.verbs.functions.ack_async_event)(&raw mut event) };
        Ok(Some(AsyncEvent { what, qpn, is_error: sys::event::is_error(event.event_type) }))
    }
}

impl AsFd for Context {
    /// Becomes readable when the device reports something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the context's own, open until it is dropped.
        unsafe { BorrowedFd::borrow_raw((*self.raw).async_fd) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_open_device, is closed once, and everything made of it has gone: each
        // keeps it.
        unsafe { (self.verbs.functions.close_device)(self.raw) };
    }
}

/// Has calls on a descriptor return at once when there is nothing to take.
pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_gids_are_the_same() {
        for text in ["10.0.0.1", "255.255.255.255", "fe80::1", "2001:db8::5"] {
            let ip: IpAddr = text.parse().unwrap();
            let gid = Gid { index: 1, kind: GidType::RoceV2, raw: gid_of(ip), interface: 2 };
            assert_eq!(gid.ip(), Some(ip));
            assert_eq!(Gid { kind: GidType::RoceV1, ..gid }.ip(), None);
        }
        assert_eq!(gid_of("10.0.0.1".parse().unwrap())[10..], [0xff, 0xff, 10, 0, 0, 1]);
    }
}
