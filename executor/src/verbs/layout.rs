//! The types of `sys` against the C header: a program that prints sizes, offsets and constants is compiled
//! with the system's compiler, and its output is compared.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

use super::sys::{self, access, qp_mask, qp_state, wr_opcode};

/// An expression of C, and its value here.
type Expected = Vec<(String, i64)>;

macro_rules! fields {
    ($expected:ident, $type:ident is $c_type:literal: $($field:ident is $c_field:literal),* $(,)?) => {
        $($expected.push((
            format!("offsetof({}, {})", $c_type, $c_field),
            offset_of!(sys::$type, $field) as i64,
        ));)*
    };
}

macro_rules! sizes {
    ($expected:ident: $($type:ident is $c_type:literal),* $(,)?) => {
        $($expected.push((format!("sizeof({})", $c_type), size_of::<sys::$type>() as i64));)*
    };
}

fn expected() -> Expected {
    let mut all = Expected::new();
    // Types that we allocate, or that the library fills in, have to have their full size.
    sizes!(all:
        ContextOps is "struct ibv_context_ops",
        Pd is "struct ibv_pd",
        Mr is "struct ibv_mr",
        CompChannel is "struct ibv_comp_channel",
        DeviceAttr is "struct ibv_device_attr",
        PortAttr is "struct ibv_port_attr",
        GidEntry is "struct ibv_gid_entry",
        QpCap is "struct ibv_qp_cap",
        QpInitAttr is "struct ibv_qp_init_attr",
        GlobalRoute is "struct ibv_global_route",
        AhAttr is "struct ibv_ah_attr",
        QpAttr is "struct ibv_qp_attr",
        Sge is "struct ibv_sge",
        SendWr is "struct ibv_send_wr",
        RecvWr is "struct ibv_recv_wr",
        Wc is "struct ibv_wc",
        AsyncEvent is "struct ibv_async_event",
    );
    fields!(all, ContextOps is "struct ibv_context_ops":
        poll_cq is "poll_cq", req_notify_cq is "req_notify_cq", post_send is "post_send", post_recv is "post_recv");
    fields!(all, Context is "struct ibv_context":
        device is "device", ops is "ops", cmd_fd is "cmd_fd", async_fd is "async_fd");
    fields!(all, Pd is "struct ibv_pd": context is "context", handle is "handle");
    fields!(all, Mr is "struct ibv_mr":
        context is "context", pd is "pd", addr is "addr", length is "length", lkey is "lkey", rkey is "rkey");
    fields!(all, CompChannel is "struct ibv_comp_channel": context is "context", fd is "fd", refcnt is "refcnt");
    fields!(all, Cq is "struct ibv_cq": context is "context");
    fields!(all, Qp is "struct ibv_qp": context is "context", handle is "handle", qp_num is "qp_num");
    fields!(all, DeviceAttr is "struct ibv_device_attr":
        fw_ver is "fw_ver", max_mr_size is "max_mr_size", vendor_id is "vendor_id",
        vendor_part_id is "vendor_part_id", max_qp is "max_qp", max_qp_wr is "max_qp_wr", max_cq is "max_cq",
        max_cqe is "max_cqe", max_mr is "max_mr", max_pd is "max_pd", max_qp_rd_atom is "max_qp_rd_atom",
        max_qp_init_rd_atom is "max_qp_init_rd_atom", max_pkeys is "max_pkeys", phys_port_cnt is "phys_port_cnt");
    fields!(all, PortAttr is "struct ibv_port_attr":
        state is "state", max_mtu is "max_mtu", active_mtu is "active_mtu", max_msg_sz is "max_msg_sz",
        link_layer is "link_layer", port_cap_flags2 is "port_cap_flags2");
    fields!(all, GidEntry is "struct ibv_gid_entry":
        gid is "gid", gid_index is "gid_index", port_num is "port_num", gid_type is "gid_type",
        ndev_ifindex is "ndev_ifindex");
    fields!(all, QpInitAttr is "struct ibv_qp_init_attr":
        send_cq is "send_cq", recv_cq is "recv_cq", srq is "srq", cap is "cap", qp_type is "qp_type",
        sq_sig_all is "sq_sig_all");
    fields!(all, QpCap is "struct ibv_qp_cap":
        max_send_wr is "max_send_wr", max_recv_wr is "max_recv_wr", max_send_sge is "max_send_sge",
        max_recv_sge is "max_recv_sge", max_inline_data is "max_inline_data");
    fields!(all, GlobalRoute is "struct ibv_global_route":
        dgid is "dgid", flow_label is "flow_label", sgid_index is "sgid_index", hop_limit is "hop_limit",
        traffic_class is "traffic_class");
    fields!(all, AhAttr is "struct ibv_ah_attr":
        grh is "grh", sl is "sl", is_global is "is_global", port_num is "port_num");
    fields!(all, QpAttr is "struct ibv_qp_attr":
        qp_state is "qp_state", path_mtu is "path_mtu", rq_psn is "rq_psn", sq_psn is "sq_psn",
        dest_qp_num is "dest_qp_num", qp_access_flags is "qp_access_flags", cap is "cap", ah_attr is "ah_attr",
        pkey_index is "pkey_index", max_rd_atomic is "max_rd_atomic",
        max_dest_rd_atomic is "max_dest_rd_atomic", min_rnr_timer is "min_rnr_timer", port_num is "port_num",
        timeout is "timeout", retry_cnt is "retry_cnt", rnr_retry is "rnr_retry", rate_limit is "rate_limit");
    fields!(all, Sge is "struct ibv_sge": addr is "addr", length is "length", lkey is "lkey");
    fields!(all, SendWr is "struct ibv_send_wr":
        wr_id is "wr_id", next is "next", sg_list is "sg_list", num_sge is "num_sge", opcode is "opcode",
        send_flags is "send_flags", imm_data is "imm_data", remote_addr is "wr.rdma.remote_addr",
        rkey is "wr.rdma.rkey");
    fields!(all, RecvWr is "struct ibv_recv_wr":
        wr_id is "wr_id", next is "next", sg_list is "sg_list", num_sge is "num_sge");
    fields!(all, Wc is "struct ibv_wc":
        wr_id is "wr_id", status is "status", opcode is "opcode", vendor_err is "vendor_err",
        byte_len is "byte_len", qp_num is "qp_num", wc_flags is "wc_flags", dlid_path_bits is "dlid_path_bits");
    fields!(all, AsyncEvent is "struct ibv_async_event": element is "element", event_type is "event_type");
    all.extend(constants());
    all
}

fn constants() -> Expected {
    let qp_events = [
        ("IBV_EVENT_CQ_ERR", false, true),
        ("IBV_EVENT_QP_FATAL", true, true),
        ("IBV_EVENT_QP_REQ_ERR", true, true),
        ("IBV_EVENT_QP_ACCESS_ERR", true, true),
        ("IBV_EVENT_COMM_EST", true, false),
        ("IBV_EVENT_SQ_DRAINED", true, false),
        ("IBV_EVENT_PATH_MIG", true, false),
        ("IBV_EVENT_PATH_MIG_ERR", true, true),
        ("IBV_EVENT_DEVICE_FATAL", false, true),
        ("IBV_EVENT_PORT_ACTIVE", false, false),
        ("IBV_EVENT_PORT_ERR", false, true),
        ("IBV_EVENT_LID_CHANGE", false, false),
        ("IBV_EVENT_PKEY_CHANGE", false, false),
        ("IBV_EVENT_SM_CHANGE", false, false),
        ("IBV_EVENT_SRQ_ERR", false, true),
        ("IBV_EVENT_SRQ_LIMIT_REACHED", false, false),
        ("IBV_EVENT_QP_LAST_WQE_REACHED", true, false),
        ("IBV_EVENT_CLIENT_REREGISTER", false, false),
        ("IBV_EVENT_GID_CHANGE", false, false),
        ("IBV_EVENT_WQ_FATAL", false, true),
    ];
    for (number, (name, of_qp, error)) in (0..).zip(qp_events) {
        assert_eq!((sys::event::is_of_qp(number), sys::event::is_error(number)), (of_qp, error), "{name}");
    }
    let events = (0..).zip(qp_events).map(|(number, (name, ..))| (name, number));
    let others: [(&str, i64); 26] = [
        ("IBV_QPT_RC", sys::QPT_RC.into()),
        ("IBV_SEND_SIGNALED", sys::SEND_SIGNALED.into()),
        ("IBV_PORT_ACTIVE", sys::PORT_ACTIVE.into()),
        ("IBV_LINK_LAYER_ETHERNET", sys::LINK_LAYER_ETHERNET.into()),
        ("IBV_WR_RDMA_WRITE", wr_opcode::RDMA_WRITE.into()),
        ("IBV_WR_SEND", wr_opcode::SEND.into()),
        ("IBV_WR_RDMA_READ", wr_opcode::RDMA_READ.into()),
        ("IBV_ACCESS_LOCAL_WRITE", access::LOCAL_WRITE.into()),
        ("IBV_ACCESS_REMOTE_WRITE", access::REMOTE_WRITE.into()),
        ("IBV_ACCESS_REMOTE_READ", access::REMOTE_READ.into()),
        ("IBV_QPS_INIT", qp_state::INIT.into()),
        ("IBV_QPS_RTR", qp_state::RTR.into()),
        ("IBV_QPS_RTS", qp_state::RTS.into()),
        ("IBV_QP_STATE", qp_mask::STATE.into()),
        ("IBV_QP_ACCESS_FLAGS", qp_mask::ACCESS_FLAGS.into()),
        ("IBV_QP_PKEY_INDEX", qp_mask::PKEY_INDEX.into()),
        ("IBV_QP_PORT", qp_mask::PORT.into()),
        ("IBV_QP_AV", qp_mask::AV.into()),
        ("IBV_QP_PATH_MTU", qp_mask::PATH_MTU.into()),
        ("IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT", (qp_mask::TIMEOUT | qp_mask::RETRY_CNT).into()),
        ("IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN", (qp_mask::RNR_RETRY | qp_mask::RQ_PSN).into()),
        ("IBV_QP_MAX_QP_RD_ATOMIC", qp_mask::MAX_QP_RD_ATOMIC.into()),
        ("IBV_QP_MIN_RNR_TIMER", qp_mask::MIN_RNR_TIMER.into()),
        ("IBV_QP_SQ_PSN", qp_mask::SQ_PSN.into()),
        ("IBV_QP_MAX_DEST_RD_ATOMIC", qp_mask::MAX_DEST_RD_ATOMIC.into()),
        ("IBV_QP_DEST_QPN", qp_mask::DEST_QPN.into()),
    ];
    events.chain(others).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn layouts_are_those_of_the_header() {
    let expected = expected();
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("probe.c"), folder.path().join("probe"));
    let mut text =
        "#include <stddef.h>\n#include <stdio.h>\n#include <infiniband/verbs.h>\nint main(void) {\n"
            .to_owned();
    for (expression, _) in &expected {
        writeln!(text, "printf(\"%lld\\n\", (long long)({expression}));").unwrap();
    }
    text.push_str("return 0; }\n");
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let said = Command::new(&program).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let found: Vec<_> = said.lines().map(|line| line.parse::<i64>().unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    for ((expression, here), c) in expected.iter().zip(found) {
        assert_eq!(*here, c, "{expression}");
    }
}
