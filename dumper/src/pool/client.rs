//! The orchestrator's side: a pool of dumpers.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tonic::Streaming;
use tonic::transport::Channel;

use super::Losses;
use super::merge::Merge;
use super::proto::dumper_client::DumperClient;
use super::proto::{BeginRequest, CountRequest, EndRequest, Packet, Part, part};
use crate::mirror::sequence_in;
use crate::serve::tls::{Keys, Role};
use crate::serve::{Address, DialError, dial};
use crate::trace::{Origin, TraceBuilder, Traced, Vantage};
use crate::wire::frame::UdpPorts;
use crate::{Exit, Nanos};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest wait for the last mirrored packets after the switch has sent them.
const LAST_PACKETS: Duration = Duration::from_secs(2);

/// Interval of looks at what has come.
const LOOK: Duration = Duration::from_millis(2);

/// Packets that are taken of a pool: some gigabytes of records.
const MOST_PACKETS: u64 = 1 << 26;

/// Dumpers that are commanded together.
#[derive(Debug)]
pub struct Pool(Vec<Member>);

#[derive(Debug)]
struct Member {
    address: Address,
    client: DumperClient<Channel>,
    /// The dump that it was last told to begin.
    dump: u64,
}

/// A dumper that fails.
#[derive(Debug, thiserror::Error)]
#[error("the dumper at {address}: {why}")]
pub struct PoolError {
    /// The dumper.
    pub address: Address,
    /// Reason.
    pub why: Why,
}

/// Ways in which a dumper fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It does not answer.
    Silent,
    /// It is not there any more, or never was.
    Lost(String),
    /// It refuses.
    Refused(String),
    /// It answers what no dumper does.
    Protocol(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => write!(f, "no answer for {} s", PATIENCE.as_secs()),
            Self::Lost(why) => write!(f, "it cannot be reached: {why}; is lumina-dumper running there?"),
            Self::Refused(why) | Self::Protocol(why) => f.write_str(why),
        }
    }
}

impl From<DialError> for Why {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Unreachable(why) => Self::Lost(why),
            DialError::Refused(why) => Self::Refused(why),
        }
    }
}

impl From<tonic::Status> for Why {
    fn from(status: tonic::Status) -> Self {
        match status.code() {
            tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Cancelled => {
                Self::Lost(status.message().to_owned())
            }
            _ => Self::Refused(status.message().to_owned()),
        }
    }
}

/// The packets of all dumpers.
#[derive(Debug)]
pub struct Collected {
    /// Trace, and the packets that could not be part of it.
    pub traced: Traced,
    /// What each dumper did not keep.
    pub losses: Vec<(Address, Losses)>,
}

/// An answer of a dumper, which is waited for no longer than [`PATIENCE`].
async fn answer<T>(asked: impl Future<Output = Result<T, tonic::Status>>) -> Result<T, Why> {
    timeout(PATIENCE, asked).await.map_err(|_| Why::Silent)?.map_err(Why::from)
}

impl Member {
    async fn connect(address: &Address, keys: Option<&Keys>) -> Result<Self, Why> {
        let dialled = dial(address, Role::Dumper, keys).await.map_err(Why::from)?;
        Ok(Self { address: address.clone(), client: DumperClient::new(dialled.channel), dump: 0 })
    }

    async fn begin(&mut self) -> Result<(), Why> {
        self.dump = answer(self.client.begin(BeginRequest {})).await?.into_inner().dump;
        Ok(())
    }

    async fn counted(&mut self) -> Result<(u64, Losses), Why> {
        let counted = answer(self.client.count(CountRequest { dump: self.dump })).await?.into_inner();
        Ok((counted.kept, Losses::of(counted.losses.as_ref())))
    }

    async fn end(&mut self) -> Result<Stream, Why> {
        let parts = answer(self.client.end(EndRequest { dump: self.dump })).await?.into_inner();
        Ok(Stream { parts, packets: Vec::new().into_iter(), ahead: None, last: 0, taken: 0, summary: None })
    }
}

impl Pool {
    /// Connects to dumpers: over TLS with keys.
    ///
    /// # Errors
    /// One cannot be reached, or is none.
    pub async fn connect(addresses: &[Address], keys: Option<&Keys>) -> Result<Self, PoolError> {
        let mut members = Vec::new();
        for address in addresses {
            let member = Member::connect(address, keys).await;
            members.push(member.map_err(|why| PoolError { address: address.clone(), why })?);
        }
        Ok(Self(members))
    }

    /// Has all dumpers forget their packets and keep those that come from now on.
    ///
    /// # Errors
    /// One does not answer.
    pub async fn begin(&mut self) -> Result<(), PoolError> {
        for member in &mut self.0 {
            let begun = member.begin().await;
            begun.map_err(|why| PoolError { address: member.address.clone(), why })?;
        }
        Ok(())
    }

    /// Packets that all dumpers have kept so far, and what each did not keep.
    ///
    /// # Errors
    /// One does not answer, or has been told to begin another dump.
    pub async fn counted(&mut self) -> Result<(u64, Vec<(Address, Losses)>), PoolError> {
        let (mut all, mut losses) = (0, Vec::new());
        for member in &mut self.0 {
            let counted = member.counted().await;
            let (kept, lost) = counted.map_err(|why| PoolError { address: member.address.clone(), why })?;
            all += kept;
            losses.push((member.address.clone(), lost));
        }
        Ok((all, losses))
    }

    /// Waits for so many packets, which the switch has mirrored, ends the dump and merges the packets of all dumpers. Each unit of the
    /// switch's clock has so many nanoseconds; `exit` tells how the packet with a mirror sequence number left, where that is known.
    ///
    /// # Errors
    /// A dumper does not answer, was told to begin another dump, or sends what no dumper sends.
    pub async fn collect(
        &mut self,
        mirrored: u64,
        unit_ns: u64,
        exit: impl Fn(u32) -> Option<Exit>,
    ) -> Result<Collected, PoolError> {
        let begun = Instant::now();
        while self.counted().await?.0 < mirrored && begun.elapsed() < LAST_PACKETS {
            sleep(LOOK).await;
        }
        let mut streams = Vec::new();
        let mut merge = Merge::default();
        for (number, member) in self.0.iter_mut().enumerate() {
            let address = member.address.clone();
            let error = |why| PoolError { address: address.clone(), why };
            let mut stream = member.end().await.map_err(error)?;
            if let Some(sequence) = stream.look().await.map_err(error)? {
                merge.put(number, sequence);
            }
            streams.push(stream);
        }
        let mut builder = TraceBuilder::new(Origin::Mirror, UdpPorts::Any);
        let mut packets = 0;
        while let Some(number) = merge.next() {
            let (stream, address) = (&mut streams[number], &self.0[number].address);
            let error = |why| PoolError { address: address.clone(), why };
            if let Some((sequence, mut packet)) = stream.ahead.take() {
                packets += 1;
                if packets > MOST_PACKETS {
                    return Err(error(Why::Protocol(format!("it has more than {MOST_PACKETS} packets"))));
                }
                in_ns(&mut packet.frame, unit_ns);
                let exit = exit(sequence);
                builder.push(
                    (number, stream.taken),
                    &packet.frame,
                    packet.length,
                    Nanos::ZERO,
                    (Vantage::FIRST, exit),
                );
            }
            if let Some(sequence) = stream.look().await.map_err(error)? {
                merge.put(number, sequence);
            }
        }
        let losses = self.0.iter().zip(streams);
        let losses =
            losses.map(|(member, stream)| (member.address.clone(), stream.summary.unwrap_or_default()));
        Ok(Collected { traced: builder.finish(), losses: losses.collect() })
    }
}

/// The packets of a dumper, one after the other.
struct Stream {
    parts: Streaming<Part>,
    packets: std::vec::IntoIter<Packet>,
    /// The next packet, with its sequence number.
    ahead: Option<(u32, Packet)>,
    /// Sequence number of the one before it.
    last: u32,
    taken: u64,
    summary: Option<Losses>,
}

impl Stream {
    /// Looks at the next packet; its sequence number, or none at the end.
    async fn look(&mut self) -> Result<Option<u32>, Why> {
        let protocol = |why: &str| Why::Protocol(format!("it does not speak as lumina-dumper does: {why}"));
        loop {
            if let Some(packet) = self.packets.next() {
                let sequence = sequence_in(&packet.frame);
                let sequence = sequence.ok_or_else(|| protocol("a packet has no mirror sequence number"))?;
                if sequence < self.last {
                    return Err(protocol("packets are not in order"));
                }
                self.last = sequence;
                self.taken += 1;
                self.ahead = Some((sequence, packet));
                return Ok(Some(sequence));
            }
            match answer(self.parts.message()).await?.and_then(|part| part.part) {
                Some(part::Part::Packets(more)) if self.summary.is_none() => {
                    self.packets = more.packets.into_iter();
                }
                Some(part::Part::Summary(summary)) if self.summary.is_none() => {
                    self.summary = Some(Losses::of(summary.losses.as_ref()));
                }
                Some(_) => return Err(protocol("something is behind the end")),
                None if self.summary.is_none() => {
                    return Err(Why::Lost("it ended in the middle of its packets".into()));
                }
                None => return Ok(None),
            }
        }
    }
}

/// Bytes of the destination address, which carries the time.
const TIME: usize = 6;

/// Has the time of a mirrored packet in ns.
fn in_ns(packet: &mut [u8], unit_ns: u64) {
    let Some(time) = packet.first_chunk_mut::<TIME>() else { return };
    let units = time.iter().fold(0, |units: u64, byte| units << 8 | u64::from(*byte));
    time.copy_from_slice(&units.wrapping_mul(unit_ns).to_be_bytes()[2..]);
}
