//! The service of a dumper.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, async_trait};

use super::Dumper;
use super::proto::dumper_server::{Dumper as Service, DumperServer};
use super::proto::{
    BeginRequest, Begun, CountRequest, Counted, DescribeRequest, Description, EndRequest, Packet, Packets,
    Part, part,
};

/// Packets of a message: half a megabyte.
const MESSAGE_PACKETS: usize = 4_000;

/// Messages that wait for a client.
const AHEAD: usize = 4;

/// The service of a dumper.
#[must_use]
pub fn routes(dumper: Arc<Dumper>) -> Routes {
    Routes::new(DumperServer::new(Serving(dumper)))
}

struct Serving(Arc<Dumper>);

/// Another client has begun a dump.
fn is_another(dump: u64) -> Status {
    Status::failed_precondition(format!(
        "dump {dump} is not the one that began last; another orchestrator uses this dumper, or it was started again"
    ))
}

impl Serving {
    fn counted(&self, dump: u64) -> Result<Counted, Status> {
        let (kept, losses) = self.0.counted(dump).ok_or_else(|| is_another(dump))?;
        Ok(Counted { kept, losses: Some(losses.message()) })
    }
}

#[async_trait]
impl Service for Serving {
    type EndStream = ReceiverStream<Result<Part, Status>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<Description>, Status> {
        let options = self.0.options();
        Ok(Response::new(Description {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interfaces: options.interfaces.clone(),
            threads: options.threads.into(),
            packets: options.packets.into(),
        }))
    }

    async fn begin(&self, _: Request<BeginRequest>) -> Result<Response<Begun>, Status> {
        Ok(Response::new(Begun { dump: self.0.begin() }))
    }

    async fn count(&self, request: Request<CountRequest>) -> Result<Response<Counted>, Status> {
        self.counted(request.get_ref().dump).map(Response::new)
    }

    async fn end(&self, request: Request<EndRequest>) -> Result<Response<Self::EndStream>, Status> {
        let number = request.get_ref().dump;
        let summary = self.counted(number)?;
        let dumper = Arc::clone(&self.0);
        let (out, parts) = mpsc::channel(AHEAD);
        // Sorting millions of packets takes a while.
        tokio::task::spawn_blocking(move || {
            let Some(mut ended) = dumper.end(number) else { return };
            // A client that has gone needs no more.
            let send = |part| out.blocking_send(Ok(Part { part: Some(part) })).is_ok();
            loop {
                let mut packets = Vec::new();
                let is_more = ended.take(MESSAGE_PACKETS, |packet| {
                    packets.push(Packet { frame: packet.frame.to_vec(), length: packet.length });
                });
                if !packets.is_empty() && !send(part::Part::Packets(Packets { packets })) {
                    return;
                }
                if !is_more {
                    break;
                }
            }
            if ended.is_there() {
                send(part::Part::Summary(summary));
            } else {
                let _ = out.blocking_send(Err(is_another(number)));
            }
        });
        Ok(Response::new(ReceiverStream::new(parts)))
    }
}
