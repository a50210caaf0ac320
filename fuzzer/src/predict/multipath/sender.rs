//! Limits of the NIC that sends: its window of unacknowledged packets, and the time that it takes for a packet.

use dumper::Nanos;
use executor::profile::Span;
use executor::{NicProfile, SWITCH_LATENCY};
use serde::Serialize;

use super::field::{FieldValue, Short};
use super::throughput::SHARE;
use super::{HEADERS, Setting};

/// Bytes of the AETH of an ACK, which has no payload.
const AETH: u32 = 4;

/// The NIC that sends. The default has no limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sender {
    /// Unacknowledged packets of a connection before which the next one waits (`requester.window-packets`); 0 for any number.
    pub window_packets: u32,
    /// AckReq on every so many packets of a message (`requester.ack-req-every`); 0 for the last one alone.
    pub ack_req_every: u32,
    /// Shortest time from one packet to the next (`transmit.packet-ns`).
    pub packet_ns: Nanos,
    /// Round trip of a packet and its ACK over the shorter path, without their time on the links.
    pub latency_ns: Nanos,
}

/// A field of the sender that limits the throughput.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Limit {
    /// Throughput that the field allows, of that of the link.
    pub throughput: f64,
    /// The field, and the value with which it is no limit.
    #[serde(flatten)]
    pub field: Short,
}

impl Sender {
    /// That of a profile, with a receiver like it.
    #[must_use]
    pub fn of(nic: &NicProfile) -> Self {
        let mean = |span: Span<u64>| span.min.midpoint(span.max);
        let one_way = 2 * nic.link.propagation_ns + SWITCH_LATENCY.0 + mean(nic.receive.latency_ns);
        Self {
            window_packets: nic.requester.window_packets,
            ack_req_every: nic.requester.ack_req_every,
            packet_ns: Nanos(nic.transmit.packet_ns),
            latency_ns: Nanos(2 * one_way + mean(nic.responder.ack_ns)),
        }
    }

    /// The field that limits the throughput most, where the receiver takes a packet in so many ns.
    pub(super) fn limit(&self, setting: &Setting, engine_ns: f64) -> Option<Limit> {
        let limits = [
            (
                self.window_ns(setting),
                Short {
                    field: "requester.window-packets",
                    is: FieldValue::Number(self.window_packets.into()),
                    needs: FieldValue::Number(self.enough_packets(setting, engine_ns)),
                    otherwise: "with so many packets on their way a connection waits for an ACK",
                },
            ),
            (
                self.packet_ns.0 as f64,
                Short {
                    field: "transmit.packet-ns",
                    is: FieldValue::Number(self.packet_ns.0),
                    needs: FieldValue::Number(engine_ns as u64),
                    otherwise: "the sender takes so long for a packet",
                },
            ),
        ];
        let slowest = limits.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
        slowest
            .filter(|(packet_ns, _)| *packet_ns > engine_ns)
            .map(|(packet_ns, field)| Limit { throughput: setting.packet_ns() / packet_ns, field })
    }

    /// Condition under which a window has the throughput of the formula.
    pub(super) fn assumes(&self) -> Option<&'static str> {
        let asks_often = (1..self.window_packets).contains(&self.ack_req_every);
        (self.window_packets > 1 && !asks_often).then_some(
            "messages several times shorter than requester.window-packets; longer ones have one ACK in a window, and as little as half of the throughput",
        )
    }

    /// Time for a packet, in ns, where all connections wait for their windows: a window is acknowledged after a round trip, over the longer path
    /// unless none of its packets took that.
    fn window_ns(&self, setting: &Setting) -> f64 {
        if self.window_packets == 0 {
            return 0.0;
        }
        let window = f64::from(self.window_packets);
        let takes_longer = 1.0 - (1.0 - SHARE).powf(window);
        self.round_trip_ns(setting, takes_longer) / (window * f64::from(setting.connections))
    }

    /// Least window that is no limit where a packet takes so many ns.
    fn enough_packets(&self, setting: &Setting, packet_ns: f64) -> u64 {
        (self.round_trip_ns(setting, 1.0) / (packet_ns * f64::from(setting.connections))).ceil() as u64
    }

    /// Round trip in ns, where such a share takes the longer path.
    fn round_trip_ns(&self, setting: &Setting, share: f64) -> f64 {
        // Data and ACK are on two links each.
        let on_links = 2.0 * (setting.packet_ns() + setting.bytes_ns(HEADERS + AETH));
        self.latency_ns.0 as f64 + on_links + share * setting.delay_ns.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use executor::profile::load;

    use super::*;
    use crate::predict::multipath::SETTING;

    fn left(window_packets: u32) -> Sender {
        Sender { window_packets, ..Sender::of(&load("left", Path::new("")).unwrap()) }
    }

    fn limit(sender: &Sender) -> Option<Limit> {
        sender.limit(&SETTING, SETTING.packet_ns())
    }

    /// Data and ACK each take two links of 1 µs, 300 ns in the switch, and 300 ns in the NIC that receives them.
    #[test]
    fn a_round_trip_has_the_latencies_of_the_profile() {
        assert_eq!(left(0).latency_ns, Nanos(4 * 1_000 + 2 * 300 + 2 * 300));
        let round_trip = left(0).round_trip_ns(&SETTING, 1.0);
        assert!((round_trip - (186_000.0 + 5_200.0 + 2.0 * (44.24 + 3.44))).abs() < 1e-6, "{round_trip}");
    }

    /// Runs have 13.6 Gb/s with 64 packets, and 107 Gb/s with 512, of 185 Gb/s; messages of 8 KiB.
    #[test]
    fn a_window_is_acknowledged_once_in_a_round_trip() {
        for (window, gbps) in [(64, 13.6), (512, 107.0)] {
            let Limit { throughput, field } = limit(&left(window)).unwrap();
            let formula = throughput * f64::from(SETTING.mtu * 8) / SETTING.packet_ns();
            assert!((formula / gbps - 1.0).abs() < 0.03, "{window}: {formula} Gb/s");
            assert_eq!((field.field, field.needs), ("requester.window-packets", FieldValue::Number(865)));
        }
        assert_eq!(limit(&left(865)), None);
        assert!(limit(&left(864)).is_some());
        assert_eq!(limit(&left(0)), None);
    }

    /// One packet at a time takes either path: half of the delay in the mean.
    #[test]
    fn a_window_may_have_no_packet_on_the_longer_path() {
        let window_ns = left(1).window_ns(&SETTING);
        assert!((window_ns - left(1).round_trip_ns(&SETTING, 0.5) / 5.0).abs() < 1e-6, "{window_ns}");
    }

    #[test]
    fn the_lowest_limit_counts() {
        let slow = |window, ns| Sender { packet_ns: Nanos(ns), ..left(window) };
        let field = |sender| limit(&sender).map(|limit| limit.field.field);
        assert_eq!(field(slow(0, 44)), None);
        assert_eq!(field(slow(0, 100)), Some("transmit.packet-ns"));
        assert_eq!(field(slow(64, 100)), Some("requester.window-packets"));
        assert_eq!(field(slow(512, 1_000)), Some("transmit.packet-ns"));
    }

    #[test]
    fn long_messages_have_one_ack_in_a_window() {
        assert_eq!((left(0).assumes(), left(1).assumes()), (None, None));
        assert!(left(64).assumes().is_some());
        assert!(Sender { ack_req_every: 8, ..left(64) }.assumes().is_none());
    }
}
