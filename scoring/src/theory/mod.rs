//! Theory: what is to be expected, without any run.

pub mod corruption;
