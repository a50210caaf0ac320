//! dumper
