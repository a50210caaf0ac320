use dumper::wire::frame::{Frame, IpRepr, Parsed, UdpPorts};
use dumper::wire::{
    Aeth, AethRepr, AtomicEth, AtomicEthRepr, Bth, BthRepr, FrameRepr, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr, Reth,
    RethRepr, icrc,
};

/// Parses bytes as a frame and as single headers; what is a RoCEv2 packet is written again and must parse to the
/// same, with a right ICRC.
///
/// # Panics
/// When it does not.
pub(crate) fn packet(data: &[u8]) {
    headers(data);
    let _ = icrc::verify(data);
    for ports in [UdpPorts::Roce, UdpPorts::Any] {
        if let Ok(Parsed::Roce(frame)) = Frame::parse(data, ports) {
            let _ = frame.icrc_ok();
            written_again(&frame);
        }
    }
}

/// Bytes that are long enough for a header can be read as one, whatever they are.
fn headers(data: &[u8]) {
    let _ = Bth::new_checked(data).map(|view| BthRepr::parse(&view));
    let _ = Ipv4::new_checked(data).map(|view| Ipv4Repr::parse(&view));
    let _ = Ipv6::new_checked(data).map(|view| Ipv6Repr::parse(&view));
    let _ = Aeth::new_checked(data).map(|view| AethRepr::parse(&view).syndrome.to_string());
    let _ = Reth::new_checked(data).map(|view| RethRepr::parse(&view));
    let _ = AtomicEth::new_checked(data).map(|view| AtomicEthRepr::parse(&view));
}

fn written_again(frame: &Frame<'_>) {
    let repr = FrameRepr {
        destination: frame.ethernet.destination,
        source: frame.ethernet.source,
        vlan: frame.vlan,
        ip: frame.ip,
        src_port: frame.udp.src_port,
        bth: frame.bth,
        extensions: frame.extensions,
        payload_len: u16::try_from(frame.payload_len).expect("an IP length has 16 bits"),
    };
    let mut bytes = Vec::new();
    // Other pad and no IP options may make the packet longer than an IP length can say.
    if repr.emit(&mut bytes).is_err() {
        return;
    }
    let Ok(Parsed::Roce(again)) = Frame::parse(&bytes, UdpPorts::Roce) else {
        panic!("{repr:?} is written as something else");
    };
    assert_eq!(bytes.len(), repr.len());
    assert_eq!((again.ethernet.destination, again.ethernet.source), (repr.destination, repr.source));
    assert_eq!((again.vlan, again.udp.src_port), (repr.vlan, repr.src_port));
    assert_eq!(without_length(again.ip), without_length(repr.ip));
    assert_eq!(BthRepr { pad_count: repr.bth.pad_count, ..again.bth }, repr.bth);
    assert_eq!(again.extensions, repr.extensions);
    assert_eq!(again.payload_len, frame.payload_len);
    assert_eq!(again.icrc_ok(), Some(true));
}

fn without_length(ip: IpRepr) -> IpRepr {
    match ip {
        IpRepr::V4(ip) => IpRepr::V4(Ipv4Repr { total_length: 0, ..ip }),
        IpRepr::V6(ip) => IpRepr::V6(Ipv6Repr { payload_length: 0, ..ip }),
    }
}
