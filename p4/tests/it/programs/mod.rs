//! The P4 programs in `p4/programs`, which an interpreter runs: they are held to the pipeline, the vectors and the P4Info.

mod externs;
mod load;
mod machine;
mod v1model;
mod value;

mod tables;
mod vectors;
