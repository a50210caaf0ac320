//! The receive buffer: its bytes are those of the packets that wait in it, and never more than it holds.

use crate::sim::nic::Nic;

/// Checks the receive buffer of a NIC.
pub(super) fn check(nic: &Nic) {
    let receive = nic.receive();
    let waiting: u64 = receive.waiting.iter().map(|packet| u64::from(packet.frame_len)).sum();
    assert_eq!(receive.bytes, waiting, "bytes in the receive buffer, and those of the packets that wait");
    assert!(
        receive.bytes <= receive.capacity,
        "{} bytes in a receive buffer of {}",
        receive.bytes,
        receive.capacity
    );
}
