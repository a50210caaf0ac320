//! Makes an authority and the keys of machines.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use super::keys::{CA, CERTIFICATE, KEY};
use super::{Role, private};

/// File of the authority's private key, in its own folder alone.
const CA_KEY: &str = "ca-key.pem";

/// Validity of the authority's certificate.
const CA_DAYS: i64 = 3650;

/// Clocks of machines that are set a little late accept what was just made.
const EARLIER: Duration = Duration::hours(1);

/// A machine that gets keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Name of its folder.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Addresses at which it is reached.
    pub addresses: Vec<IpAddr>,
}

/// An authority, which certifies the machines of a testbed.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// What was done for a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// It had no keys.
    New,
    /// It had others, in whose place these are.
    Renewed,
}

/// Keys that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A file or folder cannot be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// It.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A certificate cannot be made, or the authority's cannot be read.
    #[error("{}: {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rcgen::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> MakeError {
    move |source| MakeError::Io { path: path.to_owned(), source }
}

/// A folder that only its owner may enter.
fn private_folder(path: &Path) -> Result<(), MakeError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))
}

fn valid_for(params: &mut CertificateParams, days: i64) {
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = (now - EARLIER, now + Duration::days(days));
}

impl Authority {
    /// The authority in a folder; a new one where there is none yet.
    ///
    /// # Errors
    /// See [`MakeError`].
    pub fn open(folder: &Path) -> Result<Self, MakeError> {
        let (certificate_file, key_file) = (folder.join(CA), folder.join(CA_KEY));
        let failed = |source| MakeError::Certificate { path: certificate_file.clone(), source };
        let (certificate, key) = if key_file.exists() || certificate_file.exists() {
            let read = |path: &Path| {
                let text = private::read(path)
                    .and_then(|(bytes, _)| String::from_utf8(bytes).map_err(io::Error::other));
                text.map_err(at(path))
            };
            let key = KeyPair::from_pem(&read(&key_file)?);
            let key = key.map_err(|source| MakeError::Certificate { path: key_file.clone(), source })?;
            (read(&certificate_file)?, key)
        } else {
            private_folder(folder)?;
            let key = KeyPair::generate().map_err(failed)?;
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "lumina-fuzz testbed");
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            valid_for(&mut params, CA_DAYS);
            let certificate = params.self_signed(&key).map_err(failed)?.pem();
            private::write_new(&key_file, &key.serialize_pem()).map_err(at(&key_file))?;
            private::write_new(&certificate_file, &certificate).map_err(at(&certificate_file))?;
            (certificate, key)
        };
        let issuer = Issuer::from_ca_cert_pem(&certificate, key).map_err(failed)?;
        Ok(Self { certificate, issuer })
    }

    /// Makes the keys of a machine, which are valid for so many days, in a folder.
    ///
    /// # Errors
    /// See [`MakeError`].
    pub fn certify(&self, machine: &Machine, days: i64, folder: &Path) -> Result<Made, MakeError> {
        let file = |name: &str| folder.join(name);
        let failed = |source| MakeError::Certificate { path: file(CERTIFICATE), source };
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("{} {}", machine.role, machine.name));
        let uri = machine.role.uri().try_into().map_err(failed)?;
        params.subject_alt_names = vec![SanType::URI(uri)];
        params.subject_alt_names.extend(machine.addresses.iter().copied().map(SanType::IpAddress));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match machine.role {
            Role::Orchestrator => ExtendedKeyUsagePurpose::ClientAuth,
            Role::Agent | Role::Switch | Role::Dumper => ExtendedKeyUsagePurpose::ServerAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        valid_for(&mut params, days);
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?.pem();
        private_folder(folder)?;
        let made = if file(CERTIFICATE).exists() { Made::Renewed } else { Made::New };
        for (name, text) in
            [(CA, &self.certificate), (KEY, &key.serialize_pem()), (CERTIFICATE, &certificate)]
        {
            private::replace(&file(name), text).map_err(at(&file(name)))?;
        }
        Ok(made)
    }
}
