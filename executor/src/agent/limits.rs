//! Compares a test with the limits of the device, so that a host refuses a test that it cannot run.

use corpus::{Role, TestConfig, Verb};

use super::layout::Layout;
use crate::verbs::{DeviceLimits, PortState};

/// Entries of the queues that one QP needs.
pub(super) fn queue_depth(config: &TestConfig, role: Role, connection: u32) -> u32 {
    let traffic = &config.traffic;
    match traffic.end_at(role, connection + 1) {
        // Dummies have no completion that would say when their place is free again: the next message's does.
        Role::Requester => {
            let dummies = u32::from(traffic.dummy_headers);
            traffic.tx_depth.saturating_mul(1 + dummies).saturating_add(dummies)
        }
        Role::Responder => traffic.recv_depth.min(sends_of(config, connection)),
    }
}

/// Sends on a connection (from 0).
pub(super) fn sends_of(config: &TestConfig, connection: u32) -> u32 {
    let traffic = &config.traffic;
    let is_send = |message: &u32| traffic.load.verb(connection + 1, *message) == Verb::Send;
    (0..traffic.num_msgs_per_qp).filter(is_send).count() as u32
}

/// Refuses a test that the device, its port, or the memory cannot take. The error names the field of the
/// test, the limit, and the remedy.
pub(super) fn check(
    config: &TestConfig,
    role: Role,
    device: &DeviceLimits,
    port: &PortState,
    max_memory: u64,
) -> Result<(), String> {
    let traffic = &config.traffic;
    let mut limits: Vec<(&str, u64, u64, &str)> = vec![
        (
            "traffic.num-connections",
            traffic.load.connections().into(),
            device.max_qp.into(),
            "QPs of the device",
        ),
        (
            "traffic.message-size",
            traffic.message_size.into(),
            port.max_message_bytes.into(),
            "bytes of a message of the port",
        ),
        (
            "traffic.message-size",
            Layout::of(traffic).bytes(),
            device.max_mr_bytes,
            "bytes of a memory region",
        ),
    ];
    for (end, depth_field, reads) in [
        (Role::Requester, "traffic.tx-depth", device.max_qp_init_rd_atom),
        (Role::Responder, "traffic.recv-depth", device.max_qp_rd_atom),
    ] {
        let has_end = |at: &u32| traffic.end_at(role, at + 1) == end;
        let depths = (0..traffic.load.connections()).filter(has_end).map(|at| queue_depth(config, role, at));
        let Some(depth) = depths.max() else { continue };
        limits.extend([
            (depth_field, depth.into(), device.max_qp_wr.into(), "requests in a queue of a QP"),
            (depth_field, depth.into(), device.max_cqe.into(), "entries of a completion queue"),
            (
                "traffic.max-rd-atomic",
                traffic.max_rd_atomic.into(),
                reads.into(),
                "outstanding Reads of a QP",
            ),
        ]);
    }
    for (field, asked, limit, of) in limits {
        if asked > limit {
            return Err(format!("{field}: {asked} is beyond the {limit} {of}; lower it"));
        }
    }
    if !port.active || !port.ethernet {
        let state = if port.ethernet { "is down" } else { "is no Ethernet port" };
        return Err(format!(
            "the port {state}; bring its network device up (`ip link set IF up`), or name another"
        ));
    }
    if traffic.mtu.bytes() > port.active_mtu {
        return Err(format!(
            "traffic.mtu: {} is beyond the port's {}; lower it, or raise the MTU of the network device",
            traffic.mtu.bytes(),
            port.active_mtu
        ));
    }
    let bytes = Layout::of(traffic).bytes();
    if bytes > max_memory {
        return Err(format!(
            "traffic.message-size: all messages together take {bytes} bytes, and the host has {max_memory} for \
             them; lower it, traffic.num-msgs-per-qp or traffic.num-connections"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use corpus::{Load, Mtu};

    use super::*;

    /// Limits as rdma_rxe has them.
    fn device() -> DeviceLimits {
        DeviceLimits {
            firmware: String::new(),
            vendor_id: 0xff_ffff,
            vendor_part_id: 0,
            max_qp: 1000,
            max_qp_wr: 1024,
            max_cq: 100,
            max_cqe: 32_767,
            max_mr_bytes: u64::MAX,
            max_qp_rd_atom: 128,
            max_qp_init_rd_atom: 64,
            ports: 1,
        }
    }

    fn port() -> PortState {
        PortState {
            active: true,
            ethernet: true,
            active_mtu: 1024,
            max_mtu: 4096,
            max_message_bytes: 0x80_0000,
        }
    }

    fn refusal(role: Role, edit: impl FnOnce(&mut TestConfig)) -> Option<String> {
        let mut config = TestConfig::default();
        edit(&mut config);
        check(&config, role, &device(), &port(), 1 << 20).err()
    }

    #[test]
    fn the_default_test_fits() {
        assert_eq!(refusal(Role::Requester, |_| {}), None);
        assert_eq!(refusal(Role::Responder, |_| {}), None);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let starts = |said: Option<String>, with: &str| {
            let said = said.expect("refused");
            assert!(said.starts_with(with), "{said}");
        };
        let many = |config: &mut TestConfig| {
            config.traffic.load = Load::Same { verb: Verb::Write, connections: 1001 };
        };
        starts(refusal(Role::Requester, many), "traffic.num-connections: 1001 is beyond the 1000 ");
        let deep = |config: &mut TestConfig| {
            config.traffic.num_msgs_per_qp = 2000;
            config.traffic.message_size = 1;
            config.traffic.tx_depth = 1025;
        };
        starts(refusal(Role::Requester, deep), "traffic.tx-depth: 1025 is beyond the 1024 ");
        assert_eq!(refusal(Role::Responder, deep), None);
        let reads = |config: &mut TestConfig| config.traffic.max_rd_atomic = 65;
        starts(refusal(Role::Requester, reads), "traffic.max-rd-atomic: 65 is beyond the 64 ");
        assert_eq!(refusal(Role::Responder, reads), None);
        let mtu = |config: &mut TestConfig| config.traffic.mtu = Mtu::B2048;
        starts(refusal(Role::Responder, mtu), "traffic.mtu: 2048 is beyond the port's 1024");
        let large = |config: &mut TestConfig| config.traffic.message_size = 1 << 20;
        starts(refusal(Role::Requester, large), "traffic.message-size: all messages together take 10485760 ");
    }

    #[test]
    fn receives_are_kept_for_sends_alone() {
        let mut config = TestConfig::default();
        config.traffic.load = Load::Alternating { connections: 1 };
        config.traffic.num_msgs_per_qp = 5;
        assert_eq!(sends_of(&config, 0), 3);
        assert_eq!(queue_depth(&config, Role::Responder, 0), 3);
        config.traffic.recv_depth = 2;
        assert_eq!(queue_depth(&config, Role::Responder, 0), 2);
        config.traffic.load = Load::Split { send: 1, read: 1 };
        assert_eq!((sends_of(&config, 0), sends_of(&config, 1)), (5, 0));
        config.traffic.tx_depth = 3;
        assert_eq!(queue_depth(&config, Role::Requester, 0), 3);
        config.traffic.dummy_headers = 2;
        assert_eq!(queue_depth(&config, Role::Requester, 0), 11);
    }
}
