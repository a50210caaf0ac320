//! Reports: what was found, for people.
