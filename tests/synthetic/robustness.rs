//! Garbage: never a panic, and time that grows with the packets.

use dumper::trace::{Extra, Flow, FlowId, Origin};
use dumper::wire::Opcode;
use dumper::{Connection, Endpoint, Event, Exit, Nanos, Observation, Psn, Record, Trace};
use scoring::{Options, analyze};
use tests::synthetic::Dice;

use crate::common::for_all;

/// Random records over a few flows. `wild` PSNs jump anywhere, others stay within a window.
fn garbage(seed: u64, packets: usize, wild: bool) -> Observation {
    let mut dice = Dice::new(seed);
    let mut trace = Trace::new(dice.pick(&[Origin::Mirror, Origin::Plain]));
    let flows = dice.within(1..=6) as u32;
    for flow in 0..flows {
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::IpAddr::from);
        let [source, destination] = if flow % 2 == 0 { ends } else { [ends[1], ends[0]] };
        trace.add_flow(Flow { source, destination, dest_qpn: flow, vlan: None });
    }
    let mut now = 0;
    let window = dice.pick(&[4, 64, 5_000]);
    for sequence in 1..=packets as u32 {
        now += dice.pick(&[0, 1, 300, 300, 300, 100_000, 70_000_000]);
        let opcode = match dice.within(0..=9) {
            0 => Opcode::from(dice.number() as u8),
            1 => Opcode::Cnp,
            2..=4 => Opcode::Acknowledge,
            _ => dice.pick(Opcode::KNOWN),
        };
        let psn = if wild { dice.number() } else { u64::from(sequence) / 8 + dice.within(0..=window) };
        let flow = FlowId(dice.within(0..=u64::from(flows) - 1) as u32);
        let mut record = Record::new(Nanos(now), sequence, flow, opcode, Psn::new(psn as u32));
        record.flags = dice.number() as u8;
        record.aeth =
            dice.pick(&[dice.clone().number() as u32, 0x1f00_0000, 0x6000_0000, 0x2b00_0000, 0x6100_0000]);
        record.dma_length = dice.pick(&[0, 1, 5_000, 1_000_000, u32::MAX]);
        record.payload_len = dice.pick(&[0, 1, 1024, u16::MAX]);
        record.traffic_class = dice.number() as u8;
        if !dice.chance(10) {
            trace.push(record);
            continue;
        }
        record.set_event(Event::from_code(dice.within(0..=10) as u8));
        let copies = dice.pick(&[0, 1, 2, 255]);
        let exit = dice.chance(80).then(|| Exit {
            time: Nanos(dice.pick(&[0, now, now + 5_000, u64::MAX])),
            copies,
            plain: if copies > 0 && dice.chance(20) { dice.pick(&[1, copies]) } else { 0 },
            corrupt: dice.chance(20),
            ce: dice.chance(20),
            mig_req: None,
            rewritten: dice.chance(50),
        });
        trace.push_with(record, Extra { exit, ..Extra::default() });
    }
    let end = |last: u8, qpn, initial_psn| Endpoint {
        ip: std::net::IpAddr::from([10, 0, 0, last]),
        qpn: Some(qpn),
        initial_psn,
    };
    // Known connections are judged whatever their packets look like.
    let connections = (0..flows / 2)
        .map(|pair| Connection {
            requester: end(1, 2 * pair + 1, Some(Psn::new(0))),
            responder: end(2, 2 * pair, None),
        })
        .filter(|_| dice.chance(80))
        .collect();
    Observation::of_trace(trace, connections)
}

#[test]
fn garbage_never_panics() {
    for_all("garbage", 3_000, |seed| {
        let wild = seed % 2 == 0;
        analyze(&garbage(seed, 300, wild), Options::default());
        Ok(())
    });
}

/// 200,000 random packets: a quadratic step for each would take minutes. Processor time, so that what else runs on the machine does not
/// count.
#[test]
fn garbage_takes_time_in_proportion() {
    for seed in 0..6 {
        let observation = garbage(seed, 200_000, seed % 2 == 0);
        let start = processor_ns();
        analyze(&observation, Options::default());
        let took = processor_ns() - start;
        println!("seed {seed}: {took} ns");
        assert!(took < 20_000_000_000, "seed {seed}: {took} ns");
    }
}

/// The same, held to selective repeat.
#[test]
fn garbage_is_held_to_selective_repeat() {
    let text = ["requester", "responder"]
        .map(|host| format!("[{host}]\nroce-parameters = {{ loss-recovery = \"selective-repeat\" }}\n"));
    let config = corpus::from_toml("test.toml", &text.concat()).unwrap();
    for seed in 0..4 {
        let start = processor_ns();
        analyze(&garbage(seed, 100_000, seed % 2 == 0), Options { config: Some(&config) });
        let took = processor_ns() - start;
        assert!(took < 20_000_000_000, "seed {seed}: {took} ns");
    }
}

/// Processor time of this thread.
fn processor_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split_whitespace().next().unwrap().parse().unwrap()
}
