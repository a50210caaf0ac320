//! Rules between the tables of a NIC's switch, for chains that are made by hand.

use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// Direction of packets at a host.
    Direction:
    /// From the host to the cable.
    Egress "egress",
    /// From the cable to the host.
    Ingress "ingress";
    /// Version of IP.
    IpVersion:
    /// IPv4.
    V4 "ipv4",
    /// IPv6.
    V6 "ipv6";
}

/// `[[requester.offload.rule]]`: the next hop of packets in a table. Of the rules of a table the first that matches a packet decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The table that it is in, from 1, in which packets start; see [`fields::RULE_TABLE`](super::fields::RULE_TABLE).
    pub table: u32,
    /// Direction of the packets that it matches; none for both.
    pub direction: Option<Direction>,
    /// Version of IP of the packets that it matches; none for any.
    pub ip_version: Option<IpVersion>,
    /// Next hop of these packets.
    pub forward_to: Hop,
}

/// Next hop of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hop {
    /// A table; see [`fields::FORWARD_TO`](super::fields::FORWARD_TO).
    Table(u32),
    /// The port: no further table.
    Port,
}

impl Hop {
    /// Name of the port in files; a table has its number.
    pub const PORT: &str = "port";
}

impl Rule {
    /// Name of both directions in files.
    pub const BOTH: &str = "both";

    /// Name of any version of IP in files.
    pub const ANY: &str = "any";

    /// Directions by their names in files, that of both first.
    pub const DIRECTIONS: &[(&str, Option<Direction>)] = &[
        (Self::BOTH, None),
        (Direction::Egress.name(), Some(Direction::Egress)),
        (Direction::Ingress.name(), Some(Direction::Ingress)),
    ];

    /// Versions of IP by their names in files, that of any first.
    pub const MATCHES: &[(&str, Option<IpVersion>)] = &[
        (Self::ANY, None),
        (IpVersion::V4.name(), Some(IpVersion::V4)),
        (IpVersion::V6.name(), Some(IpVersion::V6)),
    ];

    /// Returns true if it matches packets of a direction and a version of IP.
    #[must_use]
    pub fn matches(&self, direction: Direction, ip_version: IpVersion) -> bool {
        self.direction.is_none_or(|of| of == direction) && self.ip_version.is_none_or(|of| of == ip_version)
    }
}
