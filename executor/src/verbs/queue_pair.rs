//! Queue pairs: their states, and the requests that are posted to them.

use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use super::completion::missing;
use super::context::gid_of;
use super::sys::{self, QpAttr, qp_mask, qp_state};
use super::{Access, Cq, Mr, Pd, VerbsError};

/// Hops that packets may take: the default of RDMA stacks.
const HOP_LIMIT: u8 = 64;

/// The state of a QP that can send and receive.
pub const RTS: &str = "RTS";

/// Requests that the queues of a QP hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpCapacity {
    /// In the send queue.
    pub sends: u32,
    /// In the receive queue.
    pub receives: u32,
}

/// Attributes of the peer that a QP needs before it can receive (IBA vol. 1, 10.3.1.4, Init to RTR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToRtr {
    /// Path MTU in bytes, one of the five.
    pub mtu: u32,
    /// The peer's QPN.
    pub peer_qpn: u32,
    /// First PSN that the peer sends.
    pub peer_psn: u32,
    /// The peer's address.
    pub peer_ip: IpAddr,
    /// Reads that the peer may have outstanding.
    pub max_dest_rd_atomic: u8,
    /// RNR timer code.
    pub min_rnr_timer: u8,
    /// The host's port.
    pub port: u8,
    /// Index of the host's GID.
    pub gid_index: u8,
    /// Traffic class field (DSCP and ECN) of its packets.
    pub traffic_class: u8,
    /// Flow label, of 20 bits, by which its UDP source port is chosen; 0 leaves that to the device.
    pub flow_label: u32,
    /// Service level.
    pub service_level: u8,
}

/// Attributes that a QP needs before it can send (IBA vol. 1, 10.3.1.5, RTR to RTS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToRts {
    /// First PSN that it sends.
    pub psn: u32,
    /// ACK timeout exponent.
    pub timeout: u8,
    /// Retry budget.
    pub retry_cnt: u8,
    /// Retry budget of RNR NAKs.
    pub rnr_retry: u8,
    /// Reads that it may have outstanding.
    pub max_rd_atomic: u8,
}

/// Operation of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Send, into a Receive of the peer.
    Send,
    /// RDMA Write to the peer's memory.
    Write(Remote),
    /// RDMA Read from the peer's memory.
    Read(Remote),
}

/// A place in the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Address.
    pub address: u64,
    /// Key.
    pub rkey: u32,
}

/// A request to post to a send queue.
pub struct Request<'a> {
    /// A number that its completion has.
    pub id: u64,
    /// The operation.
    pub operation: Operation,
    /// Memory of the data.
    pub memory: &'a Mr,
    /// Bytes of it.
    pub range: Range<usize>,
    /// True if its success has an entry of the completion queue; a failure always has one.
    pub signaled: bool,
}

/// A request to post to a receive queue.
pub struct Receive<'a> {
    /// A number that its completion has.
    pub id: u64,
    /// Memory for the data.
    pub memory: &'a Mr,
    /// Bytes of it.
    pub range: Range<usize>,
}

/// A reliable queue pair.
pub struct Qp {
    // Fields are dropped after the QP itself: both outlive it.
    _cq: Rc<Cq>,
    pd: Rc<Pd>,
    raw: *mut sys::Qp,
}

impl Qp {
    /// Makes a QP, both of whose queues complete to `cq`.
    ///
    /// # Errors
    /// The device has no room for it.
    pub fn new(pd: &Rc<Pd>, cq: &Rc<Cq>, capacity: QpCapacity) -> Result<Self, VerbsError> {
        let mut init = sys::QpInitAttr {
            qp_context: ptr::null_mut(),
            send_cq: cq.raw,
            recv_cq: cq.raw,
            srq: ptr::null_mut(),
            cap: sys::QpCap {
                max_send_wr: capacity.sends,
                max_recv_wr: capacity.receives,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: sys::QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: domain and queue are open, and the attributes are complete.
        let raw = unsafe { (pd.context.verbs.functions.create_qp)(pd.raw, &raw mut init) };
        if raw.is_null() {
            return Err(VerbsError::last_of("ibv_create_qp"));
        }
        Ok(Self { _cq: Rc::clone(cq), pd: Rc::clone(pd), raw })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        // SAFETY: the QP lives as long as this.
        unsafe { (*self.raw).qp_num }
    }

    /// Reset to Init.
    ///
    /// # Errors
    /// The device refuses.
    pub fn to_init(&self, port: u8, access: Access) -> Result<(), VerbsError> {
        let attr = QpAttr {
            qp_state: qp_state::INIT,
            port_num: port,
            // Writing to its own memory is a right of the memory, not of the QP.
            qp_access_flags: access.bits() & !sys::access::LOCAL_WRITE,
            ..QpAttr::default()
        };
        let mask = qp_mask::PORT | qp_mask::PKEY_INDEX | qp_mask::ACCESS_FLAGS;
        self.modify("ibv_modify_qp to Init", attr, mask)
    }

    /// Init to RTR.
    ///
    /// # Errors
    /// The device refuses: the peer cannot be reached from this GID, or a value is not supported.
    pub fn to_rtr(&self, to: &ToRtr) -> Result<(), VerbsError> {
        let attr = QpAttr {
            qp_state: qp_state::RTR,
            path_mtu: (to.mtu / 128).checked_ilog2().map_or(0, |code| code as i32),
            dest_qp_num: to.peer_qpn,
            rq_psn: to.peer_psn,
            max_dest_rd_atomic: to.max_dest_rd_atomic,
            min_rnr_timer: to.min_rnr_timer,
            ah_attr: sys::AhAttr {
                grh: sys::GlobalRoute {
                    dgid: gid_of(to.peer_ip),
                    flow_label: to.flow_label,
                    sgid_index: to.gid_index,
                    hop_limit: HOP_LIMIT,
                    traffic_class: to.traffic_class,
                },
                sl: to.service_level,
                is_global: 1,
                port_num: to.port,
                ..sys::AhAttr::default()
            },
            ..QpAttr::default()
        };
        let mask = qp_mask::AV
            | qp_mask::PATH_MTU
            | qp_mask::DEST_QPN
            | qp_mask::RQ_PSN
            | qp_mask::MAX_DEST_RD_ATOMIC
            | qp_mask::MIN_RNR_TIMER;
        self.modify("ibv_modify_qp to RTR", attr, mask)
    }

    /// RTR to RTS.
    ///
    /// # Errors
    /// The device refuses.
    pub fn to_rts(&self, to: &ToRts) -> Result<(), VerbsError> {
        let attr = QpAttr {
            qp_state: qp_state::RTS,
            sq_psn: to.psn,
            timeout: to.timeout,
            retry_cnt: to.retry_cnt,
            rnr_retry: to.rnr_retry,
            max_rd_atomic: to.max_rd_atomic,
            ..QpAttr::default()
        };
        let mask = qp_mask::SQ_PSN
            | qp_mask::TIMEOUT
            | qp_mask::RETRY_CNT
            | qp_mask::RNR_RETRY
            | qp_mask::MAX_QP_RD_ATOMIC;
        self.modify("ibv_modify_qp to RTS", attr, mask)
    }

    /// The state that the device has it in, in the words of IBA vol. 1, 10.3.1.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn state(&self) -> Result<&'static str, VerbsError> {
        let (mut attr, mut init) = (QpAttr::default(), MaybeUninit::<sys::QpInitAttr>::zeroed());
        let query = self.pd.context.verbs.functions.query_qp;
        // SAFETY: the QP is open, and both places are as large as the types that the function fills.
        let returned = unsafe { query(self.raw, &raw mut attr, qp_mask::STATE, init.as_mut_ptr()) };
        VerbsError::check("ibv_query_qp", returned)?;
        let names = ["Reset", "Init", "RTR", RTS, "SQD", "SQE", "Error"];
        let at = usize::try_from(attr.qp_state).unwrap_or(usize::MAX);
        Ok(names.get(at).copied().unwrap_or("an unknown state"))
    }

    fn modify(&self, call: &'static str, mut attr: QpAttr, mask: i32) -> Result<(), VerbsError> {
        // SAFETY: the QP is open, and every field that the mask names is set.
        let returned = unsafe {
            (self.pd.context.verbs.functions.modify_qp)(self.raw, &raw mut attr, mask | qp_mask::STATE)
        };
        VerbsError::check(call, returned)
    }

    /// Posts a request.
    ///
    /// # Errors
    /// The queue is full, or the QP is in no state to take it.
    ///
    /// # Panics
    /// The range is outside of the memory.
    pub fn post_send(&self, request: &Request<'_>) -> Result<(), VerbsError> {
        let (opcode, remote) = match request.operation {
            Operation::Send => (sys::wr_opcode::SEND, Remote { address: 0, rkey: 0 }),
            Operation::Write(remote) => (sys::wr_opcode::RDMA_WRITE, remote),
            Operation::Read(remote) => (sys::wr_opcode::RDMA_READ, remote),
        };
        let (mut sge, num_sge) = scatter(request.memory, &request.range);
        let mut wr = sys::SendWr {
            wr_id: request.id,
            next: ptr::null_mut(),
            sg_list: &raw mut sge,
            num_sge,
            opcode,
            send_flags: if request.signaled { sys::SEND_SIGNALED } else { 0 },
            imm_data: 0,
            remote_addr: remote.address,
            rkey: remote.rkey,
            _rest: [0; 9],
        };
        let mut bad = ptr::null_mut();
        // SAFETY: a QP's context is open for as long as the QP is.
        let post = unsafe { (*(*self.raw).context).ops.post_send }.ok_or_else(|| missing("post_send"))?;
        // SAFETY: the request and its list live through the call, which copies both; the data is registered memory,
        // which the device stops using before it is freed.
        VerbsError::check("ibv_post_send", unsafe { post(self.raw, &raw mut wr, &raw mut bad) })
    }

    /// Posts a Receive.
    ///
    /// # Errors
    /// The queue is full, or the QP is in no state to take it.
    ///
    /// # Panics
    /// The range is outside of the memory.
    pub fn post_recv(&self, receive: &Receive<'_>) -> Result<(), VerbsError> {
        let (mut sge, num_sge) = scatter(receive.memory, &receive.range);
        let mut wr = sys::RecvWr { wr_id: receive.id, next: ptr::null_mut(), sg_list: &raw mut sge, num_sge };
        let mut bad = ptr::null_mut();
        // SAFETY: a QP's context is open for as long as the QP is.
        let post = unsafe { (*(*self.raw).context).ops.post_recv }.ok_or_else(|| missing("post_recv"))?;
        // SAFETY: as in `post_send`.
        VerbsError::check("ibv_post_recv", unsafe { post(self.raw, &raw mut wr, &raw mut bad) })
    }
}

/// A list of one entry for a range of memory; an empty message has none.
fn scatter(memory: &Mr, range: &Range<usize>) -> (sys::Sge, i32) {
    assert!(memory.holds(range.start, range.len()), "work requests name bytes inside of the memory");
    let length = u32::try_from(range.len()).expect("messages have at most 2^31 bytes");
    let sge = sys::Sge { addr: memory.address(range.start), length, lkey: memory.lkey() };
    (sge, i32::from(length > 0))
}

impl Drop for Qp {
    fn drop(&mut self) {
        // SAFETY: it came from ibv_create_qp and is destroyed once.
        unsafe { (self.pd.context.verbs.functions.destroy_qp)(self.raw) };
    }
}
