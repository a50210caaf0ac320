//! Known answers: traces written packet by packet, and what must be said of them to the nanosecond.

mod discovery;
mod hand;
mod latency;
mod violations;
