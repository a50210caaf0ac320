//! Checks of a testbed, step by step.

use std::marker::PhantomData;

use serde::Serialize;

use super::tool::Tool;
use super::{AGENT, GuestError, Manifest, agent, beside_this};

/// One step with its result.
#[derive(Debug, Serialize)]
pub struct Step {
    /// Subject of the step.
    pub name: String,
    /// True if it is as required; `None` if it was not checked because an earlier step failed.
    pub ok: Option<bool>,
    /// Observation of the step.
    pub seen: String,
    /// Remedy.
    pub mend: Option<String>,
}

/// The first line of a program's version.
pub(crate) fn version(tool: Tool) -> Result<(String, ()), GuestError> {
    let said = tool.run("asking for its version", tool.command().arg("--version"))?;
    Ok((said.lines().next().unwrap_or_default().to_owned(), ()))
}

/// An image that is whole, in the words of a step.
pub(crate) fn whole(manifest: &Manifest, testbed: &str) -> String {
    let seen = format!("{}, whole", manifest.release);
    // Not wrong: --agent can have named another.
    match beside_this(AGENT).ok().filter(|agent| !agent::is_in(&manifest.inputs, agent)) {
        Some(agent) => {
            let agent = agent.display();
            format!("{seen}; its agent is not {agent}, which testbed {testbed} build would pack")
        }
        None => seen,
    }
}

/// The error of a step, which knows a remedy.
pub(crate) trait Mends: std::fmt::Display {
    /// The remedy, where it is known.
    fn mend(&self) -> Option<String>;
}

impl Mends for GuestError {
    fn mend(&self) -> Option<String> {
        self.mend()
    }
}

/// Steps that are told as they are done.
pub(crate) struct Checkup<'a, E> {
    tell: &'a mut dyn FnMut(&Step),
    errors: PhantomData<fn(E)>,
    /// True if all steps so far were well.
    pub(crate) well: bool,
}

impl<'a, E: Mends> Checkup<'a, E> {
    /// Nothing is checked yet.
    pub(crate) fn new(tell: &'a mut dyn FnMut(&Step)) -> Self {
        Self { tell, errors: PhantomData, well: true }
    }

    /// A step.
    pub(crate) fn step<T>(&mut self, name: &str, look: impl FnOnce() -> Result<(String, T), E>) -> Option<T> {
        self.needing(name, Some(()), |()| look())
    }

    /// A step that is left out if its needs are not met.
    pub(crate) fn needing<N, T>(
        &mut self,
        name: &str,
        needed: Option<N>,
        look: impl FnOnce(N) -> Result<(String, T), E>,
    ) -> Option<T> {
        let (ok, seen, mend, result) = match needed.map(look) {
            None => (None, "not tried, as what it needs failed".to_owned(), None, None),
            Some(Ok((seen, result))) => (Some(true), seen, None, Some(result)),
            Some(Err(error)) => (Some(false), error.to_string(), error.mend(), None),
        };
        self.well &= ok == Some(true);
        (self.tell)(&Step { name: name.to_owned(), ok, seen, mend });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_step_that_failed_is_not_tried() {
        let mut steps = Vec::new();
        let mut tell = |step: &Step| steps.push((step.name.clone(), step.ok, step.mend.is_some()));
        let mut checkup = Checkup::new(&mut tell);
        let first = checkup.step("first", || Ok((String::new(), 1)));
        let second: Option<u8> = checkup.needing("second", first, |_| Err(GuestError::NoArchive));
        assert!(!checkup.well);
        checkup.needing("third", second, |_| Ok((String::new(), ())));
        let expected = [("first", Some(true), false), ("second", Some(false), true), ("third", None, false)];
        assert_eq!(steps, expected.map(|(name, ok, mend)| (name.to_owned(), ok, mend)));
    }
}
