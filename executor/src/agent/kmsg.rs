//! The kernel's log, line by line (Documentation/ABI/testing/dev-kmsg).

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::mpsc;
use tonic::Status;

use super::proto::KernelLogLine;

const DEVICE: &str = "/dev/kmsg";

/// Largest record of the kernel's log (`PRINTK_MESSAGE_MAX`, 2048, and its escapes; older ones 8192).
const MAX_RECORD: usize = 8192;

/// The log from the moment of opening on.
pub(super) struct KernelLog {
    file: File,
    after_gap: bool,
}

impl KernelLog {
    /// Opens the log.
    ///
    /// # Errors
    /// The agent may not read it, or the system has none.
    pub(super) fn open() -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        file.seek(SeekFrom::End(0))?;
        let mut log = Self { file, after_gap: false };
        // Some systems let it be opened and refuse to have it read.
        log.next()?;
        log.file.seek(SeekFrom::End(0))?;
        Ok(log)
    }

    /// Sends lines until the receiver is gone, or `stop` is closed at its other end. Blocks.
    pub(super) fn follow(mut self, out: &mpsc::Sender<Result<KernelLogLine, Status>>, stop: &UnixStream) {
        loop {
            let taken = match self.next() {
                Ok(Some(line)) => out.blocking_send(Ok(line)).is_ok(),
                Ok(None) => self.wait(stop),
                Err(error) => {
                    // A receiver that is gone needs no error.
                    let _ = out.blocking_send(Err(Status::internal(advice(&error))));
                    false
                }
            };
            if !taken {
                return;
            }
        }
    }

    /// Waits for a line; whether it is still wanted.
    fn wait(&self, stop: &UnixStream) -> bool {
        let mut waited =
            [PollFd::new(self.file.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, PollTimeout::NONE) {
            Ok(_) => waited[1].any() == Some(false),
            Err(error) => error == Errno::EINTR,
        }
    }

    /// The next line, if there is one.
    fn next(&mut self) -> io::Result<Option<KernelLogLine>> {
        let mut record = [0; MAX_RECORD];
        loop {
            match self.file.read(&mut record) {
                Ok(length) => {
                    if let Some(mut line) = parse(&String::from_utf8_lossy(&record[..length])) {
                        line.after_gap = std::mem::take(&mut self.after_gap);
                        return Ok(Some(line));
                    }
                }
                // Lines were overwritten before they were read; the next read goes on with the oldest that is left.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => self.after_gap = true,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The reason why the log cannot be read, and the remedy.
pub(super) fn advice(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("{DEVICE} cannot be read ({error}); run the agent as root, or with CAP_SYSLOG")
        }
        _ => format!("{DEVICE} cannot be read: {error}"),
    }
}

/// A record: `priority,sequence,microseconds,flags[,...];text`, and lines of properties, which begin with a space.
fn parse(record: &str) -> Option<KernelLogLine> {
    let (prefix, rest) = record.split_once(';')?;
    let mut fields = prefix.split(',');
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (priority, sequence, at_us) = (number()?, number()?, number()?);
    let text = unescape(rest.lines().next().unwrap_or_default());
    Some(KernelLogLine { level: (priority & 7) as u32, sequence, at_us, text, after_gap: false })
}

/// Undoes the kernel's `\xNN`; bytes that are not text then are marked.
fn unescape(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_the_kernel_writes_them() {
        let line = parse("6,339,5140900,-;NET: Registered PF_INET6\n SUBSYSTEM=acpi\n DEVICE=+x\n").unwrap();
        assert_eq!(line.text, "NET: Registered PF_INET6");
        assert_eq!((line.level, line.sequence, line.at_us), (6, 339, 5_140_900));
        // Facility 3, level 4, as from user space; and a field that only newer kernels have.
        let line = parse("28,7,9,c,caller=T1;a\\x09b\\x5cx41;c").unwrap();
        assert_eq!((line.level, line.text.as_str()), (4, "a\tb\\x41;c"));
    }

    #[test]
    fn what_is_no_record_is_none() {
        for bad in ["", "6,1,2", ";text", "x,1,2,-;t", "6,,2,-;t", "6,99999999999999999999,2,-;t"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(unescape("\\x"), "\\x");
        assert_eq!(unescape("\\x4"), "\\x4");
        assert_eq!(unescape("\\xzzé\\xff"), "\\xzzé\u{fffd}");
        assert_eq!(unescape("\\x\u{e9}1"), "\\x\u{e9}1");
    }
}
