//! Numbers that whoever starts the tests gives.

/// A number from the environment.
pub(crate) fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
