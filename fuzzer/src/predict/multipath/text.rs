//! The forecast, for people.

use std::fmt::Write as _;

use corpus::plural;
use dumper::Nanos;

use super::{Forecast, HEADERS, Limit, OfEngine, Short};
use crate::measure::digits;

/// The question, and the answer.
#[must_use]
pub fn text(forecast: &Forecast) -> String {
    let Forecast { setting, packet_ns, in_flight_packets, go_back_n_load, engines } = forecast;
    let mut text = format!(
        "paths           two, one of them {} longer; each packet takes either at random, and nothing is lost\n\
         packets         {} ns on the link at {} Gb/s ({} bytes of payload, {HEADERS} besides); {} of them in that time\n\
         connections     {}, which take turns\n\n",
        setting.delay_ns,
        format_args!("{packet_ns:.2}"),
        setting.rate_gbps,
        setting.mtu,
        digits(in_flight_packets.ceil()),
        setting.connections,
    );
    if setting.receive_ns > Nanos::ZERO {
        text = text.trim_end().to_owned() + "\n";
        // Writing to a String cannot fail.
        let _ = writeln!(text, "NIC             {} for a packet before its engine\n", setting.receive_ns);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "engine            throughput      extent          memory");
    for of in engines {
        let OfEngine { engine, throughput, extent_packets, memory_bytes, short, .. } = of;
        let most = if short.is_empty() { "" } else { "below " };
        let percent =
            throughput.map_or("no formula".into(), |part| format!("{most}{} %", digits(part * 100.0)));
        let extent =
            extent_packets.map_or_else(String::new, |packets| plural(packets.round() as u64, "packet"));
        let _ = writeln!(text, "  {engine:<16}{percent:<16}{extent:<16}{}", plural(*memory_bytes, "byte"));
    }
    let _ = writeln!(
        text,
        "\ngo-back-N       sees every packet in order up to {} % of the link, and collapses beyond; before all connections take turns, \
         as at the start of a test, it may collapse below\n",
        digits(go_back_n_load * 100.0)
    );
    for of in engines {
        notes(&mut text, of);
    }
    text
}

/// Conditions of a number, and the fields that are too small.
fn notes(text: &mut String, OfEngine { engine, assumes, limit, short, .. }: &OfEngine) {
    // Writing to a String cannot fail.
    for assumes in assumes {
        let _ = writeln!(text, "{engine} assumes: {assumes}.");
    }
    if let Some(Limit { throughput, field: Short { field, is, needs, otherwise } }) = limit {
        let percent = digits(throughput * 100.0);
        let _ = writeln!(
            text,
            "{engine} has {field} = {is}, and needs {needs} for more than {percent} %: {otherwise}."
        );
    }
    for Short { field, is, needs, otherwise } in short {
        let _ = writeln!(
            text,
            "{engine} has {field} = {is}, and needs {needs} at full speed: {otherwise}, which is not in the number above."
        );
    }
}
