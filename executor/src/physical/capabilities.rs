//! Capabilities of a testbed of real NICs: those that its file and its hosts leave.

use corpus::{Capabilities, ControlPacket, Mtu, Quick, RoceParameters, RoceSetting};

use super::file::{SwitchKind, TestbedFile};
use super::host::HostFacts;
use crate::remote::ProgramSwitch;

/// Most connections of a test, without a limit in the file.
const MAX_CONNECTIONS: u32 = 1_024;

/// Tests that take some hundredths of a second.
const QUICK: Quick =
    Quick { max_connections: 64, max_bytes: 16 << 20, timeouts: 10..=14, max_loss_ppb: 5_000_000 };

/// Settings of the RoCE stack, by the names that agents know them by.
const SETTINGS: [(&str, RoceSetting); 5] = [
    ("dcqcn-np-enable", RoceSetting::NotificationPoint),
    ("dcqcn-rp-enable", RoceSetting::ReactionPoint),
    ("min-time-between-cnps", RoceSetting::CnpInterval),
    ("adaptive-retrans", RoceSetting::AdaptiveRetrans),
    ("slow-restart", RoceSetting::SlowRestart),
];

/// Capabilities of any such testbed, before its file is read.
#[must_use]
pub fn capabilities() -> Capabilities {
    Capabilities {
        pfc: false,
        control: false,
        swaps_nics: false,
        deterministic: false,
        max_connections: MAX_CONNECTIONS,
        quick: Some(QUICK),
        ..Capabilities::all()
    }
}

/// Capabilities of a testbed with these hosts.
pub(super) fn capabilities_of(file: &TestbedFile, hosts: &[HostFacts; 2]) -> Capabilities {
    let mut can = capabilities();
    if file.switch.kind != SwitchKind::Software {
        can = ProgramSwitch::within(can);
    }
    let least = |of: fn(&HostFacts) -> u64| hosts.iter().map(of).min().unwrap_or_default();
    let at_most =
        |most: u32, of: fn(&HostFacts) -> u64| most.min(u32::try_from(least(of)).unwrap_or(u32::MAX));
    can.max_bytes = least(|host| host.max_bytes);
    can.max_tx_depth = at_most(can.max_tx_depth, |host| host.max_qp_wr.into());
    can.max_recv_depth = at_most(can.max_recv_depth, |host| host.max_qp_wr.into());
    can.max_rd_atomic =
        u8::try_from(at_most(can.max_rd_atomic.into(), |host| host.max_rd_atomic.into())).unwrap_or(u8::MAX);
    can.mtus.retain(|mtu: &Mtu| hosts.iter().all(|host| mtu.bytes() <= host.mtu));
    let of_family = |is_v6: bool| {
        let count =
            |host: &HostFacts| host.addresses.iter().filter(|address| address.is_ipv6() == is_v6).count();
        hosts.iter().map(count).min().unwrap_or(0)
    };
    can.max_addresses = can.max_addresses.min(of_family(false));
    can.ipv6 = of_family(true) >= can.max_addresses;
    // rdma_rxe answers no ECN mark with a CNP.
    let is_rxe = |host: &HostFacts| host.family == "rxe";
    if hosts.iter().any(is_rxe) {
        can.control_packets.retain(|packet| *packet != ControlPacket::Cnp);
        can.fixed = RoceParameters {
            dcqcn_np_enable: false,
            dcqcn_rp_enable: false,
            adaptive_retrans: false,
            slow_restart: false,
            ..RoceParameters::default()
        };
    }
    let sets = |name: &str| hosts.iter().all(|host| host.parameters.contains(name));
    can.settings = SETTINGS.into_iter().filter(|(name, _)| sets(name)).map(|(_, setting)| setting).collect();
    limited(can, file)
}

/// With the limits of the file.
fn limited(mut can: Capabilities, file: &TestbedFile) -> Capabilities {
    let limits = &file.limits;
    if let Some(most) = limits.max_connections {
        can.max_connections = can.max_connections.min(most.get());
    }
    if let Some(mib) = limits.max_mib {
        can.max_bytes = can.max_bytes.min(u64::from(mib.get()) << 20);
    }
    if let Some([least, largest]) = limits.timeouts {
        can.timeouts = least.max(*can.timeouts.start())..=largest.min(*can.timeouts.end());
    }
    let (from, to) = (can.timeouts.start(), can.timeouts.end());
    can.quick = Some(Quick {
        max_connections: QUICK.max_connections.min(can.max_connections),
        max_bytes: QUICK.max_bytes.min(can.max_bytes),
        timeouts: *QUICK.timeouts.start().clamp(from, to)..=*QUICK.timeouts.end().clamp(from, to),
        max_loss_ppb: QUICK.max_loss_ppb,
    });
    can
}
