use crate::choices::Choices;

/// Runs the test that the input describes, on the NICs that it describes, with the invariants of the simulation checked
/// after every step.
///
/// # Panics
/// When one of them does not hold.
pub(crate) fn simulate(data: &[u8]) {
    let mut choices = Choices::of(data);
    let profiles = [choices.profile(), choices.profile()];
    let config = choices.test(EVENTS);
    if config.is_valid() {
        // A test that makes too many packets ends with an error.
        let _ = executor::sim::run_checked(&config, profiles);
    }
}

/// Most events of a test.
const EVENTS: usize = 12;
