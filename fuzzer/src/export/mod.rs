//! A test, or that of a finding, in the languages of other tools.

mod lumina_result;
mod perftest;
mod script;

use corpus::lumina::{Lab, Refusals};
use corpus::{Role, TestConfig};

pub use lumina_result::{LuminaResultError, lumina_result};
pub use perftest::commands as perftest;
pub use script::script;

/// A test to be exported.
#[derive(Debug)]
pub struct Subject {
    /// The test, its NICs called as the user called them.
    pub config: TestConfig,
    /// What it shows, if it is of a finding: the title and the signature.
    pub shows: Option<[String; 2]>,
}

impl Subject {
    /// The test in our own language.
    #[must_use]
    pub fn toml(&self) -> String {
        let gap = if self.shows.is_some() { "\n" } else { "" };
        format!("{}{gap}{}", self.heading(), self.config.to_toml())
    }

    /// The same on the hosts of another test: their NICs, addresses and devices, with the parameters of this one.
    #[must_use]
    pub fn on_hosts_of(mut self, other: &TestConfig) -> Self {
        for role in Role::ALL {
            let (host, other) = (self.config.host_mut(role), other.host(role));
            host.nic.clone_from(&other.nic);
            host.ip_list.clone_from(&other.ip_list);
            host.physical.clone_from(&other.physical);
        }
        self
    }

    /// The test for the published Lumina tool, in a laboratory, with placeholders for what neither says.
    ///
    /// # Errors
    /// Everything that the published tool cannot say.
    pub fn lumina(&self, lab: &Lab) -> Result<String, Refusals> {
        Ok(self.heading() + &self.config.to_lumina(lab)?)
    }

    /// What it shows, as comments.
    fn heading(&self) -> String {
        self.shows.iter().flatten().map(|line| format!("# {}\n", line.escape_debug())).collect()
    }
}
