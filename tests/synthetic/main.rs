//! The analyzers against synthetic traces: see `support/synthetic` for what writes them.

mod common;
mod conforming;
