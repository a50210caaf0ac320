//! A forecast for people.

use std::fmt::Write as _;

use corpus::Repeat;
use scoring::theory::corruption::{Acks, Cost, TimeOuts};

use crate::measure::digits;

use super::{Forecast, Least, Messages, Planned, Question};

/// The question, and the answer.
#[must_use]
pub fn text(question: &Question, forecast: &Forecast) -> String {
    let mut text = asked(question, forecast);
    let Forecast { of_message, of_packet, of_packet_printed, cost, plan, .. } = forecast;
    // Writing to a String cannot fail.
    let _ =
        writeln!(text, "\ntime-outs       of a message   of a packet   of a packet, as the paper prints it");
    let columns = [of_message, of_packet, of_packet_printed].map(TimeOuts::by_cause);
    for ((cause, message), rest) in columns[0].into_iter().zip(columns[1].into_iter().zip(columns[2])) {
        line(&mut text, cause.name(), [message, rest.0.1, rest.1.1]);
    }
    line(&mut text, "all", [of_message, of_packet, of_packet_printed].map(TimeOuts::total));
    if of_message.total() > 0.0 {
        let _ = writeln!(text, "\none time-out in {} messages", digits((1.0 / of_message.total()).round()));
    }
    if cost.total() > 0.0 {
        let _ = writeln!(text, "\ncost            {}", costs(cost));
    }
    if let Some(plan) = plan {
        text.push('\n');
        text.push_str(&planned(plan));
    }
    text
}

fn line(text: &mut String, name: &str, numbers: [f64; 3]) {
    let [message, packet, printed] = numbers.map(digits);
    let _ = writeln!(text, "  {name:<14}{message:<15}{packet:<14}{printed}");
}

fn asked(question: &Question, forecast: &Forecast) -> String {
    let Question { links, messages, protection, acks, .. } = question;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "links           {} of each direction, each damaged with probability {}; such a one loses {} of the packets of {} bytes",
        links.links,
        links.corrupted,
        digits(links.loss),
        links.of_bytes,
    );
    let sizes = match messages {
        Messages::Same(frames) if frames.packets == 1 => format!("1 packet of {} bytes", frames.first),
        Messages::Same(frames) => format!("{} packets", frames.packets),
        Messages::Drawn { name, .. } => {
            let Forecast { packets, inverse_packets, .. } = forecast;
            format!(
                "{name}: {packets:.0} packets in the mean, one over their number is {inverse_packets:.4} in the mean"
            )
        }
    };
    let _ = writeln!(text, "messages        {sizes}");
    let Repeat { naks, retransmissions, tails, .. } = protection.repeat;
    let merged = match acks {
        Acks::Each => "",
        Acks::Merged => "; ACKs are merged",
    };
    let _ = writeln!(
        text,
        "protection      NAKs {naks}, retransmissions {retransmissions}, tails {tails} (in all), dummies {}{merged}",
        protection.dummies
    );
    text
}

fn costs(cost: &Cost) -> String {
    let percent = |part: f64| format!("{:.3} %", part * 100.0);
    let parts = [
        ("NAKs", cost.naks),
        ("retransmissions", cost.retransmissions),
        ("tails", cost.tails),
        ("dummies", cost.dummies),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, part)| *part > 0.0)
        .map(|(name, part)| format!("{name} {}", percent(part)))
        .collect();
    format!("{} more bytes ({})", percent(cost.total()), parts.join(", "))
}

fn planned(plan: &Planned) -> String {
    let left = digits(plan.of_message.total());
    match &plan.least {
        Some(Least { naks, retransmissions, dummies, cost }) => {
            let bytes = if cost.total() > 0.0 { format!(", {}", costs(cost)) } else { String::new() };
            format!(
                "for at most {} time-outs of a message: NAKs {naks}, retransmissions {retransmissions} (in all), dummies {dummies}; {left} are left{bytes}\n",
                digits(plan.at_most)
            )
        }
        None => {
            let most = plan.of_message.by_cause().into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
            let cause = most.map(|(cause, _)| cause.name()).unwrap_or_default();
            format!(
                "for at most {} time-outs of a message no protection is enough: {left} are left, most of them {cause}\n",
                digits(plan.at_most)
            )
        }
    }
}
