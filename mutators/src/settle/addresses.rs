//! Addresses of hosts, where connections are spread over them.

use std::net::IpAddr;

use corpus::{Cidr, Role, TestConfig};

use crate::axis::Axis;
use crate::space::Space;

/// Largest distance from the first address of a host at which others are sought, in either direction.
const REACH: u128 = 1024;

pub(super) fn fit(space: &Space, test: &mut TestConfig) {
    if !test.traffic.multi_gid {
        return;
    }
    let allowed = &space[Axis::Addresses];
    for role in Role::ALL {
        let has = test.host(role).ip_list.len() as u64;
        give(test, role, allowed.nearest(has));
    }
    if Role::ALL.iter().any(|role| test.host(*role).ip_list.len() > 1) {
        return;
    }
    match allowed.at_least(2) {
        Some(two) => give(test, Role::Responder, two),
        None => test.traffic.multi_gid = !space[Axis::MultiGid].contains(0),
    }
}

/// Gives a host so many addresses: its own, and then free ones next to its first.
pub(crate) fn give(test: &mut TestConfig, role: Role, count: u64) {
    let count = count as usize;
    let host = test.host(role);
    let Some(first) = host.ip_list.first().copied() else { return };
    if host.ip_list.len() < count {
        let taken: Vec<IpAddr> =
            Role::ALL.iter().flat_map(|role| &test.host(*role).ip_list).map(|cidr| cidr.addr).collect();
        let missing = count - host.ip_list.len();
        let free = neighbours(first).filter(|cidr| !taken.contains(&cidr.addr)).take(missing);
        test.host_mut(role).ip_list.extend(free);
    }
    test.host_mut(role).ip_list.truncate(count);
}

/// Addresses that a host may have, upwards from this one and then downwards.
fn neighbours(first: Cidr) -> impl Iterator<Item = Cidr> {
    let at = move |up: bool, distance: u128| match first.addr {
        IpAddr::V4(v4) => {
            let distance = distance as u32;
            let bits = v4.to_bits();
            IpAddr::V4(if up { bits.wrapping_add(distance) } else { bits.wrapping_sub(distance) }.into())
        }
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            IpAddr::V6(if up { bits.wrapping_add(distance) } else { bits.wrapping_sub(distance) }.into())
        }
    };
    [true, false]
        .into_iter()
        .flat_map(move |up| (1..=REACH).map(move |distance| at(up, distance)))
        .filter(|addr| {
            let broadcast = matches!(addr, IpAddr::V4(v4) if v4.is_broadcast());
            !(addr.is_unspecified() || addr.is_multicast() || addr.is_loopback() || broadcast)
        })
        .map(move |addr| Cidr { addr, prefix: first.prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(requester: &str, responder: &str, count: u64) -> Vec<String> {
        let mut test = TestConfig::default();
        test.requester.ip_list = vec![requester.parse().unwrap()];
        test.responder.ip_list = vec![responder.parse().unwrap()];
        give(&mut test, Role::Requester, count);
        test.requester.ip_list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn further_addresses_are_free_and_usable() {
        assert_eq!(given("10.0.0.1/24", "10.0.0.2/24", 3), ["10.0.0.1/24", "10.0.0.3/24", "10.0.0.4/24"]);
        assert_eq!(
            given("223.255.255.254/8", "10.0.0.2/8", 3),
            ["223.255.255.254/8", "223.255.255.255/8", "223.255.255.253/8"]
        );
        assert_eq!(given("fd00::1/64", "fd00::3/64", 3), ["fd00::1/64", "fd00::2/64", "fd00::4/64"]);
        assert_eq!(given("10.0.0.1/24", "10.0.0.2/24", 256).len(), 256);
    }
}
