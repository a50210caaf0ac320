//! Every wire header: what is emitted parses to the same, and short buffers are refused by name.

use dumper::Psn;
use dumper::wire::{
    Aeth, AethRepr, AtomicAckEth, AtomicAckEthRepr, AtomicEth, AtomicEthRepr, Bth, BthRepr, Deth, DethRepr,
    EtherType, Ethernet, EthernetRepr, Ieth, IethRepr, ImmDt, ImmDtRepr, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr,
    Layer, Mac, Opcode, Reason, Reth, RethRepr, Syndrome, Udp, UdpRepr, VlanTag, VlanTagRepr,
};
use proptest::prelude::*;

/// Emits into dirty bytes, so that a byte that the header forgets to write shows.
macro_rules! round_trip {
    ($view:ident, $repr:expr, $parse:expr) => {{
        let repr = $repr;
        for dirt in [0x00u8, 0xff] {
            let mut bytes = [dirt; $view::<&[u8]>::LEN];
            repr.emit(&mut $view::new_checked(&mut bytes[..]).unwrap());
            prop_assert_eq!($parse($view::new_checked(&bytes[..]).unwrap()), repr);
        }
    }};
}

fn ether_type() -> impl Strategy<Value = EtherType> {
    any::<u16>().prop_map(EtherType::from)
}

fn mac() -> impl Strategy<Value = Mac> {
    (0u64..1 << 48).prop_map(Mac)
}

proptest! {
    #[test]
    fn ethernet(destination in mac(), source in mac(), ether_type in ether_type()) {
        let repr = EthernetRepr { destination, source, ether_type };
        round_trip!(Ethernet, repr, |view| EthernetRepr::parse(&view));
    }

    #[test]
    fn vlan(tci: u16, ether_type in ether_type()) {
        round_trip!(VlanTag, VlanTagRepr { tci, ether_type }, |view| VlanTagRepr::parse(&view));
    }

    #[test]
    fn ipv4(
        traffic_class: u8, total_length in 20u16.., identification: u16, dont_fragment: bool, ttl: u8,
        protocol: u8, source: std::net::Ipv4Addr, destination: std::net::Ipv4Addr,
    ) {
        let repr = Ipv4Repr {
            traffic_class, total_length, identification, dont_fragment, ttl, protocol, source, destination,
        };
        round_trip!(Ipv4, repr, |view| {
            let (repr, len) = Ipv4Repr::parse(&view).unwrap();
            assert_eq!(len, Ipv4Repr::LEN);
            repr
        });
    }

    #[test]
    fn ipv6(
        traffic_class: u8, flow_label in 0u32..1 << 20, payload_length: u16, next_header: u8, hop_limit: u8,
        source: std::net::Ipv6Addr, destination: std::net::Ipv6Addr,
    ) {
        let repr = Ipv6Repr {
            traffic_class, flow_label, payload_length, next_header, hop_limit, source, destination,
        };
        round_trip!(Ipv6, repr, |view| Ipv6Repr::parse(&view).unwrap());
    }

    #[test]
    fn udp(src_port: u16, dst_port: u16, length: u16, checksum: u16) {
        round_trip!(Udp, UdpRepr { src_port, dst_port, length, checksum }, |view| UdpRepr::parse(&view));
    }

    #[test]
    fn bth(
        opcode: u8, bits: [bool; 5], pad_count in 0u8..4, partition_key: u16, dest_qpn in 0u32..1 << 24,
        psn in 0u32..1 << 24,
    ) {
        let [solicited, mig_req, fecn, becn, ack_req] = bits;
        let repr = BthRepr {
            opcode: Opcode::from(opcode),
            solicited,
            mig_req,
            pad_count,
            partition_key,
            fecn,
            becn,
            dest_qpn,
            ack_req,
            psn: Psn::new(psn),
        };
        round_trip!(Bth, repr, |view| BthRepr::parse(&view).unwrap());
        // The one setter changes its bit alone.
        let mut bytes = [0; BthRepr::LEN];
        repr.emit(&mut Bth::new_checked(&mut bytes[..]).unwrap());
        Bth::new_checked(&mut bytes[..]).unwrap().set_mig_req(!mig_req);
        let flipped = BthRepr::parse(&Bth::new_checked(&bytes[..]).unwrap()).unwrap();
        prop_assert_eq!(flipped, BthRepr { mig_req: !mig_req, ..repr });
    }

    #[test]
    fn reth(virtual_address: u64, remote_key: u32, dma_length: u32) {
        round_trip!(Reth, RethRepr { virtual_address, remote_key, dma_length }, |view| RethRepr::parse(&view));
    }

    #[test]
    fn aeth(syndrome: u8, msn in 0u32..1 << 24) {
        let repr = AethRepr { syndrome: Syndrome::from(syndrome), msn };
        round_trip!(Aeth, repr, |view| AethRepr::parse(&view));
        prop_assert_eq!(u8::from(repr.syndrome), syndrome);
        prop_assert_eq!(AethRepr::from(u32::from(repr)), repr);
        prop_assert_eq!(u32::from(repr), u32::from(syndrome) << 24 | msn);
    }

    #[test]
    fn atomic(virtual_address: u64, remote_key: u32, swap_or_add: u64, compare: u64) {
        let repr = AtomicEthRepr { virtual_address, remote_key, swap_or_add, compare };
        round_trip!(AtomicEth, repr, |view| AtomicEthRepr::parse(&view));
    }

    #[test]
    fn atomic_ack(original: u64) {
        round_trip!(AtomicAckEth, AtomicAckEthRepr { original }, |view| AtomicAckEthRepr::parse(&view));
    }

    #[test]
    fn immediate_and_invalidate(data: u32, remote_key: u32) {
        round_trip!(ImmDt, ImmDtRepr { data }, |view| ImmDtRepr::parse(&view));
        round_trip!(Ieth, IethRepr { remote_key }, |view| IethRepr::parse(&view));
    }

    #[test]
    fn deth(queue_key: u32, source_qpn in 0u32..1 << 24) {
        round_trip!(Deth, DethRepr { queue_key, source_qpn }, |view| DethRepr::parse(&view));
    }
}

#[test]
fn every_view_refuses_one_byte_too_few() {
    macro_rules! check {
        ($($view:ident: $len:literal),*) => {$(
            assert_eq!($view::<&[u8]>::LEN, $len);
            let error = $view::new_checked(&[0u8; $len - 1][..]).unwrap_err();
            assert_eq!(error.layer, Layer::$view);
            assert_eq!(error.offset, 0);
            assert_eq!(error.reason, Reason::Truncated { needed: $len, have: $len - 1 });
            assert!($view::new_checked(&[0u8; $len][..]).is_ok());
        )*};
    }
    check!(Ethernet: 14, Ipv4: 20, Ipv6: 40, Udp: 8, Bth: 12, Reth: 16, Aeth: 4);
    check!(AtomicEth: 28, AtomicAckEth: 8, ImmDt: 4, Ieth: 4, Deth: 8);
    assert_eq!(VlanTag::new_checked(&[0u8; 3][..]).unwrap_err().layer, Layer::Vlan);
}

/// Syndromes by their bits (IBA vol. 1, tables of AETH syndromes and NAK codes).
#[test]
fn syndromes_read_as_the_tables_say() {
    for (byte, text) in [
        (0x00, "ACK"),
        (0x1f, "ACK"),
        (0x2e, "RNR NAK timer 14"),
        (0x60, "NAK PSN sequence error"),
        (0x61, "NAK invalid request"),
        (0x62, "NAK remote access error"),
        (0x63, "NAK remote operational error"),
        (0x64, "NAK invalid RD request"),
        (0x7f, "NAK reserved code 31"),
        (0x40, "reserved syndrome 0x40"),
        (0xe0, "reserved syndrome 0xe0"),
    ] {
        assert_eq!(Syndrome::from(byte).to_string(), text);
    }
}

#[test]
fn what_no_roce_sender_writes_is_refused() {
    let mut ip = [0; 20];
    let repr = Ipv4Repr {
        traffic_class: 0,
        total_length: 20,
        identification: 0,
        dont_fragment: true,
        ttl: 1,
        protocol: 17,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    repr.emit(&mut Ipv4::new_checked(&mut ip[..]).unwrap());
    let parse = |change: &dyn Fn(&mut [u8; 20])| {
        let mut ip = ip;
        change(&mut ip);
        Ipv4Repr::parse(&Ipv4::new_checked(&ip[..]).unwrap()).map_err(|error| (error.offset, error.reason))
    };
    assert!(parse(&|_| ()).is_ok());
    assert_eq!(parse(&|ip| ip[0] = 0x65).unwrap_err(), (0, Reason::Version(6)));
    assert_eq!(parse(&|ip| ip[0] = 0x44).unwrap_err(), (0, Reason::HeaderLength(16)));
    assert_eq!(parse(&|ip| ip[3] = 19).unwrap_err(), (2, Reason::TotalLength(19)));
    assert_eq!(parse(&|ip| ip[6] = 0x20).unwrap_err(), (6, Reason::Fragment));
    assert_eq!(parse(&|ip| ip[7] = 1).unwrap_err(), (6, Reason::Fragment));

    let ip6 = [0x40; 40];
    let error = Ipv6Repr::parse(&Ipv6::new_checked(&ip6[..]).unwrap()).unwrap_err();
    assert_eq!((error.layer, error.reason), (Layer::Ipv6, Reason::Version(4)));
    let mut bth = [0; 12];
    bth[1] = 0x01;
    let error = BthRepr::parse(&Bth::new_checked(&bth[..]).unwrap()).unwrap_err();
    assert_eq!((error.layer, error.offset, error.reason), (Layer::Bth, 1, Reason::TransportVersion(1)));
}
