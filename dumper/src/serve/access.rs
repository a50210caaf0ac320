//! Access to the services of a program: by its keys, or by everybody who reaches its address.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Address;
use super::tls::{Keys, KeysError, Role};

/// Flags that say who may command a program of a testbed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Access {
    /// Folder with the keys of this machine, as `lumina-fuzz testbed keys` makes them: only an orchestrator that has keys of the
    /// same testbed is served, over TLS
    #[arg(long, value_name = "DIR", conflicts_with = "insecure")]
    pub keys: Option<PathBuf>,

    /// Serve everybody who reaches the address, in plaintext, although it is not this machine's alone
    #[arg(long)]
    pub insecure: bool,
}

/// A program that does not serve.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Its keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// It would serve everybody who reaches it.
    #[error(
        "{0} can be reached from other machines, and without keys everybody who reaches it would be served: --keys DIR serves \
         whom `lumina-fuzz testbed keys` has made keys for, --insecure everybody"
    )]
    Open(SocketAddr),
}

impl Access {
    /// The keys of a program with a role that listens at an address; none where it needs none. `warn` gets a line if they end soon.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub fn open(
        &self,
        address: &Address,
        role: Role,
        warn: impl FnOnce(&str),
    ) -> Result<Option<Keys>, AccessError> {
        if let Some(folder) = &self.keys {
            let keys = Keys::load(folder, role)?;
            if let Some(warning) = keys.certificate().warning() {
                warn(&format!("{}: {warning}; `lumina-fuzz testbed keys` makes another", folder.display()));
            }
            return Ok(Some(keys));
        }
        match address {
            Address::Tcp(open) if !self.insecure && !address.is_local() => Err(AccessError::Open(*open)),
            Address::Tcp(_) | Address::Unix(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_keys_only_this_machine_is_served() {
        for (address, is_open) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("unix:/run/agent", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            let address = address.parse().unwrap();
            let open = |access: Access| access.open(&address, Role::Agent, |_| ());
            assert_eq!(open(Access::default()).is_ok(), is_open, "{address}");
            assert!(open(Access { insecure: true, keys: None }).unwrap().is_none());
        }
    }
}
