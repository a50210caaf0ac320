//! `lumina-fuzz predict`.

mod multipath;

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use corpus::{Mtu, Repeat, Verb};
use scoring::theory::corruption::{Behaviour, Frames, Links, Protection};
use serde::Serialize;

use crate::cli::numbers::{probability, whole};
use crate::cli::output::{bad_file, bad_message, fail, print, print_json};
use crate::cli::{Exit, Format};
use crate::predict::{self, Forecast, Messages, Nics, Question, Slo, Tolerance, ToleranceQuestion};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz predict corruption --loss 1/128
  lumina-fuzz predict corruption --loss 1e-3 --links 4 --sizes websearch --naks 2 --retransmissions 4 --dummies 2
  lumina-fuzz predict corruption --loss 0.01 --links 2 --message-size 65536 --at-most 1e-6
  lumina-fuzz predict corruption --nic-from night --slo p99.9=1ms
  lumina-fuzz predict corruption --nic-from night --slo p99=500us --verb read --message-size 65536 --links 4";

/// Arguments of `predict`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum What {
    /// Time-outs where links damage packets, by their cause, and what copies and dummies change.
    #[command(after_help = AFTER_HELP, long_about = ABOUT)]
    Corruption(Corruption),
    /// Throughput over two paths of different length, by reorder engine.
    #[command(after_help = multipath::AFTER_HELP, long_about = multipath::ABOUT)]
    Multipath(multipath::Multipath),
}

const ABOUT: &str = "\
Time-outs where links damage packets, by their cause, and what copies and dummies change: the theory of Gao et al. (JCST 2022), with its \
formulas as they are printed, and without their approximations (docs/corruption.md).

A connection has one message in flight, and the next one follows at once. A NIC that conforms has these time-outs and no others. With \
`--nic-from` it is the other way round: the loss of a link with which few enough messages are late, on NICs that do about losses what a \
campaign has seen of them.";

/// Verbs that the theory has.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sent {
    Write,
    Send,
    /// With `--nic-from`: the formulas are of packets that the requester sends.
    Read,
}

#[derive(clap::Args)]
struct Corruption {
    /// Probability that a link that damages packets damages a full one: 0.001, 1e-3 or 1/1024.
    #[arg(long, value_name = "P", value_parser = probability, required_unless_present = "nic_from")]
    loss: Option<f64>,
    /// Look for the loss that the NICs of a campaign tolerate: its folder.
    #[arg(long, value_name = "CAMPAIGN", requires = "slo", conflicts_with_all = ["loss", "merged_acks", "at_most"])]
    nic_from: Option<PathBuf>,
    // `requires` is not enough: clap waives a required argument that conflicts with a given one, as `--nic-from` does with `--loss`.
    /// With `--nic-from`: percent of the messages that have to complete within a time, such as p99.9=1ms.
    #[arg(long, value_name = "pPERCENT=TIME", requires = "nic_from", conflicts_with = "loss")]
    slo: Option<Slo>,
    /// With `--nic-from`: `min-retransmit-timeout` of the QPs.
    #[arg(long, value_name = "N", requires = "nic_from", conflicts_with = "loss", default_value_t = 14, value_parser = clap::value_parser!(u8).range(1..=31))]
    timeout: u8,
    /// With `--nic-from`: how far the ends of the answer's interval may be from it; where it is wider, too few losses were seen.
    #[arg(long, value_name = "PERCENT", requires = "nic_from", conflicts_with = "loss", default_value_t = 25, value_parser = clap::value_parser!(u8).range(1..=100))]
    within: u8,
    /// Links of each direction.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    links: u8,
    /// Probability that a link damages packets at all, in percent.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    corrupted_links_percent: u8,
    /// Verb of the messages.
    #[arg(long, value_enum, default_value = "write")]
    verb: Sent,
    /// Path MTU.
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = mtu)]
    mtu: Mtu,
    /// Bytes of each message.
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = whole(0..=1 << 31), conflicts_with = "sizes")]
    message_size: u64,
    /// Distribution of the bytes of messages: websearch, or a file of lines with bytes and the percent of messages that are as large or smaller.
    #[arg(long, value_name = "NAME|FILE")]
    sizes: Option<String>,
    /// How often each NAK is sent, in all.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    naks: u8,
    /// How often a packet that a NAK asks for is sent, in all.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    retransmissions: u8,
    /// How often the last packet of a message is sent, in all.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    tails: u8,
    /// Requests of 0 bytes behind each message.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=8))]
    dummies: u8,
    /// The responder merges ACKs: a message and the dummies behind it have one.
    #[arg(long)]
    merged_acks: bool,
    /// Find the fewest NAKs, retransmissions and dummies with which a message has at most so many time-outs.
    #[arg(long, value_name = "P", value_parser = probability)]
    at_most: Option<f64>,
}

fn mtu(text: &str) -> Result<Mtu, String> {
    let of_bytes = |bytes: u32| Mtu::ALL.into_iter().find(|mtu| mtu.bytes() == bytes);
    let bytes = text.parse().ok().and_then(of_bytes);
    bytes.ok_or_else(|| "is none of 256, 512, 1024, 2048, 4096".into())
}

/// A forecast, as JSON.
#[derive(Serialize)]
struct Document<'a> {
    loss: f64,
    #[serde(flatten)]
    setting: Setting,
    merged_acks: bool,
    #[serde(flatten)]
    forecast: &'a Forecast,
}

/// Links, and what protects from their losses, as JSON.
#[derive(Serialize)]
struct Setting {
    of_bytes: u32,
    links: u8,
    corrupted_links: f64,
    naks: u8,
    retransmissions: u8,
    tails: u8,
    dummies: u8,
}

impl Setting {
    const fn of(links: &Links, protection: &Protection) -> Self {
        let Repeat { naks, retransmissions, tails, .. } = protection.repeat;
        Self {
            of_bytes: links.of_bytes,
            links: links.links,
            corrupted_links: links.corrupted,
            naks,
            retransmissions,
            tails,
            dummies: protection.dummies,
        }
    }
}

/// A tolerated loss, as JSON.
#[derive(Serialize)]
struct ToleranceDocument<'a> {
    requester_nic: &'a str,
    responder_nic: &'a str,
    executions: u64,
    #[serde(flatten)]
    setting: Setting,
    packets: f64,
    timeout: u8,
    #[serde(flatten)]
    tolerance: &'a Tolerance,
}

pub(super) fn run(args: &Args) -> Exit {
    let corruption = match &args.what {
        What::Corruption(corruption) => corruption,
        What::Multipath(multipath) => return multipath.run(args.format),
    };
    let messages = match corruption.messages() {
        Ok(messages) => messages,
        Err(errors) => return bad_file("bad input", errors, args.format),
    };
    match (&corruption.nic_from, corruption.slo) {
        (Some(folder), Some(slo)) => corruption.tolerance(folder, slo, &messages, args.format),
        // Without a campaign the parser asks for a loss.
        _ => corruption.forecast(messages, args.format),
    }
}

impl Corruption {
    fn messages(&self) -> Result<Messages, corpus::ConfigErrors> {
        let verb = match self.verb {
            Sent::Write => Verb::Write,
            Sent::Send => Verb::Send,
            Sent::Read => Verb::Read,
        };
        let mtu = self.mtu.bytes();
        match &self.sizes {
            Some(name) => Messages::drawn(name, verb, mtu),
            None => Ok(Messages::Same(Frames::of(verb, self.message_size, mtu))),
        }
    }

    fn links(&self) -> Links {
        Links {
            loss: self.loss.unwrap_or_default(),
            // As losses of a test.
            of_bytes: corpus::Network::default().reference_bytes(self.mtu.bytes()),
            links: self.links,
            corrupted: f64::from(self.corrupted_links_percent) / 100.0,
        }
    }

    fn protection(&self) -> Protection {
        let Self { naks, retransmissions, tails, dummies, .. } = *self;
        Protection { repeat: Repeat { naks, retransmissions, tails, ..Repeat::default() }, dummies }
    }

    fn forecast(&self, messages: Messages, format: Format) -> Exit {
        if self.verb == Sent::Read {
            let message = "--verb read: the formulas are of Writes and Sends; Reads need --nic-from";
            return bad_message("bad request", &message, format);
        }
        let question = Question {
            links: self.links(),
            messages,
            protection: self.protection(),
            behaviour: if self.merged_acks { Behaviour::merging_acks() } else { Behaviour::standard() },
            at_most: self.at_most,
        };
        let forecast = question.answer();
        match format {
            Format::Text => print(&predict::text(&question, &forecast)),
            Format::Json => print_json(&Document::of(&question, &forecast)),
        }
    }

    fn tolerance(&self, folder: &Path, slo: Slo, messages: &Messages, format: Format) -> Exit {
        let nics = match Nics::read(folder) {
            Ok(nics) => nics,
            Err(error) => return fail(error, format),
        };
        let question = ToleranceQuestion {
            links: self.links(),
            messages,
            protection: self.protection(),
            slo,
            timeout: self.timeout,
            within: f64::from(self.within) / 100.0,
        };
        match (nics.tolerate(&question), format) {
            (Ok(tolerance), Format::Text) => print(&predict::tolerance_text(&nics, &question, &tolerance)),
            (Ok(tolerance), Format::Json) => print_json(&ToleranceDocument::of(&nics, &question, &tolerance)),
            (Err(error), _) => bad_message("no answer", &format!("{}: {error}", folder.display()), format),
        }
    }
}

impl<'a> ToleranceDocument<'a> {
    fn of(nics: &'a Nics, question: &ToleranceQuestion<'_>, tolerance: &'a Tolerance) -> Self {
        let ToleranceQuestion { links, messages, protection, timeout, .. } = question;
        Self {
            requester_nic: &nics.settings.requester_nic.given,
            responder_nic: &nics.settings.responder_nic.given,
            executions: nics.executions,
            setting: Setting::of(links, protection),
            packets: messages.packets(),
            timeout: *timeout,
            tolerance,
        }
    }
}

impl<'a> Document<'a> {
    fn of(question: &Question, forecast: &'a Forecast) -> Self {
        let Question { links, protection, behaviour, .. } = question;
        Self {
            loss: links.loss,
            setting: Setting::of(links, protection),
            merged_acks: behaviour.merges_acks(),
            forecast,
        }
    }
}
