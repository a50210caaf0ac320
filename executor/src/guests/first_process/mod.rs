//! First process of a guest in virtual time: the agent itself, which sets the guest up without running another program. Each
//! would cost as much as a test.

mod netlink;

use std::fs;
use std::io::{self, Error};
use std::path::{Path, PathBuf};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::{NETLINK_RDMA, NETLINK_ROUTE};
use nix::mount::{MsFlags, mount};
use nix::net::if_::if_nametoindex;

use self::netlink::{NewLink, Requests};
use super::addresses::{address_of, mac_of};
use super::{ADDRESSES, MTU};

/// The network device, and the RDMA device over it.
const NETDEV: &str = "eth0";
const RDMA_DEVICE: &str = "rxe0";

/// File systems that programs expect.
const MOUNTS: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];

/// What IPv6 would put on the wire beside the packets of tests.
const UNWANTED: [&str; 4] = ["accept_dad", "autoconf", "accept_ra", "router_solicitations"];

/// Flags of a network device: up, broadcast, multicast (`linux/if.h`).
const UP: &str = "0x1003";

/// The first process of a guest with a number, 1 or 2.
#[derive(Clone, Copy, Debug)]
pub struct FirstProcess(pub u8);

impl FirstProcess {
    /// Sets this guest up; the device of the port to its orchestrator.
    ///
    /// # Errors
    /// The kernel lacks something, which the error names.
    pub fn set_up(self) -> io::Result<PathBuf> {
        for (kind, folder) in MOUNTS {
            mount(Some(kind), folder, Some(kind), MsFlags::empty(), None::<&str>)
                .map_err(|error| named(folder, &error.into()))?;
        }
        for key in UNWANTED {
            put(&format!("/proc/sys/net/ipv6/conf/{NETDEV}/{key}"), "0")?;
        }
        put("/sys/class/net/lo/flags", UP)?;
        put(&format!("/sys/class/net/{NETDEV}/mtu"), &MTU.to_string())?;
        let index = if_nametoindex(NETDEV).map_err(|error| named(NETDEV, &error.into()))?;
        let mut routes = Requests::of(NETLINK_ROUTE)?;
        for message in self.addresses(index) {
            routes.ask(message, NLM_F_CREATE | NLM_F_EXCL).map_err(|error| named("addresses", &error))?;
        }
        put(&format!("/sys/class/net/{NETDEV}/flags"), UP)?;
        for message in self.neighbours(index) {
            routes.ask(message, NLM_F_CREATE | NLM_F_EXCL).map_err(|error| named("neighbours", &error))?;
        }
        let link = NewLink { name: RDMA_DEVICE, kind: "rxe", netdev: NETDEV };
        Requests::of(NETLINK_RDMA)?.ask(link, 0).map_err(|error| named(RDMA_DEVICE, &error))?;
        port()
    }

    fn addresses(self, index: u32) -> impl Iterator<Item = RouteNetlinkMessage> {
        let both = (0..ADDRESSES).flat_map(|number| [(number, false), (number, true)]);
        both.map(move |(number, ipv6)| {
            let address = address_of(number, self.0, ipv6);
            let mut message = AddressMessage::default();
            message.header.family = if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
            message.header.prefix_len = address.prefix;
            message.header.index = index;
            message.attributes.push(AddressAttribute::Address(address.addr));
            if !ipv6 {
                message.attributes.push(AddressAttribute::Local(address.addr));
            }
            RouteNetlinkMessage::NewAddress(message)
        })
    }

    /// The addresses of the other guest, which is not asked for them.
    fn neighbours(self, index: u32) -> impl Iterator<Item = RouteNetlinkMessage> {
        let peer = 3 - self.0;
        (0..ADDRESSES).map(move |number| {
            let mut message = NeighbourMessage::default();
            message.header.family = AddressFamily::Inet;
            message.header.ifindex = index;
            message.header.state = NeighbourState::Permanent;
            let address = NeighbourAddress::from(address_of(number, peer, false).addr);
            message.attributes = vec![
                NeighbourAttribute::Destination(address),
                NeighbourAttribute::LinkLayerAddress(mac_of(peer).to_vec()),
            ];
            RouteNetlinkMessage::NewNeighbour(message)
        })
    }
}

/// The port to the orchestrator: the only one.
fn port() -> io::Result<PathBuf> {
    let dev = Path::new("/dev");
    for entry in fs::read_dir(dev)? {
        let name = entry?.file_name();
        if name.to_string_lossy().starts_with("vport") {
            return Ok(dev.join(name));
        }
    }
    Err(Error::new(io::ErrorKind::NotFound, "there is no port /dev/vport*"))
}

fn put(path: &str, value: &str) -> io::Result<()> {
    fs::write(path, value).map_err(|error| named(path, &error))
}

fn named(what: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{what}: {error}"))
}
