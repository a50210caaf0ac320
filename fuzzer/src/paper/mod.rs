//! The experiments of the papers, run again, and their theory: published values, values measured here, and their
//! agreement.
//!
//! Everything is data: a [`Claim`] has the published value of some NICs, the tests that show it, and the
//! function that measures it. Simulated NICs are models of these very measurements, so that agreement says
//! that the models, the testbed and the analyzers fit together, and nothing about a vendor's hardware.

mod claims;
mod engines;
mod fit;
mod lab;
mod nics;
pub mod plot;
mod published;
mod setup;
mod tables;
mod text;

use serde::Serialize;

pub use claims::{EXPERIMENTS, HARDWARE};
pub use lab::{Lab, LabError};
pub use nics::Nics;
pub use published::Published;
pub use setup::{PingPong, Queues, SIZE_STEP, SIZES, Setup};
pub use tables::TableTest;
pub use text::{markdown, table};

use crate::measure::{Seen, Value};

/// An experiment of the paper.
#[derive(Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Subject.
    pub title: &'static str,
    /// Results of runs, in groups.
    pub claims: &'static [&'static [Claim]],
    /// Results of theory.
    pub formulas: &'static [Formula],
}

/// Something that an experiment measured.
#[derive(Debug)]
pub struct Claim {
    /// The measured quantity.
    pub what: &'static str,
    /// On which NICs; each is a row.
    pub nics: &'static [Nics],
    /// Value that the paper gives.
    pub published: Published,
    /// What agreement with it says.
    pub basis: Basis,
    /// Unit of the numbers; empty for counts, ratios and words.
    pub unit: &'static str,
    /// Section that gives it: of the paper as published (Lumina) or as submitted (Lumina (preprint)).
    pub source: &'static str,
    /// The tests that show it.
    pub setup: Setup,
    /// The number of these tests' runs; none if they do not show it.
    pub measure: fn(&[Seen<'_>]) -> Option<Value>,
}

/// Something that theory says.
#[derive(Debug)]
pub struct Formula {
    /// The quantity.
    pub what: &'static str,
    /// Value that the paper gives.
    pub published: Published,
    /// Unit of the numbers; empty for counts and ratios.
    pub unit: &'static str,
    /// Section that gives it.
    pub source: &'static str,
    /// What agreement with it says: [`Basis::Formula`], unless the numbers in the formula are made from the value.
    pub basis: Basis,
    /// Its value here.
    pub value: fn() -> Value,
}

/// Something that the paper measured and no simulation can.
#[derive(Debug)]
pub struct Hardware {
    /// The measured quantity.
    pub what: &'static str,
    /// Value that the paper gives.
    pub published: &'static str,
    /// Source.
    pub source: &'static str,
}

/// Way in which a measured value comes about: what its agreement with the paper says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From mechanisms: no number of the row went into a profile or a test.
    Derived,
    /// A number of the row set a parameter of the profile or the test.
    Calibrated,
    /// Theory: nothing was run.
    Formula,
    /// A direction or an order is compared, and no number.
    Shape,
    /// The paper has no number, and a parameter is an assumption.
    Assumed,
    /// A property of hardware, which is not simulated.
    Hardware,
}

impl Basis {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Derived, Self::Calibrated, Self::Formula, Self::Shape, Self::Assumed, Self::Hardware];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Derived => "derived",
            Self::Calibrated => "calibrated",
            Self::Formula => "formula",
            Self::Shape => "shape",
            Self::Assumed => "assumed",
            Self::Hardware => "hardware",
        }
    }
}

/// Number of rows that agree with the paper, for each basis of which there are any: numbers that a profile was made from agree by
/// themselves.
#[must_use]
pub fn agreeing(rows: &[Row]) -> Vec<(Basis, usize)> {
    let count = |basis| rows.iter().filter(|row| row.verdict == Verdict::Ok && row.basis == basis).count();
    Basis::ALL.into_iter().map(|basis| (basis, count(basis))).filter(|(_, count)| *count > 0).collect()
}

impl Experiment {
    /// Results of runs.
    pub fn claims(&self) -> impl Iterator<Item = &'static Claim> + use<> {
        self.claims.iter().copied().flatten()
    }
}

/// Agreement of a measurement with the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Ok,
    /// It does not, or was not seen at all.
    Off,
    /// The paper has no number.
    Open,
    /// It is a property of hardware, which is not simulated.
    Hardware,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Off, Self::Open, Self::Hardware];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Off => "off",
            Self::Open => "open",
            Self::Hardware => "hardware",
        }
    }
}

/// A line of the table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The measured quantity.
    pub what: &'static str,
    /// The NIC, or the requester's and the responder's; none where it is about no NIC.
    pub nics: Option<String>,
    /// Value that the paper gives, with its unit.
    pub paper: String,
    /// Source.
    pub source: &'static str,
    /// Value measured here; `None` if the runs do not show it.
    pub measured: Option<Value>,
    /// Its unit.
    pub unit: &'static str,
    /// Measured over published, where the paper gives a number; of several the one farthest from 1.
    pub ratio: Option<f64>,
    /// What the agreement says.
    pub basis: Basis,
    /// Agreement of both.
    pub verdict: Verdict,
}

impl Row {
    fn of(experiment: &'static str, claim: &Claim, nics: Nics, lab: &Lab) -> Self {
        let tests = claim.setup.tests(nics);
        let measured = lab.seen(&tests).and_then(|seen| (claim.measure)(&seen));
        let (ratio, verdict) = claim.published.judge(measured.as_ref());
        Self {
            experiment,
            what: claim.what,
            nics: Some(nics.to_string()),
            paper: claim.published.with_unit(claim.unit),
            source: claim.source,
            measured,
            unit: claim.unit,
            ratio,
            basis: claim.basis,
            verdict,
        }
    }

    fn of_formula(experiment: &'static str, formula: &Formula) -> Self {
        let value = (formula.value)();
        let (ratio, verdict) = formula.published.judge(Some(&value));
        Self {
            experiment,
            what: formula.what,
            nics: None,
            paper: formula.published.with_unit(formula.unit),
            source: formula.source,
            measured: Some(value),
            unit: formula.unit,
            ratio,
            basis: formula.basis,
            verdict,
        }
    }

    fn of_hardware(hardware: &Hardware) -> Self {
        Self {
            experiment: HARDWARE_NAME,
            what: hardware.what,
            nics: None,
            paper: hardware.published.into(),
            source: hardware.source,
            measured: None,
            unit: "",
            ratio: None,
            basis: Basis::Hardware,
            verdict: Verdict::Hardware,
        }
    }
}

/// Name of the experiment that is listed and not measured.
pub const HARDWARE_NAME: &str = "testbed";

/// Runs experiments, those that are named or all, and compares them with the paper. `figures` are drawn from
/// the same lab later, so that their tests are run too.
///
/// # Errors
/// A test cannot be run.
pub fn run(
    names: &[&str],
    figures: &[plot::Figure],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<Row>, Lab), LabError> {
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    let wanted = || EXPERIMENTS.iter().filter(|experiment| is_wanted(experiment.name));
    let of_claims = wanted()
        .flat_map(Experiment::claims)
        .flat_map(|claim| claim.nics.iter().flat_map(|nics| claim.setup.tests(*nics)));
    let lab = Lab::run(of_claims.chain(figures.iter().flat_map(plot::Figure::tests)), progress)?;
    let mut rows: Vec<Row> = wanted().flat_map(|experiment| rows_of(experiment, &lab)).collect();
    if is_wanted(HARDWARE_NAME) {
        rows.extend(HARDWARE.iter().map(Row::of_hardware));
    }
    Ok((rows, lab))
}

fn rows_of(experiment: &'static Experiment, lab: &Lab) -> impl Iterator<Item = Row> {
    let claims = experiment.claims().flat_map(|claim| claim.nics.iter().map(move |nics| (claim, *nics)));
    let measured = claims.map(|(claim, nics)| Row::of(experiment.name, claim, nics, lab));
    measured.chain(experiment.formulas.iter().map(|formula| Row::of_formula(experiment.name, formula)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of a claim, measured on other NICs than the paper's.
    fn verdict_on(nic: &'static str, experiment: &str, what: &str) -> Verdict {
        let of_name = EXPERIMENTS.iter().find(|one| one.name == experiment).unwrap();
        let claim = of_name.claims().find(|claim| claim.what == what).unwrap();
        let nics = Nics::both(nic);
        let lab = Lab::run(claim.setup.tests(nics).into_iter(), &|_, _| ()).unwrap();
        Row::of("", claim, nics, &lab).verdict
    }

    /// The measured numbers are those of the run: on NICs that behave otherwise nothing agrees.
    #[test]
    fn numbers_are_those_of_the_runs() {
        for (nic, experiment, what) in [
            ("cx4-lx", "nack-latency", "NACK generation, Write 100 KB, last packets"),
            ("cx6-dx", "timeouts", "Waits, adaptive, message 1"),
            ("cx5", "retries", "Retries of messages 1 to 5, adaptive"),
            ("e810", "cnp", "Shortest interval of CNPs, hidden"),
            ("cx6-dx", "ets", "Two queues, marks: QP1, not faster"),
            ("cx4-lx", "noisy-neighbor", "Discards of the requester, i = 12"),
            ("cx4-lx", "counters", "implied_nak_seq_err for each implied NAK"),
            ("rcn-cx6", "flow-table", "Most flows before goodput falls, Writes"),
            ("rcn-cx6", "flow-table", "Goodput of Reads"),
            ("rcn-bf3", "flow-table-symptoms", "S8, the NIC answers nothing: 10,000 tunnels, and one more"),
        ] {
            assert_eq!(verdict_on("reference", experiment, what), Verdict::Off, "{what}");
            if nic != "cx5" {
                assert_eq!(verdict_on(nic, experiment, what), Verdict::Ok, "{what}");
            }
        }
    }

    #[test]
    fn names_tell_experiments_and_rows_apart() {
        let mut names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        names.push(HARDWARE_NAME);
        let mut rows: Vec<_> = EXPERIMENTS
            .iter()
            .flat_map(|one| one.claims().map(move |claim| (one.name, claim)))
            .flat_map(|(name, claim)| claim.nics.iter().map(move |nics| (name, claim.what, nics.to_string())))
            .collect();
        let formulas =
            EXPERIMENTS.iter().flat_map(|one| one.formulas.iter().map(|formula| (one.name, formula.what)));
        rows.extend(formulas.map(|(name, what)| (name, what, String::new())));
        let (all_names, all_rows) = (names.len(), rows.len());
        names.sort_unstable();
        names.dedup();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!((names.len(), rows.len()), (all_names, all_rows));
    }
}
