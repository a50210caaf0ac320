//! The progress bar over reading captures, and a spinner over other work.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use dumper::capture::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Bytes below which reading takes no time worth a bar.
const WORTH_A_BAR: u64 = 256 << 20;

/// A bar on stderr with bytes, packets and rate; hidden where stderr is no terminal or the capture is small.
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

/// How long work may take before a spinner shows that it goes on.
const WORTH_A_SPINNER: Duration = Duration::from_secs(1);

/// Does the work, under a spinner on stderr if it takes its time; hidden where stderr is no terminal.
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
