//! A store against a model of it, through closing, reopening and being killed.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::Minimized;
use corpus::store::{Decision, Distilled, Store};
use proptest::prelude::*;

use crate::contents::Contents;
use crate::samples::{
    answer, copy, evaluation, finding, key, losses, minimising, progress, score, signature, situation,
};

/// Executions of a sequence of steps.
const NUMBERS: u64 = 60;

#[derive(Debug, Clone)]
enum Step {
    Record,
    /// The oldest recorded execution: kept or not, with findings and references.
    Decide {
        keep: bool,
        findings: Vec<u64>,
        references: Vec<u64>,
    },
    PutFinding(u64),
    PutReference(u64),
    /// Of the kept tests those stay whose numbers the divisor divides.
    Distil(u64),
    ForgetReferences,
    /// A minimiser of the finding of a number begins, with the test of another one.
    Minimise(u64, u64),
    Answer(u64, u64),
    /// The finding of a number is minimised.
    Minimised(u64),
    Flush,
    Checkpoint,
    Reopen,
    /// Opens a copy of the files as they are.
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let numbers = || prop::collection::vec(1..NUMBERS, 0..4);
    let decide = (any::<bool>(), numbers(), numbers());
    let step = prop_oneof![
        8 => Just(Step::Record),
        8 => decide.prop_map(|(keep, findings, references)| Step::Decide { keep, findings, references }),
        1 => (1..NUMBERS).prop_map(Step::PutFinding),
        2 => (1..NUMBERS).prop_map(Step::PutReference),
        1 => (1..4_u64).prop_map(Step::Distil),
        1 => Just(Step::ForgetReferences),
        1 => (0..6_u64, 1..NUMBERS).prop_map(|(number, test)| Step::Minimise(number, test)),
        2 => (0..6_u64, 1..NUMBERS).prop_map(|(number, test)| Step::Answer(number, test)),
        1 => (0..6_u64).prop_map(Step::Minimised),
        1 => Just(Step::Flush),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        2 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 1..80)
}

/// The model: what the store has to hold after each step that writes, the newest last.
struct Model {
    after: Vec<Contents>,
    recorded: u64,
    /// Steps that were flushed.
    flushed: usize,
}

impl Model {
    fn now(&self) -> &Contents {
        self.after.last().unwrap()
    }

    fn push(&mut self, change: impl FnOnce(&mut Contents)) {
        let mut next = self.now().clone();
        change(&mut next);
        self.after.push(next);
    }
}

fn count(contents: &mut Contents, references: &[u64]) {
    contents.counted.extend(references.iter().map(|number| key(*number)));
    contents.counted.sort();
    contents.counted.dedup();
}

/// Returns true if there is the finding of a number, and it is not minimised.
fn is_pending(contents: &Contents, number: u64) -> bool {
    let finding = contents.findings.get(&signature(number));
    finding.is_some_and(|finding| finding.minimized == Minimized::Pending)
}

/// A step of a minimiser. Only the findings that there are, and are pending, are minimised.
fn minimise(step: &Step, open: &Store, model: &mut Model) {
    match step {
        Step::Minimise(number, test) if is_pending(model.now(), *number) => {
            let begun = minimising(*test);
            open.begin_minimising(&signature(*number), &begun).unwrap();
            model.push(|now| {
                now.minimising.insert(signature(*number), (begun, Vec::new()));
            });
        }
        Step::Answer(number, test) if model.now().minimising.contains_key(&signature(*number)) => {
            let answer = answer(*test);
            open.put_answer(&signature(*number), &answer).unwrap();
            model.push(|now| {
                let (_, answers) = now.minimising.get_mut(&signature(*number)).unwrap();
                answers.retain(|other| other.test != answer.test);
                answers.push(answer);
                answers.sort_by_key(|answer| answer.test);
            });
        }
        Step::Minimised(number) if is_pending(model.now(), *number) => {
            let (mut finding, progress) = (finding(*number), model.now().progress);
            finding.minimized = Minimized::Full;
            open.put_finding(&finding, progress).unwrap();
            model.push(|now| {
                now.minimising.remove(&finding.signature);
                now.findings.insert(finding.signature.clone(), finding);
            });
        }
        _ => {}
    }
}

fn apply(step: &Step, store: &mut Option<Store>, path: &Path, model: &mut Model) {
    let open = store.as_ref().unwrap();
    match step {
        Step::Record if model.recorded < NUMBERS => {
            model.recorded += 1;
            let evaluation = evaluation(model.recorded);
            open.record(&evaluation).unwrap();
            model.push(|now| drop(now.evaluations.insert(evaluation.number, evaluation)));
        }
        Step::Decide { keep, findings, references } if model.now().progress.executions < model.recorded => {
            let number = model.now().progress.executions + 1;
            let by_signature: BTreeMap<_, _> =
                findings.iter().map(|n| (signature(*n), finding(*n))).collect();
            let findings: Vec<_> = by_signature.values().cloned().collect();
            let keys: Vec<_> = references.iter().map(|number| key(*number)).collect();
            let kept = keep.then(|| score(number));
            let progress = progress(number);
            open.decide(&Decision {
                number,
                kept,
                new_references: &keys,
                findings: &findings,
                situations: &[situation(number)],
                losses: losses(number).as_deref(),
                progress,
            })
            .unwrap();
            model.push(|now| {
                now.progress = progress;
                match kept {
                    Some(score) => drop(now.kept.insert(number, score)),
                    None => drop(now.evaluations.remove(&number)),
                }
                now.findings.extend(by_signature);
                count(now, references);
                now.losses = losses(number).or(now.losses.take());
                now.situations.retain(|seen| seen.situation != situation(number).situation);
                now.situations.push(situation(number));
                now.situations.sort_by_key(|seen| seen.situation);
            });
        }
        Step::PutFinding(number) => {
            let (finding, progress) = (finding(*number), model.now().progress);
            open.put_finding(&finding, progress).unwrap();
            model.push(|now| drop(now.findings.insert(finding.signature.clone(), finding)));
        }
        Step::PutReference(number) => {
            let summary = vec![*number as u8; *number as usize * 10];
            open.put_reference(key(*number), &summary).unwrap();
            model.push(|now| drop(now.references.insert(key(*number), summary)));
        }
        Step::Distil(divisor) => {
            let before = model.now().progress.executions + 1;
            let stays = |number: &u64| number.is_multiple_of(*divisor);
            let stay: Vec<_> = model.now().kept.keys().copied().filter(stays).collect();
            let distilled = Distilled { before, stay, memory: vec![*divisor as u8; 5_000] };
            open.distil(&distilled, || {}).unwrap();
            model.push(|now| {
                now.kept.retain(|number, _| stays(number));
                now.evaluations.retain(|number, _| *number >= before || stays(number));
                now.distilled = Some(distilled);
            });
        }
        Step::ForgetReferences => {
            open.forget_references(|| {}).unwrap();
            assert_eq!(open.counted_references(), 0);
            model.push(|now| {
                now.references.clear();
                now.counted.clear();
            });
        }
        Step::Minimise(..) | Step::Answer(..) | Step::Minimised(_) => minimise(step, open, model),
        Step::Flush => open.flush().unwrap(),
        Step::Checkpoint => open.checkpoint().unwrap(),
        Step::Reopen => {
            *store = None;
            let (reopened, notes) = Store::open(path).unwrap();
            assert_eq!(notes, [""; 0], "it was closed");
            *store = Some(reopened);
        }
        Step::Kill => {
            let folder = tempfile::tempdir().unwrap();
            copy(path, folder.path());
            let (left, notes) = Store::open(folder.path()).unwrap();
            assert_eq!(notes.len(), 1);
            assert!(notes[0].contains("all that it had saved is there"), "{notes:?}");
            let left = Contents::of(&left, NUMBERS);
            let may_be_left = &model.after[model.flushed..];
            assert!(may_be_left.contains(&left), "{left:#?} is none of {may_be_left:#?}");
        }
        _ => {}
    }
    if matches!(step, Step::Flush | Step::Checkpoint | Step::Reopen) {
        model.flushed = model.after.len() - 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever is done to it, a store holds what the model holds; a copy of its files holds what the model held after
    /// some step since the last flush, whole.
    #[test]
    fn a_store_is_its_model(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus");
        let mut store = Some(Store::create(&path).unwrap());
        let mut model = Model { after: vec![Contents::default()], recorded: 0, flushed: 0 };
        for step in &steps {
            apply(step, &mut store, &path, &mut model);
            prop_assert_eq!(&Contents::of(store.as_ref().unwrap(), NUMBERS), model.now());
        }
    }
}
