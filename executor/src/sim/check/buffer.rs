//! The receive buffer: its bytes are those of the packets that wait in it, and never more than it holds.

use crate::sim::nic::Nic;

/// Packets that are added up after every step, at most.
const FEW: usize = 32;

/// Checks the receive buffer of a NIC.
pub(super) fn check(nic: &Nic) {
    let receive = nic.receive_buffer();
    // A wrong sum stays wrong: it shows as soon as the buffer has few packets again.
    if receive.waiting.len() <= FEW {
        let waiting: u64 = receive.waiting.iter().map(|packet| u64::from(packet.frame_len)).sum();
        assert_eq!(
            receive.bytes - receive.elsewhere,
            waiting,
            "bytes in the receive buffer, and those of the packets that wait"
        );
    }
    assert!(
        receive.bytes <= receive.capacity,
        "{} bytes in a receive buffer of {}",
        receive.bytes,
        receive.capacity
    );
}
