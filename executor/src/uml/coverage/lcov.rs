//! Coverage in the form of lcov's tracefiles (`geninfo(1)`), which genhtml and editors read.

use std::fmt::Write as _;
use std::path::Path;

use super::{Code, File};

impl Code {
    /// A tracefile of the sources in a folder; `count` says how often a block ran.
    #[must_use]
    pub fn lcov(&self, folder: &Path, count: impl Fn(usize) -> u64) -> String {
        let mut text = String::from("TN:\n");
        for (name, File { functions, lines }) in self.files(count) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "SF:{}", folder.join(name).display());
            for (function, (line, _)) in &functions {
                let _ = writeln!(text, "FN:{line},{function}");
            }
            for (function, (_, ran)) in &functions {
                let _ = writeln!(text, "FNDA:{ran},{function}");
            }
            let hit = functions.values().filter(|(_, ran)| *ran > 0).count();
            let _ = writeln!(text, "FNF:{}\nFNH:{hit}", functions.len());
            for (line, ran) in &lines {
                let _ = writeln!(text, "DA:{line},{ran}");
            }
            let hit = lines.values().filter(|ran| **ran > 0).count();
            let _ = writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
        }
        text
    }
}
