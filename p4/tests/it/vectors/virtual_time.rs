//! The software switch without sockets, whose clock is the test's: real frames, and times to the nanosecond.

use corpus::Role;
use dumper::Nanos;
use p4::switch::{Departure, Limits, Switch};

use super::{Vector, file};

#[test]
fn the_switch_in_virtual_time_holds_to_the_vectors() {
    for vector in file::all() {
        check(&vector);
    }
}

fn check(vector: &Vector) {
    let mut switch = Switch::new(Limits::default());
    switch.begin(vector.tables(), Nanos::ZERO);
    let mut out = Vec::new();
    for (place, packet) in vector.packets.iter().enumerate() {
        let now = Vector::enters(place);
        until(&mut switch, now, &mut out);
        switch.receive(packet.from, &packet.frame, now, &mut out);
    }
    until(&mut switch, Nanos(u64::MAX), &mut out);
    for host in Role::ALL {
        let left = out.iter().filter(|departure| departure.to == host);
        let left: Vec<_> = left.map(|departure| departure.frame.to_vec()).collect();
        vector.assert_left(host, &left);
    }
    let ended = switch.end().unwrap();
    let captured = ended.capture.packets();
    assert_eq!((captured.len(), ended.held), (vector.packets.len(), 0), "{}", vector.name);
    for ((place, packet), captured) in vector.packets.iter().enumerate().zip(captured) {
        let which = format!("{}: packet {}", vector.name, place + 1);
        assert_eq!(
            (captured.mirror.event, &captured.frame[..]),
            (packet.mirror, &packet.frame[..]),
            "{which}"
        );
        let Some(left) = &captured.left else { continue };
        let plain = packet.out.iter().filter(|leaves| !leaves.changed).count();
        assert_eq!(usize::from(left.copies), packet.out.len(), "{which}");
        assert!(usize::from(left.plain) <= plain, "{which}");
        // Packets that leave at one time are a nanosecond apart in the trace.
        let after = left.time.0.abs_diff((captured.mirror.time + packet.after).0);
        assert!(after < 10, "{which}: {after} ns from its time");
    }
}

/// Everything that happens before a time.
fn until(switch: &mut Switch, time: Nanos, out: &mut Vec<Departure>) {
    while let Some(at) = switch.next_timeout().filter(|at| *at < time) {
        switch.handle_timeout(at, out);
    }
}
