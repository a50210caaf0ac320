//! The progress bar over reading captures, a spinner over other work, and how far a campaign is.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dumper::capture::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::complain;
use crate::campaign::report::{self, score};
use crate::campaign::{Event, Limits, Status};

/// Bytes below which reading takes no time worth a bar.
const WORTH_A_BAR: u64 = 256 << 20;

/// A bar on stderr with bytes, packets and rate; hidden if stderr is not a terminal or the capture is small.
pub(super) struct ReadBar {
    bar: Option<ProgressBar>,
}

impl ReadBar {
    pub(super) const fn new() -> Self {
        Self { bar: None }
    }

    /// Shows how far reading has come.
    pub(super) fn show(&mut self, progress: Progress) {
        if progress.total_bytes < WORTH_A_BAR {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(progress.total_bytes);
            let template = "reading {bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left) {msg}";
            bar.set_style(
                ProgressStyle::with_template(template).expect("the template is constant and tested by use"),
            );
            bar
        });
        bar.set_position(progress.bytes);
        bar.set_message(format!("{} packets", progress.packets));
        if progress.bytes == progress.total_bytes {
            bar.set_style(
                ProgressStyle::with_template("{spinner} {msg}")
                    .expect("the template is constant and tested by use"),
            );
            bar.set_message(format!("analysing {} packets", progress.packets));
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Time after which work shows a spinner.
const WORTH_A_SPINNER: Duration = Duration::from_secs(1);

/// Does the work, under a spinner on stderr if it takes its time; hidden if stderr is not a terminal.
pub(super) fn with_spinner<T>(message: &'static str, work: impl FnOnce() -> T) -> T {
    let (done, over) = mpsc::channel::<()>();
    thread::scope(move |scope| {
        scope.spawn(move || {
            if over.recv_timeout(WORTH_A_SPINNER) == Err(RecvTimeoutError::Timeout) {
                let spinner = ProgressBar::new_spinner().with_message(message);
                spinner.enable_steady_tick(Duration::from_millis(100));
                // It ends when the sender is dropped, by a panic too.
                let _ = over.recv();
                spinner.finish_and_clear();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// A bar over work that is counted, if it takes its time; hidden if stderr is not a terminal.
pub(super) struct CountBar {
    bar: ProgressBar,
    started: Instant,
    message: &'static str,
}

impl CountBar {
    pub(super) fn new(message: &'static str) -> Self {
        Self { bar: ProgressBar::hidden(), started: Instant::now(), message }
    }

    /// Shows how many of how many are done.
    pub(super) fn show(&self, done: usize, all: usize) {
        if self.started.elapsed() >= WORTH_A_SPINNER && self.bar.length().is_none() {
            self.bar.set_style(
                ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} ({eta} left)")
                    .expect("the template is constant and tested by use"),
            );
            self.bar.set_message(self.message);
            self.bar.set_length(all as u64);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done as u64);
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Interval of progress lines if stderr is not a terminal. The first one comes at once, or after the first batch.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of a campaign: a bar on a terminal, and else a line now and then.
pub(super) struct CampaignProgress {
    limits: Limits,
    started: Instant,
    state: Mutex<Shown>,
}

/// Display of a campaign's progress.
struct Shown {
    /// `None` if stderr is not a terminal.
    bar: Option<ProgressBar>,
    line_written: Option<Instant>,
    /// Executions, and tests in all, before this start: they say nothing of its rates.
    before: Option<[u64; 2]>,
}

impl CampaignProgress {
    pub(super) fn new(limits: Limits) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let (bar, template) = match (limits.executions, limits.duration_s) {
                (Some(goal), _) | (None, Some(goal)) => (ProgressBar::new(goal), "{elapsed} {bar:24} {msg}"),
                (None, None) => (ProgressBar::new_spinner(), "{spinner} {elapsed} {msg}"),
            };
            bar.set_style(
                ProgressStyle::with_template(template).expect("the template is constant and tested by use"),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let started = Instant::now();
        let state = Mutex::new(Shown { bar, line_written: None, before: None });
        Self { limits, started, state }
    }

    /// Shows an event.
    pub(super) fn show(&self, event: &Event<'_>) {
        // Even if another thread panicked, the display's state is whole.
        let mut shown = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Status(status) => self.show_status(status, &mut shown),
            Event::Found(finding) => shown
                .say(&format!("found {} at execution {}", finding.signature, finding.first_seen_execution)),
            Event::Minimised(finding) => shown
                .say(&format!("minimised in {} executions: {}", finding.minimizer_executions, finding.title)),
            Event::Flaky(finding) => shown.say(&format!("not in every run: {}", finding.title)),
            Event::Note(note) => shown.say(&format!("note: {note}")),
        }
    }

    fn show_status(&self, status: &Status, shown: &mut Shown) {
        let executions = status.progress.executions;
        let counts = [executions, status.progress.runs];
        // The first status comes before anything has run.
        let before = *shown.before.get_or_insert(counts);
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = |at: usize| if seconds > 0.0 { (counts[at] - before[at]) as f64 / seconds } else { 0.0 };
        let left = self.time_left(status, rate(0));
        let message = message(status, rate(1), left);
        match &shown.bar {
            Some(bar) => {
                let position = match (self.limits.executions, self.limits.duration_s) {
                    (None, Some(_)) => status.progress.elapsed_ms / 1_000,
                    _ => executions,
                };
                bar.set_position(position);
                bar.set_message(message);
            }
            None if executions > 0 && shown.line_written.is_none_or(|at| at.elapsed() >= LINE_EVERY) => {
                complain(&message);
                shown.line_written = Some(Instant::now());
            }
            None => {}
        }
    }

    /// Time left until the first limit is reached.
    fn time_left(&self, status: &Status, rate: f64) -> Option<Duration> {
        let by_count = self
            .limits
            .executions
            .filter(|_| rate > 0.0)
            .map(|goal| goal.saturating_sub(status.progress.executions) as f64 / rate);
        let by_time = self.limits.duration_s.map(|goal| (goal as f64 - status.progress.elapsed_s()).max(0.0));
        let left = [by_count, by_time].into_iter().flatten().min_by(f64::total_cmp)?;
        Duration::try_from_secs_f64(left.round()).ok()
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        let shown = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = shown.bar {
            bar.finish_and_clear();
        }
    }
}

impl Shown {
    /// A line above the bar.
    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| complain(&line)),
            None => complain(&line),
        }
    }
}

/// Progress of a campaign, in a line.
fn message(status: &Status, rate: f64, left: Option<Duration>) -> String {
    let progress = status.progress;
    let pending = if status.pending > 0 { " (minimising)" } else { "" };
    let left = left.map(|left| format!(", {} left", humantime::format_duration(left))).unwrap_or_default();
    let code: String = status.code.iter().map(|code| format!(", {}", report::share_run(code))).collect();
    format!(
        "{} executions, {} tests/s, corpus {}, median {}, best {}, findings {}{pending}, invalid {}{code}{left}",
        progress.executions,
        report::rate(rate),
        status.corpus_size,
        score(status.median),
        score(status.best),
        status.findings,
        progress.invalid,
    )
}
