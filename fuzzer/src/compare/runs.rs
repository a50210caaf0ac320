//! The runs of a comparison: each is a campaign of one job, so that as many run at a time as there are jobs. What has run is kept
//! in a file, and not run again.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use corpus::Role;
use executor::Nic;
use mutators::Target;

use super::kept::{self, Bases, Found, Key, Ran};
use super::{Plan, RUNS, Until};
use crate::campaign::{
    Campaign, CampaignError, End, Event, Limits, Request, Stop, io_error, lock, vocabulary,
};
use crate::finding::{is_reproduced, sha256};

/// Folder of the campaigns that run.
const RUNNING: &str = "running";

/// Makes the runs of a comparison that its folder does not have yet, until `stop` is asked; all that have ended. `watch` is told
/// how many of how many have ended, and the executions of those that ended here. A folder that cannot be written is read, if it
/// has all runs.
///
/// # Errors
/// A name that there is not, a folder with something else in it or in which another process is at work, runs of something
/// else, a testbed that fails, a disk that is full.
pub fn run(
    plan: &Plan,
    stop: &Stop,
    watch: &(dyn Fn(usize, usize, u64) + Sync),
) -> Result<Vec<Ran>, CampaignError> {
    // All that the user named is read before anything is made.
    let bases = bases(plan)?;
    let lock = match lock(&plan.folder) {
        Err(error @ CampaignError::Usage(_)) => return Err(error),
        Err(error) if !plan.folder.join(RUNS).is_file() => return Err(error),
        lock => lock,
    };
    kept::check(&plan.folder)?;
    let mut ran = kept::read(plan, &bases, lock.is_ok())?;
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
    let lock = if left.is_empty() { lock.ok() } else { Some(lock?) };
    if lock.is_some() {
        kept::begin(&plan.folder)?;
    }
    let made = make(plan, &bases, left, stop, watch);
    if lock.is_some() {
        // What was interrupted runs again.
        let _ = fs::remove_dir_all(plan.folder.join(RUNNING));
    }
    ran.extend(made?.into_iter().map(|one| (one.key(), one)));
    let asked = |key: &Key| {
        plan.nics.contains(&key.0) && plan.strategies.contains(&key.1) && plan.seeds.contains(&key.2)
    };
    ran.retain(|key, _| asked(key));
    Ok(ran.into_values().collect())
}

/// Makes the runs that are left, as many at a time as there are jobs, and keeps them.
fn make(
    plan: &Plan,
    bases: &Bases,
    left: VecDeque<Key>,
    stop: &Stop,
    watch: &(dyn Fn(usize, usize, u64) + Sync),
) -> Result<Vec<Ran>, CampaignError> {
    let all = plan.seeds.clone().count() * plan.nics.len() * plan.strategies.len();
    let before = all - left.len();
    let shared = Mutex::new(Shared { left, ended: Vec::new(), error: None, executions: 0 });
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    watch(before, all, 0);
    thread::scope(|scope| {
        for job in 0..plan.jobs {
            let lock = &lock;
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
                        ran.map_or(Ok(None), |ran| kept::append(&plan.folder, &ran).map(|()| Some(ran)))
                    }) {
                        Ok(Some(ran)) => {
                            shared.executions += ran.executions;
                            shared.ended.push(ran);
                            watch(before + shared.ended.len(), all, shared.executions);
                        }
                        Ok(None) => return,
                        Err(error) => shared.error = Some(error),
                    }
                }
            });
        }
    });
    let Shared { ended, error, .. } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(ended), Err)
}

/// State that the jobs share.
struct Shared {
    left: VecDeque<Key>,
    ended: Vec<Ran>,
    error: Option<CampaignError>,
    executions: u64,
}

/// Digests of all that the runs on each NIC rest on.
fn bases(plan: &Plan) -> Result<Bases, CampaignError> {
    let here = Path::new("");
    let target = Target::load(&plan.target, here, vocabulary()).map_err(|error| error.0)?.to_toml();
    let basis = |nic: &String| {
        let text = Nic::load(nic, here).map_err(|error| error.0)?.text_on(&plan.testbed, Role::Requester);
        let limits = format!("{} {:?}", plan.executions, plan.until);
        let all = [&target, &text, &format!("{:?}", plan.testbed), &limits];
        Ok((nic.clone(), sha256(&all.map(String::as_str).join("\n"))))
    };
    plan.nics.iter().map(basis).collect()
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
        program: kept::program(),
        basis: basis.to_owned(),
        executions: status.progress.executions,
        elapsed_s: started.elapsed().as_secs_f64(),
        found,
    }))
}
