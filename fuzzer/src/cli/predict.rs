//! `lumina-fuzz predict`.

use clap::{Subcommand, ValueEnum};
use corpus::{Mtu, Repeat, Verb};
use scoring::theory::corruption::{Acks, Frames, Links, Protection};
use serde::Serialize;

use super::numbers::{probability, whole};
use super::output::{bad_file, print, print_json};
use super::{Exit, Format};
use crate::predict::{self, Forecast, Messages, Question};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz predict corruption --loss 1/128
  lumina-fuzz predict corruption --loss 1e-3 --links 4 --sizes websearch --naks 2 --retransmissions 4 --dummies 2
  lumina-fuzz predict corruption --loss 0.01 --links 2 --message-size 65536 --at-most 1e-6";

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
}

const ABOUT: &str = "\
Time-outs where links damage packets, by their cause, and what copies and dummies change: the theory of Gao et al. (JCST 2022), with its \
formulas as they are printed, and without their approximations (docs/corruption.md).

A connection has one message in flight, and the next one follows at once. A NIC that conforms has these time-outs and no others.";

/// Verbs that the theory has.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sent {
    Write,
    Send,
}

#[derive(clap::Args)]
struct Corruption {
    /// Probability that a link that damages packets damages a full one: 0.001, 1e-3 or 1/1024.
    #[arg(long, value_name = "P", value_parser = probability)]
    loss: f64,
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
    of_bytes: u32,
    links: u8,
    corrupted_links: f64,
    naks: u8,
    retransmissions: u8,
    tails: u8,
    dummies: u8,
    merged_acks: bool,
    #[serde(flatten)]
    forecast: &'a Forecast,
}

pub(super) fn run(args: &Args) -> Exit {
    let What::Corruption(corruption) = &args.what;
    let question = match corruption.question() {
        Ok(question) => question,
        Err(errors) => return bad_file("bad input", errors, args.format),
    };
    let forecast = question.answer();
    match args.format {
        Format::Text => print(&predict::text(&question, &forecast)),
        Format::Json => print_json(&Document::of(&question, &forecast)),
    }
}

impl Corruption {
    fn question(&self) -> Result<Question, corpus::ConfigErrors> {
        let verb = match self.verb {
            Sent::Write => Verb::Write,
            Sent::Send => Verb::Send,
        };
        let mtu = self.mtu.bytes();
        let messages = match &self.sizes {
            Some(name) => Messages::drawn(name, verb, mtu)?,
            None => Messages::Same(Frames::of(verb, self.message_size, mtu)),
        };
        let Self { naks, retransmissions, tails, dummies, .. } = *self;
        Ok(Question {
            links: Links {
                loss: self.loss,
                // As losses of a test.
                of_bytes: corpus::Network::default().reference_bytes(mtu),
                links: self.links,
                corrupted: f64::from(self.corrupted_links_percent) / 100.0,
            },
            messages,
            protection: Protection {
                repeat: Repeat { naks, retransmissions, tails, ..Repeat::default() },
                dummies,
            },
            acks: if self.merged_acks { Acks::Merged } else { Acks::Each },
            at_most: self.at_most,
        })
    }
}

impl<'a> Document<'a> {
    fn of(question: &Question, forecast: &'a Forecast) -> Self {
        let Question { links, protection, acks, .. } = question;
        Self {
            loss: links.loss,
            of_bytes: links.of_bytes,
            links: links.links,
            corrupted_links: links.corrupted,
            naks: protection.repeat.naks,
            retransmissions: protection.repeat.retransmissions,
            tails: protection.repeat.tails,
            dummies: protection.dummies,
            merged_acks: *acks == Acks::Merged,
            forecast,
        }
    }
}
