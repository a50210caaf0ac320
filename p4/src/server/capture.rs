//! The capture, handed out in messages of bounded size.

use std::sync::Arc;

use corpus::Role;
use tokio_stream::Iter;
use tonic::{Code, Request, Response, Status, async_trait};

use super::Control;
use crate::entries::Refusal;
use crate::proto::capture::capture_server::Capture;
use crate::proto::capture::{
    self, CollectRequest, CollectResponse, Exit, Packet, Packets, Summary, collect_response::Part,
};
use crate::switch::{Captured, Ended, FIRST_DUMPER_PORT, port_number};

/// Bytes of frames after which a message ends.
const CHUNK_BYTES: usize = 256 << 10;
/// Packets after which a message ends, however small they are.
const CHUNK_PACKETS: usize = 2_000;

#[async_trait]
impl Capture for Control {
    type CollectStream = Iter<Messages>;

    async fn collect(
        &self,
        request: Request<CollectRequest>,
    ) -> Result<Response<Self::CollectStream>, Status> {
        let request = request.get_ref();
        self.check_primary(request.device_id, request.election_id.as_ref())?;
        let none = || Refusal::new(Code::FailedPrecondition, "no capture has begun; commit a pipeline first");
        let ended = self.switch.lock().end().ok_or_else(none)?;
        let messages: Messages = Box::new(Chunks { ended, at: 0, done: false });
        Ok(Response::new(tokio_stream::iter(messages)))
    }
}

/// Messages, made as they are sent.
type Messages = Box<dyn Iterator<Item = Result<CollectResponse, Status>> + Send>;

/// The messages of a capture.
struct Chunks {
    ended: Arc<Ended>,
    at: usize,
    done: bool,
}

impl Iterator for Chunks {
    type Item = Result<CollectResponse, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let rest = &self.ended.capture.packets()[self.at..];
        let part = if rest.is_empty() {
            self.done = true;
            Part::Summary(summary(&self.ended))
        } else {
            let mut bytes = 0;
            let fits = |captured: &&Captured| {
                let fits = bytes < CHUNK_BYTES;
                bytes += captured.frame.len();
                fits
            };
            let packets: Vec<_> = rest.iter().take(CHUNK_PACKETS).take_while(fits).map(packet).collect();
            self.at += packets.len();
            Part::Packets(Packets { packets })
        };
        Some(Ok(CollectResponse { part: Some(part) }))
    }
}

/// Message of a packet.
pub(crate) fn packet(captured: &Captured) -> Packet {
    let exit = captured.left.as_ref().map(|left| Exit {
        time_ns: left.time.0,
        copies: left.copies.into(),
        plain: left.plain.into(),
        frame: left.frame.clone(),
    });
    Packet {
        sequence: captured.mirror.sequence,
        time_ns: captured.mirror.time.0,
        event: captured.mirror.event.code().into(),
        frame: captured.frame.clone(),
        exit,
    }
}

/// Message of the end of a capture.
pub(crate) fn summary(ended: &Ended) -> Summary {
    let of_hosts = Role::ALL.map(port_number).into_iter().zip(ended.losses);
    let of_dumpers = (FIRST_DUMPER_PORT..).zip(ended.unmirrored.iter().copied());
    let losses = of_hosts.chain(of_dumpers).filter(|(_, losses)| losses.total() > 0);
    let losses = losses.map(|(port, losses)| capture::Losses {
        port,
        overflow: losses.overflow,
        absent: losses.absent,
        refused: losses.refused,
        missed: losses.missed,
    });
    let unreadable = Role::ALL.into_iter().zip(&ended.unreadable).filter(|(_, of_port)| of_port.packets > 0);
    let unreadable = unreadable.map(|(role, of_port)| capture::Unreadable {
        port: port_number(role),
        packets: of_port.packets,
        first: of_port.first.clone(),
    });
    Summary {
        captured: ended.capture.packets().len() as u64,
        not_captured: ended.capture.missed(),
        held: ended.held,
        unreadable: unreadable.collect(),
        losses: losses.collect(),
    }
}
