//! A hostile client of a gRPC service: connections that stay idle, and messages that never end.
//! The executor's tests include this file: the agent has the same limits as the switch.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use h2::SendStream;
use h2::client::{Builder, SendRequest};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prost::bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// An HTTP/2 preface with an empty SETTINGS frame: all that a client must send before its first request.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Bytes of a message that are sent at once.
static CHUNK: [u8; 16 << 10] = [0; 16 << 10];

/// Time without a byte sent after which the flood has reached its end.
const STILL: Duration = Duration::from_millis(700);

/// The longest that a flood may take to reach its end.
const LONGEST: Duration = Duration::from_secs(8);

/// Opens connections that send nothing further: every second one nothing at all, the others the preface of HTTP/2.
pub(crate) async fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    // Many systems begin with 1 024 open files for a process, and let it have more.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let mut idle = Vec::with_capacity(count);
    for at in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        if at % 2 == 0 {
            // It may have been closed already.
            let _ = stream.write_all(PREFACE).await;
        }
        idle.push(stream);
    }
    idle
}

/// Streams with a message that never ends.
pub(crate) struct Unfinished {
    sent: Arc<AtomicU64>,
    /// Ends all connections when it is dropped.
    _connections: JoinSet<()>,
}

/// A call whose messages do not end.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// As in `/package.Service/Method`.
    pub(crate) path: &'static str,
    /// Bytes that the header of each message announces; all but the last one are sent.
    pub(crate) announced: u32,
}

impl Unfinished {
    /// Opens so many connections with so many streams on each.
    pub(crate) fn open(address: SocketAddr, call: Call, connections: usize, streams: usize) -> Self {
        let sent = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..connections {
            tasks.spawn(connection(address, call, streams, Arc::clone(&sent)));
        }
        Self { sent, _connections: tasks }
    }

    /// Waits until the service takes no more bytes; how many were sent. `each` is called again and again meanwhile.
    pub(crate) async fn spent(&self, mut each: impl AsyncFnMut()) -> u64 {
        let (begun, mut before, mut changed) = (Instant::now(), 0, Instant::now());
        while begun.elapsed() < LONGEST && (before == 0 || changed.elapsed() < STILL) {
            each().await;
            sleep(Duration::from_millis(20)).await;
            let now = self.sent.load(Ordering::Relaxed);
            if now != before {
                (before, changed) = (now, Instant::now());
            }
        }
        before
    }
}

async fn connection(address: SocketAddr, call: Call, streams: usize, sent: Arc<AtomicU64>) {
    let stream = TcpStream::connect(address).await.unwrap();
    // As many streams as a client may open before it knows the limit of the server.
    let builder = Builder::new().initial_max_send_streams(streams).handshake::<_, Bytes>(stream);
    let Ok((requests, connection)) = builder.await else { return };
    let mut tasks = JoinSet::new();
    tasks.spawn(async {
        // The server may end it.
        let _ = connection.await;
    });
    for _ in 0..streams {
        tasks.spawn(message(requests.clone(), address, call, Arc::clone(&sent)));
    }
    while tasks.join_next().await.is_some() {}
}

/// One message without its last byte; the stream stays open. Ends when the server ends the stream.
async fn message(requests: SendRequest<Bytes>, address: SocketAddr, call: Call, sent: Arc<AtomicU64>) {
    let uri = format!("http://{address}{}", call.path);
    let request = http::Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let Ok(mut requests) = requests.ready().await else { return };
    let Ok((response, mut body)) = requests.send_request(request, false) else { return };
    let mut header = vec![0];
    header.extend(call.announced.to_be_bytes());
    let mut left = call.announced as usize - 1;
    if body.send_data(header.into(), false).is_err() {
        return;
    }
    while left > 0 {
        let Some(room) = room(&mut body, left.min(CHUNK.len())).await else { return };
        if body.send_data(Bytes::from_static(&CHUNK[..room]), false).is_err() {
            return;
        }
        left -= room;
        sent.fetch_add(room as u64, Ordering::Relaxed);
    }
    // Comes only if the server ends the stream.
    let _ = response.await;
}

/// Waits until bytes may be sent; none if the stream has ended.
async fn room(body: &mut SendStream<Bytes>, wanted: usize) -> Option<usize> {
    body.reserve_capacity(wanted);
    loop {
        let room = std::future::poll_fn(|cx| body.poll_capacity(cx)).await?.ok()?;
        if room > 0 {
            return Some(room.min(wanted));
        }
    }
}

/// The most memory that a process has had resident (`VmHWM`), in MB of 10^6 bytes; none if it has ended.
pub(crate) fn peak_megabytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024 / 1_000_000)
}
