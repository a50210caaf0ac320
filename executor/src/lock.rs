//! Locks whose data is whole after every statement.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a lock guards, also if a thread that held it panicked: what it was busy with is given up elsewhere.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
