//! Requests, counted from their first byte to the last byte of the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::registry::State;

/// A request, as long as this lives.
pub(super) struct Request {
    state: Arc<State>,
    is_in_service: AtomicBool,
}

impl Request {
    pub(super) fn begin(state: Arc<State>) -> Arc<Self> {
        state.begin_request();
        Arc::new(Self { state, is_in_service: AtomicBool::default() })
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// It has sent a message.
    pub(super) fn begin_service(&self) {
        if !self.is_in_service.swap(true, Ordering::Relaxed) {
            self.state.begin_service();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.state.end_request(*self.is_in_service.get_mut());
    }
}
