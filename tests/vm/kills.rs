//! Whatever is killed, at whatever moment: the campaign goes on or stops and says why, nothing is left running, and the
//! store is whole.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::process::Child;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::RngExt;

use super::given::kills;
use super::place::{Place, Process, SHORT_FOR_KILLS, kill_and_wait, wait};

const CAMPAIGN: [&str; 4] = [SHORT_FOR_KILLS, "--seed", "1", "--resume"];

/// Longest time between the moment that the testbed was seen to work and the next kill.
const LONGEST_PEACE: Duration = Duration::from_secs(15);

/// Longest time for the testbed to start or to recover, a boot of its guests included.
const RECOVERY: Duration = Duration::from_secs(600);

/// The process that is killed. Guests and agents have the number of their host.
#[derive(Clone, Copy, PartialEq)]
enum Victim {
    Guest(u8),
    Agent(u8),
    Switch,
    Orchestrator,
}

const VICTIMS: [Victim; 6] = [
    Victim::Guest(1),
    Victim::Guest(2),
    Victim::Agent(1),
    Victim::Agent(2),
    Victim::Switch,
    Victim::Orchestrator,
];

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guest(host) => write!(f, "guest {host}"),
            Self::Agent(host) => write!(f, "the agent of guest {host}"),
            Self::Switch => f.write_str("the switch"),
            Self::Orchestrator => f.write_str("the orchestrator"),
        }
    }
}

impl Victim {
    /// Returns true if a process of the testbed is the one to be killed.
    fn is(self, process: &Process) -> bool {
        match self {
            Self::Guest(host) | Self::Agent(host) => {
                process.command.contains("qemu-system") && process.command.contains(&format!("/{host}.guest"))
            }
            Self::Switch => process.command.contains("lumina-switch"),
            Self::Orchestrator => false,
        }
    }

    /// Kills it, as soon as it runs.
    fn strike(self, place: &Place, orchestrator: &mut Child) {
        if self == Self::Orchestrator {
            return kill_and_wait(orchestrator);
        }
        let find = || place.processes().into_iter().find(|process| self.is(process));
        assert!(wait(RECOVERY, || find().is_some()), "{self} does not run: {}", place.said());
        // It may have ended in the meantime, with a test that another process of it was killed in.
        let Some(process) = find() else { return };
        match self {
            Self::Agent(_) => {
                // A guest's console is QEMU's stdin.
                let console = File::options().write(true).open(format!("/proc/{}/fd/0", process.pid));
                let _ = console.and_then(|mut console| console.write_all(b"kill-agent\n"));
            }
            _ => drop(kill(process.pid, Signal::SIGKILL)),
        }
    }
}

#[test]
#[ignore = "takes half an hour: ci/long vm"]
fn kills_at_any_moment_end_in_a_clear_state() {
    let (kills, mut rng) = kills(100);
    let place = Place::new();
    let mut orchestrator = place.start(&CAMPAIGN);
    let (mut retried, mut stopped) = (0, 0);
    for number in 1..=kills {
        let peace = LONGEST_PEACE.mul_f64(rng.random());
        let victim = VICTIMS[rng.random_range(0..VICTIMS.len())];
        thread::sleep(peace);
        let before = place.executions();
        println!("{number:>3}: {victim}, {:.1} s later, at {before} executions", peace.as_secs_f64());
        victim.strike(&place, &mut orchestrator);
        if victim != Victim::Orchestrator {
            let went_on = || place.executions() > before || orchestrator.try_wait().unwrap().is_some();
            assert!(wait(RECOVERY, went_on), "nothing happens: {}", place.said());
        }
        match orchestrator.try_wait().unwrap() {
            None => {
                retried += 1;
                continue;
            }
            Some(_) if victim == Victim::Orchestrator => place.nothing_runs(),
            Some(status) => {
                assert_eq!(status.code(), Some(1), "{}", place.said());
                let said = place.said();
                let last = said.lines().rfind(|line| line.starts_with("error: "));
                assert!(last.is_some_and(|line| line.contains("the testbed is broken")), "{said}");
                place.nothing_is_left();
                stopped += 1;
            }
        }
        if place.has_campaign() {
            place.store_is_whole();
        }
        orchestrator = place.start(&CAMPAIGN);
    }
    println!("went on after {retried} kills, stopped with a message after {stopped}");

    assert!(wait(RECOVERY, || place.has_campaign() && !place.processes().is_empty()), "{}", place.said());
    kill(Pid::from_raw(orchestrator.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(orchestrator.wait().unwrap().code(), Some(130), "{}", place.said());
    place.nothing_is_left();
    let goal = (place.executions() + 20).to_string();
    let summary = place.run_campaign(&["--resume", "--executions", &goal]);
    place.nothing_is_left();
    place.store_is_whole();
    assert_eq!(summary["executions"].to_string(), goal);
    assert_eq!(summary["invalid"], 0, "a test was lost: {summary:#}");
    assert_eq!(summary["findings"], serde_json::json!([]), "a kill was taken for a finding");
}
