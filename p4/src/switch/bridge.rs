//! Forwarding decision for the other port, as in a learning bridge (IEEE 802.1D).

use corpus::Role;
use dumper::wire::{Ethernet, EthernetRepr, Mac};
use rustc_hash::FxHashMap;

/// Most addresses that are known at a time. Testbeds have a handful; a host that floods the switch with addresses only
/// makes it forget and learn again.
const MAX_ADDRESSES: usize = 1024;

/// The lowest bit of the first byte of an address: broadcast and multicast.
const GROUP: u64 = 1 << 40;

/// Ports at which addresses were last seen.
#[derive(Debug, Default)]
pub(super) struct Bridge(FxHashMap<Mac, Role>);

impl Bridge {
    /// Learns where the sender is, and says whether the frame goes to the other port: not if its receiver is
    /// known to be where it came from. A runt without addresses goes.
    pub(super) fn crosses(&mut self, port: Role, frame: &[u8]) -> bool {
        let Ok(ethernet) = Ethernet::new_checked(frame) else { return true };
        let EthernetRepr { source, destination, .. } = EthernetRepr::parse(&ethernet);
        if source.0 & GROUP == 0 && self.0.get(&source) != Some(&port) {
            if self.0.len() >= MAX_ADDRESSES {
                self.0.clear();
            }
            self.0.insert(source, port);
        }
        self.0.get(&destination) != Some(&port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Requester, Responder};

    fn frame(destination: u64, source: u64) -> Vec<u8> {
        let bytes = |mac: u64| mac.to_be_bytes()[2..].to_vec();
        [bytes(destination), bytes(source), vec![8, 6]].concat()
    }

    #[test]
    fn only_frames_for_the_other_side_cross() {
        let mut bridge = Bridge::default();
        let broadcast = 0xffff_ffff_ffff;
        assert!(bridge.crosses(Requester, &frame(broadcast, 2)));
        assert!(bridge.crosses(Requester, &frame(4, 2)), "unknown receivers may be anywhere");
        assert!(!bridge.crosses(Requester, &frame(2, 6)), "the receiver is on the same side");
        assert!(bridge.crosses(Responder, &frame(2, 4)));
        assert!(bridge.crosses(Responder, &frame(8, 2)), "the host has moved");
        assert!(bridge.crosses(Requester, &frame(2, 4)));
        assert!(bridge.crosses(Requester, &[0; 13]));
        assert!(bridge.crosses(Requester, &frame(10, broadcast)));
        assert!(bridge.crosses(Requester, &frame(broadcast, 4)), "no host has a group's address");
    }

    #[test]
    fn what_is_learnt_is_bounded() {
        let mut bridge = Bridge::default();
        for source in 0..5_000 {
            bridge.crosses(Requester, &frame(1, source * 2));
            assert!(bridge.0.len() <= MAX_ADDRESSES);
        }
    }
}
