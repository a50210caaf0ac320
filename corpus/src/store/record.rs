//! Records as written: each in a frame that can be found and trusted without the database around it.
//!
//! A frame is [`MAGIC`], the schema, the length and the CRC-32 of its payload, and a [`Framed`] in postcard.
//! The database holds frames as its values, unchanged and in one piece, so that a scan of its files finds
//! every record that is still there.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Progress, REMEMBERED};
use crate::TestConfig;
use crate::evaluation::{Answer, Evaluation, FindingRecord, Key, Minimising, SituationSeen};

/// Version of everything that is written. A change of any type in a record is a new one: postcard does not describe
/// itself.
pub(super) const SCHEMA: u8 = 18;
/// Begins every frame.
pub(super) const MAGIC: &[u8] = b"LuFzRec";
/// Bytes before the checked payload: the magic, the schema, length and CRC-32 (little-endian).
pub(super) const HEADER: usize = MAGIC.len() + 1 + 4 + 4;
/// Upper bound on a frame. A test's file has at most 1 MiB, and a finding holds two tests and its evidence.
pub(super) const MAX_FRAME: usize = 16 << 20;

/// One thing that is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "a record lives for a moment, and nobody has many")]
pub(super) enum Record<'a> {
    State(State),
    Evaluation(Cow<'a, Evaluation>),
    Kept {
        number: u64,
        score: f64,
    },
    Finding(Cow<'a, FindingRecord>),
    Reference {
        key: Key,
        summary: Cow<'a, [u8]>,
    },
    /// A decided execution needed this reference.
    Counted(Key),
    /// Of the tests that were kept before an execution only these stay.
    Distilled(Cow<'a, Distilled>),
    /// References of earlier steps are gone: summaries, and that they were needed.
    Forgotten,
    /// The newest minimiser of a finding and its number, from 1; none once it has ended.
    Minimising {
        signature: Cow<'a, str>,
        number: u64,
        minimising: Option<Cow<'a, Minimising>>,
    },
    /// An answer of the minimiser of a finding with this number.
    Answer {
        signature: Cow<'a, str>,
        number: u64,
        answer: Cow<'a, Answer>,
    },
    Situation(SituationSeen),
    /// What came of the losses of all decided executions, in a form that only the campaign reads.
    Losses(Cow<'a, [u8]>),
    /// The test of an execution, kept or not, until one [`REMEMBERED`] executions later takes its place.
    Test {
        number: u64,
        config: Cow<'a, TestConfig>,
    },
}

/// A distillation of the kept tests, the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distilled {
    /// The first execution after it, which begins a batch.
    pub before: u64,
    /// The kept tests that stay, in order.
    pub stay: Vec<u64>,
    /// What the search keeps of the others, in a form that only the search reads.
    pub memory: Vec<u8>,
}

impl Distilled {
    /// Returns true if a test that was kept at some time is still there.
    pub(super) fn has(&self, number: u64) -> bool {
        number >= self.before || self.stay.binary_search(&number).is_ok()
    }
}

/// Progress of the campaign, and the number of records of each kind that must exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) progress: Progress,
    pub(super) kept: u64,
    pub(super) findings: u64,
    pub(super) references: u64,
    pub(super) counted: u64,
    pub(super) is_distilled: bool,
}

/// A record's key in the database: its kind, then its number (big-endian, so that they are in order) or name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordKey {
    State,
    Evaluation(u64),
    Kept(u64),
    Finding(String),
    Reference(Key),
    Counted(Key),
    Distilled,
    Forgotten,
    Minimising(String),
    Answer(String, Key),
    Situation(u16),
    Losses,
    Test(u64),
}

pub(super) const COUNTED_PREFIX: &[u8] = b"c";
pub(super) const REFERENCE_PREFIX: &[u8] = b"r";
pub(super) const EVALUATION_PREFIX: &[u8] = b"e";
pub(super) const KEPT_PREFIX: &[u8] = b"k";
pub(super) const FINDING_PREFIX: &[u8] = b"f";
pub(super) const SITUATION_PREFIX: &[u8] = b"t";

impl RecordKey {
    /// Of the test of an execution.
    pub(super) const fn test(number: u64) -> Self {
        Self::Test(number % REMEMBERED)
    }

    /// Number of the execution of an evaluation's key.
    pub(super) fn evaluation(bytes: &[u8]) -> Option<u64> {
        let number = bytes.strip_prefix(EVALUATION_PREFIX)?;
        Some(u64::from_be_bytes(number.try_into().ok()?))
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::State => b"s".to_vec(),
            Self::Evaluation(number) => [EVALUATION_PREFIX, &number.to_be_bytes()].concat(),
            Self::Kept(number) => [KEPT_PREFIX, &number.to_be_bytes()].concat(),
            Self::Finding(signature) => [FINDING_PREFIX, signature.as_bytes()].concat(),
            Self::Reference(key) => [REFERENCE_PREFIX, &key.0].concat(),
            Self::Counted(key) => [COUNTED_PREFIX, &key.0].concat(),
            Self::Distilled => b"d".to_vec(),
            Self::Forgotten => b"g".to_vec(),
            Self::Losses => b"l".to_vec(),
            Self::Test(place) => [&b"h"[..], &place.to_be_bytes()].concat(),
            Self::Minimising(signature) => [&b"m"[..], signature.as_bytes()].concat(),
            Self::Situation(situation) => [SITUATION_PREFIX, &situation.to_be_bytes()].concat(),
            Self::Answer(signature, test) => [&*answers_prefix(signature), &test.0].concat(),
        }
    }
}

/// Beginning of the keys of a finding's answers. No signature has the byte that ends it.
pub(super) fn answers_prefix(signature: &str) -> Vec<u8> {
    [&b"a"[..], signature.as_bytes(), &[0]].concat()
}

impl Record<'_> {
    pub(super) fn key(&self) -> RecordKey {
        match self {
            Self::State(_) => RecordKey::State,
            Self::Evaluation(evaluation) => RecordKey::Evaluation(evaluation.number),
            Self::Kept { number, .. } => RecordKey::Kept(*number),
            Self::Finding(finding) => RecordKey::Finding(finding.signature.clone()),
            Self::Reference { key, .. } => RecordKey::Reference(*key),
            Self::Counted(key) => RecordKey::Counted(*key),
            Self::Distilled(_) => RecordKey::Distilled,
            Self::Forgotten => RecordKey::Forgotten,
            Self::Minimising { signature, .. } => RecordKey::Minimising(signature.clone().into_owned()),
            Self::Answer { signature, answer, .. } => {
                RecordKey::Answer(signature.clone().into_owned(), answer.test)
            }
            Self::Situation(seen) => RecordKey::Situation(seen.situation),
            Self::Losses(_) => RecordKey::Losses,
            Self::Test { number, .. } => RecordKey::test(*number),
        }
    }
}

/// A record and the step that wrote it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Framed<'a> {
    /// Number of the step, from 1.
    pub(super) step: u64,
    /// Number of the record within the step, from 0 ...
    pub(super) part: u32,
    /// ... and how many there are: a step counts if all are there.
    pub(super) parts: u32,
    /// Steps up to this one had been handed to the system.
    pub(super) flushed: u64,
    pub(super) record: Record<'a>,
}

/// Errors in the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it does not begin as a record does")]
    NoFrame,
    #[error("it has schema {0}")]
    Schema(u8),
    #[error("it is cut short")]
    Short { needed: usize },
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it cannot be decoded")]
    Content,
}

impl Framed<'_> {
    /// The frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(MAGIC);
        bytes.push(SCHEMA);
        bytes.resize(HEADER, 0);
        let mut bytes =
            postcard::to_extend(self, bytes).expect("a vector grows, and every type has a length");
        let len = (bytes.len() - HEADER) as u32;
        let crc = crc32fast::hash(&bytes[HEADER..]);
        bytes[HEADER - 8..HEADER - 4].copy_from_slice(&len.to_le_bytes());
        bytes[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The record of a frame at the beginning of `bytes`, and the frame's length.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Framed<'static>, usize), FrameError> {
        let short = Err(FrameError::Short { needed: HEADER });
        let Some(header) = bytes.get(..HEADER) else { return short };
        let (magic, rest) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(FrameError::NoFrame);
        }
        if rest[0] != SCHEMA {
            return Err(FrameError::Schema(rest[0]));
        }
        let word = |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let (len, crc) = (word(1) as usize, word(5));
        let needed = HEADER + len;
        if needed > MAX_FRAME {
            return Err(FrameError::NoFrame);
        }
        let Some(content) = bytes.get(HEADER..needed) else { return Err(FrameError::Short { needed }) };
        if crc32fast::hash(content) != crc {
            return Err(FrameError::Checksum);
        }
        let framed = postcard::from_bytes(content).map_err(|_| FrameError::Content)?;
        Ok((framed, needed))
    }
}
