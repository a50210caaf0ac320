//! QEMU's monitor (QMP): JSON lines on a unix socket.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Bytes of one answer.
const LONGEST: u64 = 1 << 20;

/// Longest wait for an answer of QEMU.
const ANSWER: Duration = Duration::from_secs(30);

/// A connection to a guest's monitor.
#[derive(Debug)]
pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
}

impl Monitor {
    /// Connects; QEMU makes the socket as one of the first things that it does.
    pub(super) fn connect(path: &Path, alive: impl Fn() -> bool) -> io::Result<Self> {
        let started = Instant::now();
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if started.elapsed() > ANSWER || !alive() => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        };
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let mut monitor = Self { stream: BufReader::new(stream) };
        // The greeting.
        monitor.line()?;
        monitor.ask("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Has a command carried out; its answer.
    fn ask(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes())?;
        loop {
            let mut answer = self.line()?;
            if let Some(error) = answer.get("error") {
                let said = error.get("desc").and_then(Value::as_str).unwrap_or("no reason");
                return Err(io::Error::other(format!("QEMU refuses {command}: {said}")));
            }
            // Other messages are events.
            if let Some(answer) = answer.get_mut("return") {
                return Ok(answer.take());
            }
        }
    }

    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        (&mut self.stream).take(LONGEST).read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line)
            .map_err(|error| io::Error::other(format!("QEMU's monitor said nonsense: {error}")))
    }

    /// The port of this machine that leads to the guest's agent.
    pub(super) fn forwarded_port(&mut self) -> io::Result<u16> {
        let usernet = self.ask("human-monitor-command", &json!({ "command-line": "info usernet" }))?;
        let found = usernet.as_str().and_then(forwarded_port);
        found.ok_or_else(|| io::Error::other("QEMU forwards no port to the guest"))
    }

    /// Writes the guest's whole state to a file, and lets it go on. `limit` bounds how long that may take.
    pub(super) fn save(&mut self, to: &Path, limit: Duration) -> io::Result<()> {
        // The shell quotes text between apostrophes.
        let quoted = to.display().to_string().replace('\'', r"'\''");
        self.ask("migrate", &json!({ "uri": format!("exec:cat > '{quoted}'") }))?;
        let started = Instant::now();
        loop {
            let status = self.ask("query-migrate", &json!({}))?;
            match status.get("status").and_then(Value::as_str).unwrap_or_default() {
                "completed" => break,
                "failed" | "cancelled" => {
                    return Err(io::Error::other("QEMU could not write the guest's state"));
                }
                _ if started.elapsed() > limit => {
                    self.ask("migrate_cancel", &json!({}))?;
                    return Err(io::ErrorKind::TimedOut.into());
                }
                _ => thread::sleep(Duration::from_millis(20)),
            }
        }
        self.ask("cont", &json!({})).map(|_| ())
    }
}

/// Reads the port from `TCP[HOST_FORWARD]  3  127.0.0.1 42101  10.0.2.15  7471  0  0`.
fn forwarded_port(usernet: &str) -> Option<u16> {
    let line = usernet.lines().find(|line| line.contains("TCP[HOST_FORWARD]"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forwarded_port_is_read() {
        let usernet = "Hub -1 (c0):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n  \
                       TCP[HOST_FORWARD]   3       127.0.0.1 42101       10.0.2.15  7471     0     0\r\n";
        assert_eq!(forwarded_port(usernet), Some(42101));
        assert_eq!(forwarded_port("Hub -1 (c0):\r\n"), None);
        assert_eq!(forwarded_port("TCP[HOST_FORWARD] 3 127.0.0.1 99999"), None);
    }
}
