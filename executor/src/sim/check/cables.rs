//! The cables: every packet that a NIC has sent is on the way to the switch or has entered it, and packets on a cable
//! arrive in their order.

use crate::sim::host::Host;
use crate::sim::network::Network;
use crate::sim::nic::Stat;

/// Checks all cables.
pub(super) fn check(hosts: &[Host], network: &Network) {
    let sent: u64 = hosts.iter().map(|host| host.nic.stats().of(Stat::PacketsSent)).sum();
    let on_the_way: usize = network.links().iter().map(|link| link.up.len()).sum();
    let entered = network.packets();
    assert_eq!(
        sent,
        (on_the_way + entered) as u64,
        "packets sent; {on_the_way} on cables, {entered} entered"
    );
    for link in network.links() {
        for way in [&link.up, &link.down] {
            assert!(way.iter().is_sorted_by_key(|(at, _)| *at), "a packet overtakes another on its cable");
        }
    }
}
