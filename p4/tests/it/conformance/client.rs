//! A controller that knows the protocol and nothing else: it learns tables and counters from the P4Info.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder, Streaming};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use prost::bytes::{Buf, BufMut};

use super::wire::{Fields, Message};

/// Longer than a notice takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Messages as their bytes.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length).to_vec()))
    }
}

/// Kinds of an update (`Update.Type`).
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

/// Atomicity of a Write (`WriteRequest.Atomicity`).
#[derive(Clone, Copy)]
pub(super) enum Atomicity {
    Continue = 0,
    Rollback = 1,
}

/// Fields of `Entity`.
pub(super) const TABLE_ENTRY: u32 = 2;
pub(super) const COUNTER_ENTRY: u32 = 7;
pub(super) const REGISTER_ENTRY: u32 = 11;

/// `SetForwardingPipelineConfigRequest.Action.VERIFY_AND_COMMIT`.
const VERIFY_AND_COMMIT: u64 = 3;

/// A connection to a server.
#[derive(Clone)]
pub(super) struct Client {
    grpc: Grpc<Channel>,
    pub(super) device: u64,
}

/// A controller's stream.
pub(super) struct Stream {
    sender: mpsc::Sender<Vec<u8>>,
    answers: Result<Streaming<Vec<u8>>, Status>,
    device: u64,
}

fn path(method: &str) -> PathAndQuery {
    format!("/p4.v1.P4Runtime/{method}").parse().unwrap()
}

fn arbitration(device: u64, id: u64) -> Vec<u8> {
    let update = Message::new().number(1, device).message(3, election(id));
    Message::new().message(1, update).into_bytes()
}

fn election(low: u64) -> Message {
    Message::new().number(2, low)
}

impl Client {
    pub(super) fn new(channel: Channel, device: u64) -> Self {
        Self { grpc: Grpc::new(channel), device }
    }

    async fn unary(&mut self, method: &str, request: Message) -> Result<Fields, Status> {
        self.grpc.ready().await.unwrap();
        let answer = self.grpc.unary(Request::new(request.into_bytes()), path(method), Raw).await?;
        Ok(Fields::of(&answer.into_inner()))
    }

    /// Opens a stream, and asks to be the primary.
    pub(super) async fn arbitrate(&mut self, id: u64) -> Stream {
        self.grpc.ready().await.unwrap();
        let (sender, requests) = mpsc::channel(4);
        // Servers may wait for it before they answer at all.
        sender.try_send(arbitration(self.device, id)).unwrap();
        let requests = Request::new(ReceiverStream::new(requests));
        let answers = self.grpc.streaming(requests, path("StreamChannel"), Raw).await;
        Stream { sender, answers: answers.map(Response::into_inner), device: self.device }
    }

    /// Gives the switch a pipeline: its P4Info, and what the compiler made.
    pub(super) async fn set_pipeline(&mut self, from: u64, p4info: &[u8], config: &[u8]) -> Code {
        let config = Message::new().bytes(1, p4info).bytes(2, config);
        let request = Message::new().number(1, self.device).message(3, election(from));
        let request = request.number(4, VERIFY_AND_COMMIT).message(5, config);
        code(&self.unary("SetForwardingPipelineConfig", request).await)
    }

    /// The P4Info of the pipeline that is there.
    pub(super) async fn p4info(&mut self) -> Vec<u8> {
        let request = Message::new().number(1, self.device);
        let answer = self.unary("GetForwardingPipelineConfig", request).await.unwrap();
        answer.message(1).bytes(1).to_vec()
    }

    pub(super) async fn version(&mut self) -> String {
        self.unary("Capabilities", Message::new()).await.unwrap().text(1)
    }

    /// Writes updates; the codes of each where not all are done, or that of the whole.
    pub(super) async fn write(
        &mut self,
        from: u64,
        updates: Vec<Message>,
        atomicity: Atomicity,
    ) -> Vec<Code> {
        let request = Message::new().number(1, self.device).message(3, election(from));
        let request = request.messages(4, updates).number(5, atomicity as u64);
        let Err(status) = self.unary("Write", request).await else { return vec![Code::Ok] };
        // google.rpc.Status, with details of the type Any, each a p4.v1.Error.
        let details = Fields::of(status.details()).messages(3);
        let codes = details.iter().map(|any| {
            assert_eq!(any.text(1), "type.googleapis.com/p4.v1.Error");
            Code::from(any.message(2).number(1) as i32)
        });
        let codes: Vec<_> = codes.collect();
        if codes.is_empty() { vec![status.code()] } else { codes }
    }

    /// Reads an entity; its answers, each without the frame of `Entity`.
    pub(super) async fn read(&mut self, kind: u32, wanted: Message) -> Result<Vec<Fields>, Code> {
        self.grpc.ready().await.unwrap();
        let request = Message::new().number(1, self.device).message(2, Message::new().message(kind, wanted));
        let request = Request::new(request.into_bytes());
        let answer = self.grpc.server_streaming(request, path("Read"), Raw).await;
        let mut messages = answer.map_err(|status| status.code())?.into_inner();
        let mut all = Vec::new();
        while let Some(message) = messages.message().await.map_err(|status| status.code())? {
            all.extend(Fields::of(&message).messages(1).iter().map(|entity| entity.message(kind)));
        }
        Ok(all)
    }
}

fn code(result: &Result<Fields, Status>) -> Code {
    result.as_ref().map_or_else(Status::code, |_| Code::Ok)
}

impl Stream {
    /// Asks to be the primary.
    pub(super) async fn ask(&mut self, id: u64) {
        self.sender.send(arbitration(self.device, id)).await.unwrap();
    }

    /// The next notice: its code, and the highest identifier; or the code with which the stream ends, `DeadlineExceeded` if none comes.
    pub(super) async fn told(&mut self) -> (Code, u64) {
        let answers = match &mut self.answers {
            Ok(answers) => answers,
            Err(status) => return (status.code(), 0),
        };
        let Ok(answer) = timeout(PATIENCE, answers.message()).await else {
            return (Code::DeadlineExceeded, 0);
        };
        match answer {
            Ok(Some(answer)) => {
                let update = Fields::of(&answer).message(1);
                (Code::from(update.message(4).number(1) as i32), update.message(3).number(2))
            }
            Ok(None) => (Code::Cancelled, 0),
            Err(status) => (status.code(), 0),
        }
    }
}
