//! Everything that a store holds, to compare.

use std::collections::BTreeMap;

use corpus::store::{Distilled, Progress, Store};
use corpus::{Answer, Evaluation, FindingRecord, Key, Minimising, SituationSeen};

use crate::samples::{fill, key, signature};

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Contents {
    pub(crate) progress: Progress,
    pub(crate) kept: BTreeMap<u64, f64>,
    pub(crate) evaluations: BTreeMap<u64, Evaluation>,
    pub(crate) findings: BTreeMap<String, FindingRecord>,
    pub(crate) references: BTreeMap<Key, Vec<u8>>,
    pub(crate) counted: Vec<Key>,
    pub(crate) distilled: Option<Distilled>,
    pub(crate) situations: Vec<SituationSeen>,
    pub(crate) losses: Option<Vec<u8>>,
    pub(crate) minimising: BTreeMap<String, (Minimising, Vec<Answer>)>,
}

impl Contents {
    /// Contents of a store for the executions up to a number, and for their references.
    pub(crate) fn of(store: &Store, numbers: u64) -> Self {
        let mut contents = Self {
            progress: store.progress().unwrap(),
            kept: store.kept().map(Result::unwrap).collect(),
            distilled: store.distilled().unwrap(),
            situations: store.situations().unwrap(),
            losses: store.losses().unwrap(),
            ..Self::default()
        };
        for number in 1..=numbers {
            if let Some(evaluation) = store.evaluation(number).unwrap() {
                contents.evaluations.insert(number, evaluation);
            }
            if let Some(summary) = store.reference(key(number)).unwrap() {
                contents.references.insert(key(number), summary);
            }
            if store.counts_reference(key(number)).unwrap() && !contents.counted.contains(&key(number)) {
                contents.counted.push(key(number));
            }
        }
        contents.counted.sort();
        assert!(store.counted_references() >= contents.counted.len() as u64);
        for signature in (0..6).map(signature) {
            if let Some(minimising) = store.minimising(&signature).unwrap() {
                contents.minimising.insert(signature, minimising);
            }
        }
        let findings = store.findings().unwrap().into_iter();
        contents.findings = findings.map(|finding| (finding.signature.clone(), finding)).collect();
        contents
    }

    /// Contents of a corpus of so many executions that was never interrupted.
    pub(crate) fn uninterrupted(executions: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("corpus")).unwrap();
        fill(&store, 1..=executions);
        Self::of(&store, executions)
    }
}
