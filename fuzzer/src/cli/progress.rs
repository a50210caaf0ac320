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
    with_status(message, |_| work())
}

/// The same for work that says how far it is: its argument replaces the message.
pub(super) fn with_status<T>(message: &'static str, work: impl FnOnce(&dyn Fn(String)) -> T) -> T {
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(message);
    spinner.set_style(
        ProgressStyle::with_template("{spinner} {wide_msg}")
            .expect("the template is constant and tested by use"),
    );
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let shown = spinner.clone();
        scope.spawn(move || {
            if over.recv_timeout(WORTH_A_SPINNER) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
                // It ends when the sender is dropped, by a panic too.
                let _ = over.recv();
                shown.finish_and_clear();
            }
        });
        let result = work(&|message| spinner.set_message(message));
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

/// Line of a campaign with a limit, and of one without. A message is cut to the terminal's width: a line that wraps is drawn
/// again and again below itself.
const BAR_TEMPLATE: &str = "{elapsed} {bar:10} {wide_msg}";
const SPINNER_TEMPLATE: &str = "{spinner} {elapsed} {wide_msg}";

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
                (Some(goal), _) | (None, Some(goal)) => (ProgressBar::new(goal), BAR_TEMPLATE),
                (None, None) => (ProgressBar::new_spinner(), SPINNER_TEMPLATE),
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
        let columns = if shown.bar.is_some() { COLUMNS - BAR - BEFORE } else { COLUMNS };
        let message = message(status, rate(1), left, columns);
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

    /// Prints lines above the bar, from any thread.
    pub(super) fn sayer(&self) -> impl Fn(&str) + Send + 'static {
        let bar = self.state.lock().unwrap_or_else(PoisonError::into_inner).bar.clone();
        move |line| say(bar.as_ref(), line)
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
        say(self.bar.as_ref(), line);
    }
}

/// Prints a line above the bar, if there is one.
fn say(bar: Option<&ProgressBar>, line: &str) {
    match bar {
        Some(bar) => bar.suspend(|| complain(&line)),
        None => complain(&line),
    }
}

/// Columns of a terminal that is not wider than usual.
const COLUMNS: usize = 80;
/// Columns of a bar, and of the time before it with the spaces around both.
const BAR: usize = 10;
const BEFORE: usize = 8;

/// Progress of a campaign, in a line of at most so many columns: what matters least is left out first.
fn message(status: &Status, rate: f64, left: Option<Duration>, columns: usize) -> String {
    let progress = status.progress;
    let pending = if status.pending > 0 { " (minimising)" } else { "" };
    let code = status.code.iter().map(|code| (7, report::share_run(code)));
    // In the order of the line, each with its rank.
    let parts = [
        (0, format!("{} executions", progress.executions)),
        (2, format!("{} tests/s", report::rate(rate))),
        (4, format!("corpus {}", status.corpus_size)),
        (6, format!("median {}", score(status.median))),
        (5, format!("best {}", score(status.best))),
        (0, format!("findings {}{pending}", status.findings)),
        (if progress.invalid > 0 { 3 } else { 8 }, format!("invalid {}", progress.invalid)),
    ];
    let left = left.map(|left| (1, format!("{} left", humantime::format_duration(rounded(left)))));
    let mut parts: Vec<(u8, String)> = parts.into_iter().chain(code).chain(left).collect();
    let line =
        |parts: &[(u8, String)]| parts.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(", ");
    while line(&parts).chars().count() > columns {
        match parts.iter().map(|(rank, _)| *rank).max() {
            Some(last) if last > 0 => parts.retain(|(rank, _)| *rank < last),
            _ => break,
        }
    }
    line(&parts)
}

/// A time in at most two units.
fn rounded(time: Duration) -> Duration {
    let unit = match time.as_secs() {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    Duration::from_secs(time.as_secs() / unit * unit)
}

#[cfg(test)]
mod tests {
    use corpus::store::Progress;

    use super::*;

    fn status(executions: u64, findings: usize) -> Status {
        let progress = Progress { executions, invalid: executions / 2, ..Progress::default() };
        let code = Vec::new();
        Status {
            progress,
            corpus_size: executions,
            median: Some(0.5),
            best: None,
            findings,
            pending: 1,
            code,
        }
    }

    #[test]
    fn the_line_of_a_long_night_fits_the_terminal() {
        let night = Some(Duration::from_secs(28_799));
        for columns in [COLUMNS, COLUMNS - BAR - BEFORE] {
            let line = message(&status(99_999_999, 9_999), 99_999.0, night, columns);
            assert!(line.chars().count() <= columns, "{line}");
            assert!(
                line.contains("99999999 executions") && line.contains("findings 9999 (minimising)"),
                "{line}"
            );
            // More than that is shown where there is room.
            assert!(message(&status(10, 0), 1.0, None, columns).contains("invalid 5"));
        }
        assert!(message(&status(10, 0), 1.0, None, COLUMNS).contains("corpus 10"));
        assert_eq!(
            message(&status(160, 2), 31.0, night, 200),
            "160 executions, 31 tests/s, corpus 160, median 0.500, best -, findings 2 (minimising), invalid 80, 7h 59m left"
        );
    }

    #[test]
    fn templates_leave_the_room_that_they_say() {
        for (template, bar) in [(BAR_TEMPLATE, BAR), (SPINNER_TEMPLATE, 1)] {
            let fixed = template.replace("{elapsed}", "59m").replace(" {wide_msg}", " ");
            let fixed = fixed.replace("{bar:10}", &"#".repeat(bar)).replace("{spinner}", "-");
            assert!(!fixed.contains('{') && fixed.len() <= BAR + BEFORE, "{fixed}");
        }
    }
}
