use std::net::Ipv4Addr;

use corpus::Role;
use dumper::wire::frame::{ExtensionReprs, IpRepr};
use dumper::wire::{AethRepr, BthRepr, FrameRepr, Ipv4Repr, Mac, Opcode, RethRepr};
use dumper::{Connection, Endpoint, Nanos, Psn};
use p4::switch::{Departure, Limits, Switch};
use p4::translate;

use crate::choices::Choices;

/// Moves the frames that the input describes, RoCEv2 packets and others, through a software switch with the test that it
/// describes, in virtual time.
///
/// # Panics
/// When the counters do not count what left, or a packet is not captured.
pub(crate) fn switch(data: &[u8]) {
    let mut choices = Choices::of(data);
    let config = choices.test(EVENTS);
    let connections: Vec<_> = (1..=config.traffic.load.connections()).map(connection).collect();
    let Ok(tables) = translate(&config, &connections) else { return };
    let (mut switch, mut out) = (Switch::new(Limits::default()), Vec::new());
    switch.begin(tables, Nanos::ZERO);
    let (mut now, mut frames) = (Nanos::ZERO, 0);
    while choices.are_left() {
        now += Nanos(choices.wide().into());
        let port = Role::ALL[choices.below(2) as usize];
        let frame = match choices.below(4) {
            0 => choices.bytes(),
            _ => choices.packet(port),
        };
        until(&mut switch, now, &mut out);
        switch.receive(port, &frame, now, &mut out);
        frames += 1;
    }
    until(&mut switch, Nanos(u64::MAX), &mut out);
    let counters = switch.counters().expect("a test has begun");
    let left: u64 = counters.host_ports.iter().map(|port| counters.egress[port]).sum();
    // Frames of other protocols are not counted.
    let others = frames - counters.received();
    assert!((left..=left + others).contains(&(out.len() as u64)), "{counters:?}, {} left", out.len());
    let ended = switch.end().expect("a test has begun");
    assert_eq!((ended.capture.packets().len() as u64, ended.held), (counters.received(), 0));
}

/// Most events of a test.
const EVENTS: usize = 4;

/// The addresses of the hosts end in 1 and 2, and their QPNs are 0x100 and 0x200 more than the number of the connection.
pub(crate) fn connection(number: u32) -> Connection {
    let end = |host: Role| Endpoint {
        ip: address(host).into(),
        qpn: Some(qpn(host, number)),
        initial_psn: Some(Psn::new(1)),
    };
    Connection { requester: end(Role::Requester), responder: end(Role::Responder) }
}

const fn address(host: Role) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1)
}

const fn qpn(host: Role, connection: u32) -> u32 {
    0x100 * (host as u32 + 1) + connection
}

impl Choices<'_> {
    /// Up to 255 bytes of the input.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        (0..self.byte()).map(|_| self.byte()).collect()
    }

    /// A packet that a host sends.
    fn packet(&mut self, from: Role) -> Vec<u8> {
        let opcode = Opcode::KNOWN[self.below(Opcode::KNOWN.len() as u32) as usize];
        let psn = Psn::new(self.below(128));
        let repr = FrameRepr {
            destination: Mac(0x5254_0000_0001 + from.peer() as u64),
            source: Mac(0x5254_0000_0001 + from as u64),
            vlan: None,
            ip: IpRepr::V4(Ipv4Repr {
                traffic_class: 2,
                total_length: 0,
                identification: 0,
                dont_fragment: true,
                ttl: 64,
                protocol: 0,
                source: address(from),
                destination: address(from.peer()),
            }),
            src_port: 49_152,
            bth: BthRepr::new(opcode, qpn(from.peer(), self.below(8)), psn),
            extensions: ExtensionReprs {
                reth: Some(RethRepr { virtual_address: 0, remote_key: 0, dma_length: 4096 }),
                aeth: Some(AethRepr { syndrome: self.byte().into(), msn: 1 }),
                ..ExtensionReprs::default()
            },
            payload_len: self.byte().into(),
        };
        let mut frame = Vec::new();
        repr.emit(&mut frame).expect("an IP packet has room for the largest payload");
        frame
    }
}

/// Everything that happens before a time.
fn until(switch: &mut Switch, time: Nanos, out: &mut Vec<Departure>) {
    while let Some(at) = switch.next_timeout().filter(|at| *at < time) {
        switch.handle_timeout(at, out);
    }
}
