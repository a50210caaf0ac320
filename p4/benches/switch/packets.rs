//! The packets, and the entries of the injector.

use std::net::{IpAddr, Ipv4Addr};

use dumper::wire::frame::{ExtensionReprs, IpRepr};
use dumper::wire::{BthRepr, FrameRepr, Ipv4Repr, Mac, Opcode};
use dumper::{Connection, Endpoint, Psn};
use p4::Tables;

/// Bytes of a frame: 1 KB of payload.
pub(crate) const BYTES: usize = 14 + 20 + 8 + 12 + PAYLOAD as usize + 4;

const PAYLOAD: u16 = 1024;

const CONNECTIONS: u32 = 100;

fn ip(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

fn qpn(host: u8, connection: u32) -> u32 {
    0x100 * u32::from(host) + connection
}

/// A hundred connections whose first packets have so many entries in all, of which one in a hundred packets that are sent has one.
pub(crate) fn tables(entries: u32) -> Tables {
    let first = Psn::new(0);
    let end = |host, connection| Endpoint {
        ip: IpAddr::V4(ip(host)),
        qpn: Some(qpn(host, connection)),
        initial_psn: Some(first),
    };
    let connections: Vec<_> = (1..=CONNECTIONS)
        .map(|connection| Connection { requester: end(1, connection), responder: end(2, connection) })
        .collect();
    let text = format!(
        "traffic = {{ num-connections = {CONNECTIONS}, num-msgs-per-qp = 10000, message-size = 1024, mtu = 1024 }}
        event = [{{ qpn = {}, psn = 1, count = {}, every = 1, type = \"ecn\" }}]",
        if entries < CONNECTIONS { "1".to_owned() } else { "\"all\"".to_owned() },
        if entries < CONNECTIONS { entries } else { entries / CONNECTIONS },
    );
    let config = corpus::from_toml("bench.toml", &text).unwrap();
    p4::translate(&config, &connections).unwrap()
}

/// The `number`-th packet of a host, which goes to the other.
pub(crate) fn frame(from: u8, number: u32) -> Vec<u8> {
    let to = 3 - from;
    let connection = number % CONNECTIONS + 1;
    let repr = FrameRepr {
        destination: mac(to),
        source: mac(from),
        vlan: None,
        ip: IpRepr::V4(Ipv4Repr {
            traffic_class: 2,
            total_length: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: 0,
            source: ip(from),
            destination: ip(to),
        }),
        src_port: 49_152,
        bth: BthRepr::new(Opcode::WriteMiddle, qpn(to, connection), Psn::new(number / CONNECTIONS)),
        extensions: ExtensionReprs::default(),
        payload_len: PAYLOAD,
    };
    let mut frame = Vec::new();
    repr.emit(&mut frame).unwrap();
    frame
}

fn mac(host: u8) -> Mac {
    Mac(0x5254_0000_0000 + u64::from(host))
}
