//! The keys of a machine: a folder with its certificate, its private key and the certificate of the authority.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::{Certificate, Role, private};

/// File of the authority's certificate in the folder of a machine.
pub const CA: &str = "ca.pem";
/// File of the machine's own certificate.
pub const CERTIFICATE: &str = "certificate.pem";
/// File of its private key.
pub const KEY: &str = "key.pem";

/// The application protocol of gRPC (RFC 7301, RFC 9113).
const HTTP_2: &[u8] = b"h2";

/// The keys of a machine.
#[derive(Clone, Debug)]
pub struct Keys {
    folder: PathBuf,
    certificate: Certificate,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Keys that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file of them cannot be read.
    #[error("{}: cannot be read: {source}; `lumina-fuzz testbed keys` makes the keys of all machines", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Others may read the private key.
    #[error("{0}: others may read the private key; `chmod 600 {0}` mends it, and if somebody has read it, new keys do", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// A file does not hold what it should.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// They are those of a machine of another role.
    #[error("{}: are the keys of {}, and those of {} {wanted} are needed", folder.display(), has.map_or_else(|| "no machine of a testbed".to_owned(), |has| format!("{} {has}", article(has))), article(*wanted))]
    Role {
        /// Their folder.
        folder: PathBuf,
        /// Role of the certificate.
        has: Option<Role>,
        /// The role that is needed.
        wanted: Role,
    },
}

const fn article(role: Role) -> &'static str {
    match role {
        Role::Orchestrator | Role::Agent => "an",
        Role::Switch | Role::Dumper => "a",
    }
}

/// The algorithms of TLS.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Keys {
    /// Loads the keys of a machine with a role from their folder.
    ///
    /// # Errors
    /// See [`KeysError`].
    pub fn load(folder: &Path, role: Role) -> Result<Self, KeysError> {
        let file = |name: &str| folder.join(name);
        let read = |path: &Path| {
            private::read(path).map_err(|source| KeysError::Io { path: path.to_owned(), source })
        };
        let wrong = |path: &Path, why: String| KeysError::Wrong { path: path.to_owned(), why };
        let certificates = |path: &Path| {
            let (bytes, _) = read(path)?;
            let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
            match all {
                Ok(all) if !all.is_empty() => Ok(all),
                Ok(_) => Err(wrong(path, "has no certificate in PEM".to_owned())),
                Err(error) => Err(wrong(path, format!("is no certificate in PEM: {error}"))),
            }
        };
        let (ca, own, key) = (file(CA), file(CERTIFICATE), file(KEY));
        let mut roots = RootCertStore::empty();
        for root in certificates(&ca)? {
            roots.add(root).map_err(|error| wrong(&ca, format!("is no certificate: {error}")))?;
        }
        let chain = certificates(&own)?;
        let certificate = Certificate::read(&chain[0]).map_err(|why| wrong(&own, why))?;
        if certificate.role != Some(role) {
            return Err(KeysError::Role { folder: folder.to_owned(), has: certificate.role, wanted: role });
        }
        let (bytes, others) = read(&key)?;
        if others != 0 {
            return Err(KeysError::Readable { path: key });
        }
        let private = PrivateKeyDer::from_pem_slice(&bytes)
            .map_err(|error| wrong(&key, format!("is no private key in PEM: {error}")))?;
        let roots = Arc::new(roots);
        let mismatch = |error| wrong(&key, format!("does not belong to {CERTIFICATE}: {error}"));
        let mut client = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(mismatch)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), private.clone_key())
            .map_err(mismatch)?;
        client.alpn_protocols = vec![HTTP_2.to_vec()];
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
            .build()
            .map_err(|error| wrong(&ca, error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(mismatch)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, private)
            .map_err(mismatch)?;
        server.alpn_protocols = vec![HTTP_2.to_vec()];
        let (client, server) = (Arc::new(client), Arc::new(server));
        Ok(Self { folder: folder.to_owned(), certificate, client, server })
    }

    /// Their folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The machine's certificate.
    #[must_use]
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    pub(in crate::serve) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }

    pub(in crate::serve) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }
}
