//! Looks at every machine of a testbed, and at the connections to them.

use std::path::Path;

use corpus::Role;
use dumper::serve::tls::{Certificate, Keys, Role as Part};
use dumper::serve::{Address, dial};
use tokio::runtime::Runtime;

use super::file::TestbedFile;
use super::host::HostFacts;
use super::{PhysicalError, connect};
use crate::guests::Step;
use crate::guests::checkup::Checkup;

/// Goes through all that a testbed's file names and tells each step as it is done; whether all are well. The switch is programmed
/// with an empty test, so that a campaign that has it is disturbed.
pub fn check(path: &Path, tell: &mut dyn FnMut(&Step)) -> bool {
    let mut checkup = Checkup::new(tell);
    let file = checkup
        .step("file", || Ok((path.display().to_string(), (TestbedFile::load(path)?, connect::runtime()?))));
    let keys = checkup.needing("keys", file.as_ref(), |(file, _)| {
        let keys = connect::keys_of(file)?;
        let seen = match &keys {
            None => "none: all machines are this one".to_owned(),
            Some(keys) => {
                format!("{}: an orchestrator's{}", keys.folder().display(), ends(keys.certificate()))
            }
        };
        Ok((seen, keys))
    });
    let Some(((file, thread), keys)) = file.as_ref().zip(keys.as_ref()) else {
        return checkup.well;
    };
    let lab = Checked { file, keys: keys.as_ref(), thread };
    for role in Role::ALL {
        checkup.step(&format!("{}'s agent", role.name()), || lab.host(role));
    }
    for (number, dumper) in (1..).zip(&file.dumpers) {
        checkup.step(&format!("dumper {number}"), || lab.service(&dumper.address, Part::Dumper, lab.keys));
    }
    let reached = checkup.step("switch", || {
        lab.service(&file.switch.control, Part::Switch, connect::of_switch(file, lab.keys))
    });
    checkup.needing("switch and dumpers", reached, |()| lab.between());
    checkup.well
}

/// A testbed that is looked at.
struct Checked<'a> {
    file: &'a TestbedFile,
    keys: Option<&'a Keys>,
    thread: &'a Runtime,
}

type Seen = Result<(String, ()), PhysicalError>;

impl Checked<'_> {
    fn host(&self, role: Role) -> Seen {
        let entry = self.file.host(role);
        let certificate = self.certificate(&entry.agent, Part::Agent, self.keys);
        let (_, facts) = self.thread.block_on(connect::agent(self.file, self.keys, role))?;
        let HostFacts { device, port, netdev, kernel, mtu, addresses, .. } = &facts;
        if !facts.active {
            return Err(PhysicalError::down(role, entry.agent.to_string(), &facts));
        }
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let parameters: Vec<&str> = facts.parameters.iter().map(String::as_str).collect();
        let parameters = if parameters.is_empty() { "none".to_owned() } else { parameters.join(", ") };
        let seen = format!(
            "real-{}: {device} port {port} ({netdev}), {}, Linux {kernel}, path MTU {mtu}, addresses {}; RoCE parameters that can \
             be set: {parameters}{}",
            entry.nic,
            facts.stack(),
            addresses.join(", "),
            certificate.as_ref().map(ends).unwrap_or_default()
        );
        let seen = facts.notes.iter().fold(seen, |seen, note| format!("{seen}; {note}"));
        Ok((seen, ()))
    }

    /// The certificate that a service shows.
    fn certificate(&self, address: &Address, part: Part, keys: Option<&Keys>) -> Option<Certificate> {
        self.thread.block_on(dial(address, part, keys)).ok()?.certificate
    }

    /// A service that answers.
    fn service(&self, address: &Address, part: Part, keys: Option<&Keys>) -> Seen {
        let reached = self.thread.block_on(dial(address, part, keys));
        let dialled = reached.map_err(|error| PhysicalError::Service {
            part,
            address: address.clone(),
            why: error.to_string(),
        })?;
        let how = match &dialled.certificate {
            Some(certificate) => format!("over TLS{}", ends(certificate)),
            None if self.file.is_insecure() && part == Part::Switch => "in plaintext (insecure)".to_owned(),
            None => "on this machine".to_owned(),
        };
        Ok((format!("answers at {address} {how}"), ()))
    }

    /// The switch takes a test, and its dumpers begin.
    fn between(&self) -> Seen {
        self.thread.block_on(async {
            let mut switch = connect::switch(self.file, self.keys).await?;
            switch.try_out().await.map_err(PhysicalError::Between)
        })?;
        Ok(("a test without packets is taken, and collected".to_owned(), ()))
    }
}

/// A remark on the end of a certificate, where that is near.
fn ends(certificate: &Certificate) -> String {
    certificate
        .warning()
        .map(|warning| format!("; {warning}: `lumina-fuzz testbed keys` renews it"))
        .unwrap_or_default()
}
