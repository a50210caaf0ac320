//! The runs of a comparison: each is a campaign of one job, so that as many run at a time as there are jobs. What has run is kept
//! in a file, and not run again.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use corpus::Role;
use executor::Nic;
use mutators::Target;
use serde::{Deserialize, Serialize};

use super::{Plan, RUNS, Until};
use crate::campaign::{Campaign, CampaignError, End, Event, Limits, Request, Stop, vocabulary};
use crate::finding::{is_reproduced, sha256};
use crate::strategy::Strategy;
use crate::version::VERSION;

/// Folder of the campaigns that run.
const RUNNING: &str = "running";

/// A signature that a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The signature.
    pub signature: String,
    /// Execution that showed it first.
    pub execution: u64,
    /// Seconds of the run by then.
    pub at_s: f64,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// NIC of both hosts, as it was named.
    pub nic: String,
    /// Its strategy.
    pub strategy: Strategy,
    /// Its seed.
    pub seed: u64,
    /// Digest of its target, NIC, limits and program.
    pub basis: String,
    /// Executions that it made.
    pub executions: u64,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// Its findings.
    pub found: Vec<Found>,
}

type Key = (String, Strategy, u64);

impl Ran {
    fn key(&self) -> Key {
        (self.nic.clone(), self.strategy, self.seed)
    }
}

/// Makes the runs of a comparison that its folder does not have yet, until `stop` is asked; all that have ended. `watch` is told
/// how many of how many, and the executions of those that ended here.
///
/// # Errors
/// A name that there is not, a folder with runs of something else, a testbed that fails, a disk that is full.
pub fn run(
    plan: &Plan,
    stop: &Stop,
    watch: &(dyn Fn(usize, usize, u64) + Sync),
) -> Result<Vec<Ran>, CampaignError> {
    fs::create_dir_all(&plan.folder).map_err(io_error(&plan.folder, "cannot be made"))?;
    let bases = bases(plan)?;
    let mut ran = read(plan)?;
    let other = |one: &&Ran| bases.get(&one.nic).is_some_and(|basis| *basis != one.basis);
    if let Some(one) = ran.values().find(other) {
        return Err(CampaignError::Usage(format!(
            "{}: {} with {} and seed {} was run on another target, NIC or version, or with other limits; --out names another folder",
            plan.folder.join(RUNS).display(),
            one.nic,
            one.strategy,
            one.seed
        )));
    }
    // Of all NICs and strategies the first seed first, so that what there is can be compared at any time.
    let mut left = VecDeque::new();
    for seed in plan.seeds.clone() {
        for nic in &plan.nics {
            for strategy in &plan.strategies {
                let key = (nic.clone(), *strategy, seed);
                if !ran.contains_key(&key) {
                    left.push_back(key);
                }
            }
        }
    }
    let all = plan.seeds.clone().count() * plan.nics.len() * plan.strategies.len();
    let shared = Mutex::new(Shared { left, ended: Vec::new(), error: None, executions: 0 });
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    watch(all - lock().left.len(), all, 0);
    thread::scope(|scope| {
        for job in 0..plan.jobs {
            let (bases, lock) = (&bases, &lock);
            scope.spawn(move || {
                loop {
                    let Some(key) = ({
                        let mut shared = lock();
                        if shared.error.is_some() || stop.is_asked() { None } else { shared.left.pop_front() }
                    }) else {
                        return;
                    };
                    let ended = one(plan, &key, &bases[&key.0], job, stop);
                    let mut shared = lock();
                    match ended.and_then(|ran| {
                        ran.map_or(Ok(None), |ran| append(&plan.folder, &ran).map(|()| Some(ran)))
                    }) {
                        Ok(Some(ran)) => {
                            shared.executions += ran.executions;
                            shared.ended.push(ran);
                            watch(all - shared.left.len(), all, shared.executions);
                        }
                        Ok(None) => return,
                        Err(error) => shared.error = Some(error),
                    }
                }
            });
        }
    });
    let Shared { ended, error, .. } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What was interrupted runs again.
    let _ = fs::remove_dir_all(plan.folder.join(RUNNING));
    if let Some(error) = error {
        return Err(error);
    }
    ran.extend(ended.into_iter().map(|one| (one.key(), one)));
    let asked = |key: &Key| {
        plan.nics.contains(&key.0) && plan.strategies.contains(&key.1) && plan.seeds.contains(&key.2)
    };
    ran.retain(|key, _| asked(key));
    Ok(ran.into_values().collect())
}

/// What the jobs share.
struct Shared {
    left: VecDeque<Key>,
    ended: Vec<Ran>,
    error: Option<CampaignError>,
    executions: u64,
}

fn io_error(path: &Path, what: &'static str) -> impl FnOnce(std::io::Error) -> CampaignError {
    let path = path.to_owned();
    move |source| CampaignError::Io { path, what, source }
}

/// Digests of all that the runs on each NIC rest on.
fn bases(plan: &Plan) -> Result<BTreeMap<String, String>, CampaignError> {
    let here = Path::new("");
    let target = Target::load(&plan.target, here, vocabulary()).map_err(|error| error.0)?.to_toml();
    let basis = |nic: &String| {
        let text = Nic::load(nic, here).map_err(|error| error.0)?.text_on(&plan.testbed, Role::Requester);
        let limits = format!("{} {:?}", plan.executions, plan.until);
        let all = [VERSION, &target, &text, &format!("{:?}", plan.testbed), &limits];
        Ok((nic.clone(), sha256(&all.join("\n"))))
    };
    plan.nics.iter().map(basis).collect()
}

/// The runs that a folder has. A last line that was not written whole is none.
fn read(plan: &Plan) -> Result<BTreeMap<Key, Ran>, CampaignError> {
    let path = plan.folder.join(RUNS);
    let text = match corpus::open_regular(&path).and_then(std::io::read_to_string) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io_error(&path, "cannot be read")(error)),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    if whole.len() < text.len() {
        fs::write(&path, whole).map_err(io_error(&path, "cannot be mended"))?;
    }
    let mut runs = BTreeMap::new();
    for (at, line) in whole.lines().enumerate() {
        let ran: Ran = serde_json::from_str(line).map_err(|error| {
            CampaignError::Usage(format!(
                "{}:{}: is no run: {error}; remove the line, or name another folder with --out",
                path.display(),
                at + 1
            ))
        })?;
        runs.insert(ran.key(), ran);
    }
    Ok(runs)
}

fn append(folder: &Path, ran: &Ran) -> Result<(), CampaignError> {
    let path = folder.join(RUNS);
    let mut line = serde_json::to_string(ran).expect("a run has strings as keys and finite numbers");
    line.push('\n');
    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(io_error(&path, "cannot be written"))
}

/// One run; none if it was interrupted.
fn one(plan: &Plan, key: &Key, basis: &str, job: usize, stop: &Stop) -> Result<Option<Ran>, CampaignError> {
    let (nic, strategy, seed) = key;
    let folder = plan.folder.join(RUNNING).join(job.to_string());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(io_error(&folder, "cannot be removed"))?;
    }
    let request = Request {
        target: Some(plan.target.clone()),
        nics: [Some(nic.clone()), Some(nic.clone())],
        seed: Some(*seed),
        strategy: Some(*strategy),
        testbed: Some(plan.testbed.clone()),
        limits: Limits {
            executions: Some(plan.executions),
            stop_on_first: Some(plan.until == Until::First),
            ..Limits::default()
        },
        // Of a finding it counts when it was found.
        minimizer_budget: Some(0),
        ..Request::default()
    };
    let started = Instant::now();
    let campaign = Campaign::begin(&folder, &request)?;
    let own = Stop::new();
    let found: Mutex<Vec<Found>> = Mutex::default();
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    let watch = |event: Event<'_>| {
        if let Event::Found(record) = event {
            lock().push(Found {
                signature: record.signature.clone(),
                execution: record.first_seen_execution,
                at_s: started.elapsed().as_secs_f64(),
            });
        }
        if stop.is_asked() || (plan.until != Until::First && plan.until.is_reached(&lock())) {
            own.ask();
        }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| CampaignError::Usage(format!("cannot start a job: {error}")))?;
    let (end, status) = pool.install(|| campaign.run(&own, &watch))?;
    if stop.is_asked() && !end.is_done() {
        return Ok(None);
    }
    let is_whole = end.is_done() || end == End::Interrupted;
    if !is_whole {
        return Err(CampaignError::Usage(format!("{nic} with {strategy} and seed {seed}: {end}")));
    }
    // What was seen once, and is not there again, was not found.
    let confirmed = campaign.findings()?;
    let mut found = lock().clone();
    found.retain(|one| {
        confirmed.iter().any(|record| record.signature == one.signature && is_reproduced(record))
    });
    drop(campaign);
    fs::remove_dir_all(&folder).map_err(io_error(&folder, "cannot be removed"))?;
    Ok(Some(Ran {
        nic: nic.clone(),
        strategy: *strategy,
        seed: *seed,
        basis: basis.to_owned(),
        executions: status.progress.executions,
        elapsed_s: started.elapsed().as_secs_f64(),
        found,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            target: String::new(),
            testbed: executor::TestbedName::Sim,
            nics: Vec::new(),
            strategies: Vec::new(),
            seeds: 0..1000,
            executions: 1,
            until: Until::First,
            jobs: 1,
            folder: folder.path().to_owned(),
        };
        // A third has more digits than serde_json keeps without `float_roundtrip`.
        let ran = |seed: u64| Ran {
            nic: "cx5".to_owned(),
            strategy: Strategy::Genetic,
            seed,
            basis: String::new(),
            executions: 600,
            elapsed_s: (seed as f64) / 7.0,
            found: vec![Found { signature: "a".to_owned(), execution: 1, at_s: (seed as f64) / 3.0 }],
        };
        let runs: Vec<Ran> = plan.seeds.clone().map(ran).collect();
        for one in &runs {
            append(&plan.folder, one).unwrap();
        }
        assert_eq!(read(&plan).unwrap().into_values().collect::<Vec<_>>(), runs);
    }
}
