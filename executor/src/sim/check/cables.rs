//! The cables: every packet that a NIC has sent is looked up there, is on the way to the switch, or has entered it, and packets on a cable
//! arrive in their order.

use dumper::Nanos;

use crate::sim::host::Host;
use crate::sim::network::Network;
use crate::sim::nic::Stat;
use crate::sim::packet::Packet;

/// Packets at each end of a cable whose order is checked after every step.
const ENDS: usize = 8;

/// Checks all cables.
pub(super) fn check(hosts: &[Host], network: &Network) {
    let sent: u64 = hosts.iter().map(|host| host.nic.stats().of(Stat::PacketsSent)).sum();
    let on_the_way: usize = network.links().iter().map(|link| link.up.len() + link.held.len()).sum();
    let entered = network.packets();
    let looked_up: usize =
        hosts.iter().filter_map(|host| host.nic.eswitch.as_ref()).map(|eswitch| eswitch.leaving()).sum();
    assert_eq!(
        sent,
        (looked_up + on_the_way + entered) as u64,
        "packets sent; {looked_up} looked up, {on_the_way} on cables, {entered} entered"
    );
    for link in network.links() {
        for way in [&link.up, &link.down] {
            // A packet joins at the end, or, a CNP, before those that are not on the cable yet.
            let (first, last) = (way.iter().take(ENDS), way.iter().skip(way.len().saturating_sub(ENDS)));
            let times = |at: &(Nanos, Packet)| at.0;
            let ordered = first.is_sorted_by_key(times) && last.is_sorted_by_key(times);
            assert!(ordered, "a packet overtakes another on its cable");
        }
    }
}
