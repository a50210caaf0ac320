//! Tests and packets drawn at random: the programs do what the software switch does.

use corpus::Role;
use dumper::wire::Opcode;
use dumper::{Connection, Event, Nanos, Psn};
use p4::switch::{Limits, Switch};
use p4::{Tables, translate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::PROGRAMS;
use super::load::Loaded;
use super::runs::{Case, Entered, wiring};
use crate::frames::Made;
use crate::support::endpoint_of;

/// A test, and the frames that enter.
#[derive(Clone, Debug)]
struct Drawn {
    text: String,
    v6: bool,
    initial: u32,
    frames: Vec<(Role, Vec<u8>)>,
}

impl Drawn {
    fn tables(&self) -> Option<Tables> {
        // What contradicts itself is no test.
        let config = corpus::from_toml("drawn.toml", &self.text).ok()?;
        let [requester, responder] = if self.v6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
        let connections: Vec<_> = (1..=config.traffic.load.connections())
            .map(|number| Connection {
                requester: endpoint_of(requester, 0x100 + number, self.initial),
                responder: endpoint_of(responder, 0x200 + number, self.initial),
            })
            .collect();
        translate(&config, &connections).ok()
    }

    /// What the software switch makes of it.
    fn case(&self) -> Option<Case> {
        let mut switch = Switch::new(Limits::default());
        switch.begin(self.tables()?, Nanos::ZERO);
        let mut out = Vec::new();
        let mut entered = Vec::new();
        for (place, (from, frame)) in self.frames.iter().enumerate() {
            switch.receive(*from, frame, Nanos(1_000 * place as u64), &mut out);
            let left = out.drain(..).map(|departure| (departure.to, departure.frame.to_vec())).collect();
            entered.push(Entered { from: *from, frame: frame.clone(), left, mirror: None });
        }
        let ended = switch.end().unwrap();
        let mut captured = ended.capture.packets().iter();
        for entered in entered.iter_mut().filter(|entered| is_roce(&entered.frame)) {
            entered.mirror = Some(captured.next().unwrap().mirror.event);
        }
        assert!(captured.next().is_none(), "{self:?}");
        Some(Case { name: format!("{self:?}"), tables: self.tables()?, entered })
    }
}

fn is_roce(frame: &[u8]) -> bool {
    use dumper::wire::frame::{Frame, Parsed, UdpPorts};
    matches!(Frame::parse(frame, UdpPorts::Roce), Ok(Parsed::Roce(_)))
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let action = select(vec![
        "type = \"drop\"",
        "type = \"drop\"",
        "type = \"ecn\"",
        "type = \"ecn\"",
        "type = \"corrupt\"",
        "type = \"duplicate\", copies = 1",
        "type = \"duplicate\", copies = 16",
        "type = \"drop\", copies = \"all\"",
        "type = \"drop\", copies = 1",
        "type = \"drop\", copies = 7",
    ]);
    let data = (1..=4u32, 1..=3u32).prop_map(|(psn, iter)| format!("psn = {psn}, iter = {iter}"));
    let control = (select(vec!["ack", "nak", "cnp", "read-request"]), 1..=3u32)
        .prop_map(|(kind, nth)| format!("packet = \"{kind}\", nth = {nth}"));
    let event = (prop_oneof![4 => Just(1u32), 1 => Just(2)], prop_oneof![2 => data, 1 => control], action)
        .prop_map(|(qpn, packets, action)| format!("{{ qpn = {qpn}, {packets}, {action} }}"));
    let traffic = (select(vec!["write", "read", "send_read"]), select(vec!["paper", "per-message"]))
        .prop_map(|(verb, mode)| {
            format!(
                "traffic = {{ num-connections = 2, num-msgs-per-qp = 3, message-size = 3072, mtu = 1024, \
                 rdma-verb = \"{verb}\", iter-mode = \"{mode}\" }}"
            )
        });
    let number = || prop_oneof![Just(1), 1..=8u32];
    let repeat = (number(), number(), number(), select(vec!["psn", "connection"])).prop_map(
        |(naks, again, tails, by)| {
            let by = if again > 1 { format!(", match = \"{by}\"") } else { String::new() };
            format!("network.repeat = {{ naks = {naks}, retransmissions = {again}, tails = {tails}{by} }}")
        },
    );
    let text =
        (traffic, repeat, prop::collection::vec(event, 1..16)).prop_map(|(traffic, repeat, events)| {
            let text = |events: &[String]| format!("{traffic}\n{repeat}\nevent = [{}]", events.join(", "));
            // Events that contradict those before them are left out, or name packets that are never sent.
            let mut kept = Vec::new();
            for event in events {
                kept.push(event);
                if corpus::from_toml("drawn.toml", &text(&kept)).is_err() {
                    kept.pop();
                }
            }
            text(&kept)
        });
    let initial = select(vec![1, 0, 0x1000, 0xff_fff8, 0x7f_fffc, 0x80_0000]);
    (text, any::<bool>(), initial).prop_flat_map(|(text, v6, initial)| {
        let frames = prop::collection::vec(frame(v6, initial), 1..40);
        frames.prop_map(move |frames| Drawn { text: text.clone(), v6, initial, frames })
    })
}

/// Opcodes of one kind more often than others, so that packets follow each other.
fn opcode() -> impl Strategy<Value = Opcode> {
    use Opcode::{Acknowledge, Cnp, ReadRequest, ReadResponseFirst, ReadResponseLast, ReadResponseMiddle};
    use Opcode::{WriteFirst, WriteLast, WriteMiddle};
    let common = vec![
        WriteFirst,
        WriteMiddle,
        WriteLast,
        ReadResponseFirst,
        ReadResponseMiddle,
        ReadResponseLast,
        Acknowledge,
        Acknowledge,
        Cnp,
        ReadRequest,
    ];
    prop_oneof![4 => select(common), 1 => select(Opcode::KNOWN), 1 => any::<u8>().prop_map(Opcode::from)]
}

fn frame(v6: bool, initial: u32) -> impl Strategy<Value = (Role, Vec<u8>)> {
    let syndrome = prop_oneof![
        3 => Just(0x60),
        2 => select(vec![0x00, 0x1f, 0x20, 0x3f, 0x40, 0x61, 0x7f, 0x80, 0xa0, 0xe0]),
        1 => any::<u8>(),
    ];
    let psn = prop_oneof![8 => 1..=4u32, 1 => Just(0), 1 => select(vec![0x7f_ffff, 0x80_0000, 0xff_ffff])];
    let class = prop_oneof![2 => Just(2u8), 2 => 0..=3u8, 1 => any::<u8>()];
    let connection = prop_oneof![6 => Just(1), 2 => Just(2), 1 => Just(0)];
    let fields = (any::<bool>(), connection, opcode(), psn, syndrome, class, select(vec![0u16, 3, 64]));
    (fields, 0..=5u8, 0..=12u8, any::<u16>()).prop_map(move |(fields, tags, other, number)| {
        let (to_responder, connection, opcode, psn, syndrome, traffic_class, payload) = fields;
        let made = Made {
            v6,
            to_responder,
            connection,
            traffic_class,
            opcode,
            psn: Psn::from_relative(psn, Psn::new(initial)).value(),
            payload,
            syndrome,
            ..Made::default()
        };
        let mut frame = made.frame();
        let ip_at = 14;
        let udp_at = ip_at + if v6 { 40 } else { 20 };
        match other {
            // Another protocol, UDP port, or kind of frame.
            0 => frame[if v6 { ip_at + 6 } else { ip_at + 9 }] = number as u8,
            1 => frame[udp_at + 2..udp_at + 4].copy_from_slice(&number.to_be_bytes()),
            2 => frame[12..14].copy_from_slice(&number.to_be_bytes()),
            // A checksum that the sender made.
            3 => frame[udp_at + 6..udp_at + 8].copy_from_slice(&number.to_be_bytes()),
            _ => {}
        }
        let tag = |ether_type: u16| [ether_type.to_be_bytes(), number.to_be_bytes()].concat();
        let tags: &[u16] = match tags {
            0 => &[0x8100],
            1 => &[0x88a8, 0x8100],
            2 => &[0x88a8],
            3 => &[0x8100, 0x88a8],
            _ => &[],
        };
        for ether_type in tags.iter().rev() {
            frame.splice(12..12, tag(*ether_type));
        }
        (if to_responder { Role::Requester } else { Role::Responder }, frame)
    })
}

/// The same ones each time.
pub(super) fn fixed(count: usize) -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    let drawn = std::iter::repeat_with(|| drawn().new_tree(&mut runner).unwrap().current());
    drawn.filter_map(|drawn| drawn.case()).take(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_programs_do_what_the_software_switch_does(drawn in drawn()) {
        if let Some(case) = drawn.case() {
            for program in PROGRAMS.map(Loaded::unchanged) {
                case.check(&program, &wiring());
            }
        }
    }
}

#[test]
fn drawn_tests_have_each_event() {
    let events: Vec<_> =
        fixed(200).iter().flat_map(|case| case.entered.iter().filter_map(|entered| entered.mirror)).collect();
    for name in ["none", "drop", "ecn", "corrupt", "duplicate", "several"] {
        let event = Event::from_name(name).unwrap();
        let count = events.iter().filter(|known| **known == event).count();
        assert!(count > 10, "{name}: {count}");
    }
}
