//! A forecast for people.

use std::fmt::Write as _;

use corpus::{Repeat, plural};
use scoring::theory::corruption::{Cost, Links, Protection, TimeOuts, Tolerated};

use crate::measure::digits;

use super::tolerance::Kind;
use super::{Forecast, Least, Messages, Nics, Planned, Question, Tolerance, ToleranceQuestion};

/// The question, and the answer.
#[must_use]
pub fn text(question: &Question, forecast: &Forecast) -> String {
    let mut text = asked(question);
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
        let _ = writeln!(text, "\n{}", frequency(of_message.total()));
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

/// Frequency of time-outs, of which a message has so many in the mean.
fn frequency(of_message: f64) -> String {
    let messages = (1.0 / of_message).round();
    if messages > 1.0 {
        return format!("one time-out in {} messages", digits(messages));
    }
    match digits(of_message).as_str() {
        "1" => "one time-out in each message".into(),
        many => format!("{many} time-outs in each message"),
    }
}

fn asked(question: &Question) -> String {
    let Question { links, messages, protection, behaviour, .. } = question;
    format!(
        "links           {}; such a one loses {} of the packets of {} bytes\n{}{}\n",
        on_links(links),
        digits(links.loss),
        links.of_bytes,
        sent(messages, protection),
        if behaviour.merges_acks() { "; ACKs are merged" } else { "" },
    )
}

fn on_links(links: &Links) -> String {
    format!("{} of each direction, each damaged with probability {}", links.links, links.corrupted)
}

/// Messages, and what protects them.
fn sent(messages: &Messages, protection: &Protection) -> String {
    let sizes = match messages {
        Messages::Same(frames) if frames.packets == 1 => format!("1 packet of {} bytes", frames.first),
        Messages::Same(frames) => format!("{} packets", frames.packets),
        Messages::Drawn { name, .. } => {
            let (packets, inverse) = (messages.packets(), messages.inverse_packets());
            format!(
                "{name}: {packets:.0} packets in the mean, one over their number is {inverse:.4} in the mean"
            )
        }
    };
    let sizes = if messages.are_reads() { format!("Reads, {sizes}") } else { sizes };
    let Repeat { naks, retransmissions, tails, .. } = protection.repeat;
    format!(
        "messages        {sizes}\n\
         protection      NAKs {naks}, retransmissions {retransmissions}, tails {tails} (in all), dummies {}",
        protection.dummies
    )
}

/// The loss that NICs tolerate.
#[must_use]
pub fn tolerance_text(nics: &Nics, question: &ToleranceQuestion<'_>, tolerance: &Tolerance) -> String {
    let Tolerance { slo, timer, time_outs_allowed, .. } = tolerance;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "NICs            {}", nics.name());
    let _ = writeln!(text, "links           {}", on_links(&question.links));
    let _ = writeln!(text, "{}", sent(question.messages, &question.protection));
    let within = match time_outs_allowed {
        0 => "no time-out".into(),
        allowed => format!("at most {}", plural(*allowed as u64, "time-out")),
    };
    let _ = writeln!(text, "asked           {slo}: {within}");
    let scaled = match timer.seen_at {
        seen_at if seen_at == question.timeout => String::new(),
        seen_at => format!(", scaled from {seen_at}"),
    };
    let [first, further] = [&timer.first, &timer.further]
        .map(|wait| format!("{} ({} to {})", wait.mean_ns, wait.least_ns, wait.most_ns));
    let _ = writeln!(
        text,
        "timer           first {first}, further {further}, at min-retransmit-timeout {}{scaled}\n",
        question.timeout
    );
    text.push_str(&kinds(&tolerance.kinds));
    let _ = writeln!(text, "\ntolerated loss  {}", tolerated(tolerance));
    text
}

/// A table of what came of losses.
fn kinds(kinds: &[Kind]) -> String {
    let mut text =
        "losses                 seen      time-outs   of them (95 %)                   by the standard\n"
            .to_owned();
    for one in kinds {
        let Kind { kind, occasions, time_outs, by_standard, .. } = one;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {:<20} {occasions:<9} {time_outs:<11} {:<32} {by_standard}",
            kind.name(),
            one.share()
        );
    }
    text
}

/// The answer in a phrase.
#[must_use]
pub fn tolerated(tolerance: &Tolerance) -> String {
    let end = |loss| match loss {
        Tolerated::None => "none".into(),
        Tolerated::UpTo(loss) | Tolerated::AtLeast(loss) => digits(loss),
    };
    match tolerance.loss {
        Tolerated::None => "none: too many messages are late without any loss".into(),
        Tolerated::UpTo(loss) => format!(
            "{} of the full packets on each link ({} to {} with 95 %)",
            digits(loss),
            end(tolerance.loss_least),
            end(tolerance.loss_most)
        ),
        Tolerated::AtLeast(loss) => format!(
            "at least {} of the full packets on each link, the largest that the theory is good for",
            digits(loss)
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_have_several_time_outs() {
        for (of_message, says) in [
            (3.99e-7, "one time-out in 2506266 messages"),
            (0.5, "one time-out in 2 messages"),
            (0.7, "0.7 time-outs in each message"),
            (1.0, "one time-out in each message"),
            (2.2269, "2.23 time-outs in each message"),
            (4096.0, "4096 time-outs in each message"),
        ] {
            assert_eq!(frequency(of_message), says);
        }
    }
}
