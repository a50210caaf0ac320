//! Paths of findings as commands take them: folders, files in them, and bundles.

use std::path::Path;
use std::sync::Once;

use super::output::{bad_message, complain};
use super::{Exit, Format};
use crate::bundle::{self, BundleError, Opened};

/// Opens a path that may be a bundle. At Ctrl-C its temporary folder is removed too.
pub(super) fn open(path: &Path) -> Result<Opened, BundleError> {
    static ONCE: Once = Once::new();
    if bundle::is_bundle(path) {
        ONCE.call_once(|| {
            // Without a handler the folder is left to the system; no reason not to read the bundle.
            let _ = ctrlc::set_handler(|| {
                bundle::remove_unpacked();
                std::process::exit(i32::from(Exit::Interrupted as u8));
            });
        });
    }
    bundle::open(path)
}

/// The same for a command that ends if it cannot be opened: the error is printed, and with JSON is the document `error`.
pub(super) fn open_or_end(path: &Path, error: &str, format: Format) -> Result<Opened, Exit> {
    open(path).map_err(|wrong| not_opened(&wrong, error, format))
}

/// Reports a bundle that cannot be read or written: bad input, or a failure of this machine.
pub(super) fn not_opened(wrong: &BundleError, error: &str, format: Format) -> Exit {
    match wrong {
        BundleError::Io { .. } => {
            complain(&format!("error: {wrong}"));
            Exit::Failed
        }
        wrong => bad_message(error, wrong, format),
    }
}
