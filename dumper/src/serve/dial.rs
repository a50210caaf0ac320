//! Connections of an orchestrator to the services of a testbed.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::Address;
use super::tls::{Certificate, Keys, Role};

/// Longest wait for a connection, its handshake included.
const CONNECT: Duration = Duration::from_secs(10);

/// Longest wait for a refusal after the handshake: it takes one round trip.
const REFUSAL: Duration = Duration::from_secs(2);

/// Interval of keepalives on a silent connection.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Longest wait for their answer: an emulated guest on a busy machine stands still for seconds at times.
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(30);

/// A connection to a service.
#[derive(Clone, Debug)]
pub struct Dialled {
    /// What calls go over. It connects again by itself.
    pub channel: Channel,
    /// The certificate of the service, where there is TLS.
    pub certificate: Option<Certificate>,
}

/// A service that cannot be reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DialError {
    /// Nothing answers at the address.
    #[error("{0}")]
    Unreachable(String),
    /// It is there, and is not what is looked for.
    #[error("{0}")]
    Refused(String),
}

/// Connects to a service with a role: over TLS with keys, in plaintext without.
///
/// # Errors
/// See [`DialError`].
pub async fn dial(address: &Address, role: Role, keys: Option<&Keys>) -> Result<Dialled, DialError> {
    let unreachable = |error: tonic::transport::Error| DialError::Unreachable(cause(&error));
    let endpoint = Endpoint::from_shared(address.uri())
        .map_err(unreachable)?
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER);
    let (Address::Tcp(address), Some(keys)) = (address, keys) else {
        let connected = timeout(CONNECT, endpoint.connect()).await.map_err(|_| silent())?;
        return Ok(Dialled { channel: connected.map_err(unreachable)?, certificate: None });
    };
    // The first handshake is made here, so that its failure is told in words; the channel makes its own.
    let mut stream = timeout(CONNECT, secured(*address, role, keys)).await.map_err(|_| silent())??;
    let certificate = certificate_of(&stream).ok();
    // In TLS 1.3 a service looks at the client's certificate after the client's part of the handshake (RFC 8446, 4.4): a refusal comes
    // in the place of the first frame of HTTP/2. One that waits for the client's first frame has not refused.
    if let Ok(Err(error)) = timeout(REFUSAL, stream.read_u8()).await {
        return Err(not_secured(&error, *address, keys));
    }
    // What the service thinks of the end is of no matter.
    let _ = stream.shutdown().await;
    drop(stream);
    let (address, keys) = (*address, keys.clone());
    let connector = service_fn(move |_| {
        let keys = keys.clone();
        async move { secured(address, role, &keys).await.map(TokioIo::new).map_err(io::Error::other) }
    });
    let channel = timeout(CONNECT, endpoint.connect_with_connector(connector)).await.map_err(|_| silent())?;
    Ok(Dialled { channel: channel.map_err(unreachable)?, certificate })
}

/// The innermost cause of an error, which says what the others only name.
fn cause(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

fn silent() -> DialError {
    DialError::Unreachable(format!("no answer within {} s", CONNECT.as_secs()))
}

/// A connection in TLS to a service with a role.
async fn secured(address: SocketAddr, role: Role, keys: &Keys) -> Result<TlsStream<TcpStream>, DialError> {
    let unreachable = |error: io::Error| DialError::Unreachable(error.to_string());
    let stream = TcpStream::connect(address).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    let name = ServerName::IpAddress(address.ip().into());
    let connected = TlsConnector::from(keys.client()).connect(name, stream).await;
    let stream = connected.map_err(|error| not_secured(&error, address, keys))?;
    let has = certificate_of(&stream).map_err(DialError::Refused)?.role;
    if has != Some(role) {
        let has = has.map_or("no machine of a testbed", Role::name);
        return Err(DialError::Refused(format!(
            "its certificate is that of a machine with the role {has}, and {role} is needed; the program was started with the keys of \
             another machine, or the address is that of another program"
        )));
    }
    Ok(stream)
}

/// The certificate that a service has shown.
fn certificate_of(stream: &TlsStream<TcpStream>) -> Result<Certificate, String> {
    let (_, connection) = stream.get_ref();
    let shown = connection.peer_certificates().and_then(<[_]>::first);
    Certificate::read(shown.ok_or("it shows no certificate")?)
}

/// A handshake that failed, in words.
fn not_secured(error: &io::Error, address: SocketAddr, keys: &Keys) -> DialError {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        let why = "the connection ended in the handshake; does it serve with --keys?";
        return DialError::Unreachable(format!("{why} ({error})"));
    };
    let folder = keys.folder().display();
    let renew = "`lumina-fuzz testbed keys` makes new keys";
    DialError::Refused(match tls {
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            format!(
                "its certificate has expired, by the clock of this machine; {renew}, if the clock is right"
            )
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet, by the clock of this machine: is the clock wrong?".to_owned(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            format!(
                "its certificate is of another authority than {folder}/ca.pem: its keys are of another testbed, or older"
            )
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!(
            "its certificate is not for the address {}; {renew}, for the addresses in the testbed's file",
            address.ip()
        ),
        Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "its certificate is that of an orchestrator, not of a service".to_owned(),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS: start it with --keys".to_owned()
        }
        Error::AlertReceived(alert) => refused_by(*alert, &folder.to_string()),
        other => format!("TLS: {other}"),
    })
}

/// The reason for which a service has ended the handshake.
fn refused_by(alert: AlertDescription, folder: &str) -> String {
    format!(
        "it refuses the keys in {folder} ({alert:?}): they have to be an orchestrator's, of the same testbed, and not expired"
    )
}
