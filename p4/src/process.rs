//! A switch as a process has it: threads that move frames, and the services.

use std::future::Future;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use dumper::serve::tls::Role;
use dumper::serve::{self, Access, AccessError, Address, Bound, ListenError, serve};

use crate::server::{Control, services};
use crate::switch::{Direction, Dumpers, Limits, OpenError, PortSpec, Shared, Switch, Totals};

/// Options of a running switch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The requester's port, and the responder's.
    pub ports: [PortSpec; 2],
    /// Ports of the dumpers, as many as there are weights.
    pub dumper_ports: Vec<PortSpec>,
    /// The dumpers.
    pub dumpers: Dumpers,
    /// Address of the services. With port 0 the system chooses one.
    pub listen: Address,
    /// Clients of the services.
    pub access: Access,
    /// Limits of the capture of a test.
    pub limits: Limits,
}

/// A switch that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A port cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nobody may be served.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The services cannot be reached at their address.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The services failed.
    #[error("the services failed: {0}")]
    Serve(#[from] tonic::transport::Error),
    /// Frames can no longer be moved.
    #[error("frames can no longer be moved: {0}")]
    Forward(#[from] io::Error),
}

/// Runs a switch until `stop` is done. `tell` receives what is to be known of its ports, `listening` receives the address of the services, once they are there.
///
/// # Errors
/// See [`ProcessError`].
pub async fn run(
    options: Options,
    tell: &mut dyn FnMut(String),
    listening: impl FnOnce(&Address),
    stop: impl Future<Output = ()>,
) -> Result<Totals, ProcessError> {
    let keys =
        options.access.open(&options.listen, Role::Switch, |warning| tell(format!("warning: {warning}")))?;
    let [first, second] = Direction::open(&options.ports, &options.dumper_ports, tell)?;
    let bound = Bound::listen(&options.listen).await?;
    let shared = Shared::new(Switch::with_dumpers(options.limits, options.dumpers));
    let routes = services(Control::new(shared.clone()));
    // Closing the near end stops the threads, in every case.
    let (near_end, far_end) = StdUnixStream::pair()?;
    let far_end = Arc::new(far_end);
    let start = |mut direction: Direction| {
        let (shared, far_end) = (shared.clone(), Arc::clone(&far_end));
        tokio::task::spawn_blocking(move || direction.forward(&shared, &far_end))
    };
    let (mut first, mut second) = (start(first), start(second));
    listening(&bound.address);
    let served = serve("lumina-switch", bound.listener, keys.as_ref(), routes, serve::Limits::default());
    let (mut of_first, mut of_second) = (None, None);
    let ended_early = tokio::select! {
        () = stop => None,
        result = served => Some(result.map_err(ProcessError::from)),
        // One without the other is no switch.
        ended = &mut first => { of_first = Some(ended); None }
        ended = &mut second => { of_second = Some(ended); None }
    };
    drop(near_end);
    let of_first = finished(match of_first {
        Some(ended) => ended,
        None => first.await,
    });
    let of_second = finished(match of_second {
        Some(ended) => ended,
        None => second.await,
    });
    ended_early.unwrap_or(Ok(()))?;
    Ok(of_first?.and(&of_second?))
}

/// Result of a thread.
fn finished(joined: Result<io::Result<Totals>, tokio::task::JoinError>) -> Result<Totals, ProcessError> {
    Ok(joined.map_err(io::Error::other)??)
}
