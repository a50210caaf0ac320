//! The network device of a guest (virtio 1.2, 5.1).

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;

use p4::switch::Frame;

use super::mode::Mode;
use super::vhost::Device;

/// Number of the device type.
pub(super) const TYPE: u32 = 1;

const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;

/// Features: an MTU, an address, frames over several buffers.
const FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 15;

/// Bytes before each frame; the number of its buffers is the last two.
const HEADER: usize = 12;
/// Buffers that a frame may be spread over.
const BUFFERS: usize = 64;
/// Longest frame, with its header.
const LARGEST: usize = HEADER + (1 << 16);

/// The device.
#[derive(Debug)]
pub(super) struct Net {
    pub(super) device: Device,
    /// Frames that the guest has no buffers for yet.
    waiting: VecDeque<Frame>,
    /// Frames were taken since the guest was last told so.
    has_taken: bool,
}

impl Net {
    /// A device with a MAC address and an MTU.
    pub(super) fn new(stream: UnixStream, mac: [u8; 6], mtu: u16, mode: Mode) -> io::Result<Self> {
        // Address, status, pairs of queues, MTU.
        let configuration = [&mac[..], &[1, 0], &[1, 0], &mtu.to_le_bytes()].concat();
        let mut device = Device::new(stream, FEATURES, configuration, 2)?;
        if mode == Mode::Fast {
            device.look_at(TRANSMIT);
        }
        Ok(Self { device, waiting: VecDeque::new(), has_taken: false })
    }

    /// Takes the frames that the guest has sent.
    pub(super) fn take(&mut self, mut frame: impl FnMut(&[u8])) -> io::Result<()> {
        while let Some(bytes) = self.device.take(TRANSMIT, LARGEST)? {
            self.has_taken = true;
            if let Some(bytes) = bytes.get(HEADER..) {
                frame(bytes);
            }
        }
        Ok(())
    }

    /// The queue to interrupt the guest for if frames were taken since the last time: a driver whose queue was full waits for
    /// that.
    pub(super) fn taken(&mut self) -> Option<usize> {
        std::mem::take(&mut self.has_taken).then_some(TRANSMIT)
    }

    /// Gives the guest a frame.
    pub(super) fn put(&mut self, frame: Frame) {
        self.waiting.push_back(frame);
    }

    /// Fills the guest's buffers with the frames that wait; the queue to interrupt it for, if there were any.
    pub(super) fn fill(&mut self) -> io::Result<Option<usize>> {
        let mut filled = None;
        while let Some(frame) = self.waiting.front() {
            let mut bytes = Vec::with_capacity(HEADER + frame.len());
            bytes.resize(HEADER, 0);
            bytes.extend_from_slice(frame);
            let numbered = |bytes: &mut [u8], buffers: u16| {
                bytes[HEADER - 2..HEADER].copy_from_slice(&buffers.to_le_bytes());
            };
            if !self.device.put(RECEIVE, &mut bytes, BUFFERS, numbered)? {
                break;
            }
            self.waiting.pop_front();
            filled = Some(RECEIVE);
        }
        Ok(filled)
    }
}
