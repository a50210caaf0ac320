//! Addresses of the guests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use corpus::config::Cidr;
use corpus::{Role, TestConfig};

/// IPv4 and IPv6 addresses of a guest.
pub const ADDRESSES: u8 = 4;

/// MTU of the guests' network devices in virtual time: packets of the largest RoCE MTU with their headers.
pub(crate) const MTU: u16 = 4_200;

/// Prefix lengths of the guests' addresses.
const PREFIXES: [u8; 2] = [16, 64];

/// A test with the addresses of the guests in the place of its own.
pub(crate) fn with_guests(config: &TestConfig) -> TestConfig {
    let mut config = config.clone();
    for (role, host) in Role::ALL.into_iter().zip(1..) {
        let addresses = &mut config.host_mut(role).ip_list;
        for (index, address) in (0..ADDRESSES).zip(addresses.iter_mut()) {
            *address = address_of(index, host, address.addr.is_ipv6());
        }
    }
    config
}

/// The address that a guest's first process gave it: 10.0.INDEX.HOST or fd00::INDEX:HOST.
pub(crate) fn address_of(index: u8, host: u8, ipv6: bool) -> Cidr {
    let addr = if ipv6 {
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, index.into(), host.into()))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, 0, index, host))
    };
    Cidr { addr, prefix: PREFIXES[usize::from(ipv6)] }
}

/// Ethernet address of a guest's network device.
pub(crate) const fn mac_of(host: u8) -> [u8; 6] {
    [0x52, 0x54, 0, 0, 0, host]
}
