use std::path::Path;

use dumper::Observation;
use dumper::capture::{self, ReadOptions};

/// Analyses whatever a capture holds.
///
/// # Panics
/// When an analyzer does.
pub(crate) fn analyze(data: &[u8]) {
    let captures = [(Path::new("input"), data)];
    if let Ok(captured) = capture::read_slices(&captures, ReadOptions::default(), &mut |_| ()) {
        let observation = Observation::of_trace(captured.traced.trace, captured.connections);
        let _ = scoring::analyze(&observation, scoring::Options::default());
    }
}
