//! The port to the agent of a guest: the one port of a console device (virtio 1.2, 5.3), a stream of bytes in both
//! directions.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;

use super::mode::Mode;
use super::vhost::Device;

/// Number of the device type.
pub(super) const TYPE: u32 = 3;

/// Queues: of the port, and for control.
const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;
const CONTROL_RECEIVE: usize = 2;
const CONTROL_TRANSMIT: usize = 3;
const QUEUES: usize = 4;

/// Feature: several ports.
const MULTIPORT: u64 = 1 << 1;
/// Number of ports.
const PORTS: u32 = 1;
/// The port.
const PORT: u32 = 0;

/// Events of the control queues.
const DEVICE_READY: u16 = 0;
const PORT_ADD: u16 = 1;
const PORT_READY: u16 = 3;
const PORT_OPEN: u16 = 6;

/// Bytes that the driver sends, or takes, at once.
const AT_ONCE: usize = 1 << 15;
/// A buffer of the driver is a page.
const BUFFER: usize = 4096;

/// The device.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) device: Device,
    control: VecDeque<[u8; 8]>,
    /// True while a process of the guest has the port open: its driver drops what comes at other times.
    open: bool,
    /// Bytes for the agent.
    waiting: VecDeque<u8>,
    /// Bytes of the agent.
    said: Vec<u8>,
}

impl Port {
    pub(super) fn new(stream: UnixStream, mode: Mode) -> io::Result<Self> {
        // Columns and rows; ports; a place for emergencies.
        let configuration = [[0; 4], PORTS.to_le_bytes(), [0; 4]].concat();
        let mut device = Device::new(stream, MULTIPORT, configuration, QUEUES)?;
        if mode == Mode::Fast {
            device.look_at(TRANSMIT);
        }
        Ok(Self { device, control: VecDeque::new(), open: false, waiting: VecDeque::new(), said: Vec::new() })
    }

    /// Tells the agent something.
    pub(super) fn tell(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// Bytes of the agent that were not taken out yet.
    pub(super) const fn said(&mut self) -> &mut Vec<u8> {
        &mut self.said
    }

    /// Takes what the guest has sent.
    pub(super) fn take(&mut self) -> io::Result<()> {
        while let Some(bytes) = self.device.take(CONTROL_TRANSMIT, 8)? {
            let [_, _, _, _, a, b, c, d] = bytes[..] else { continue };
            match (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])) {
                (DEVICE_READY, _) => self.control.push_back(control(PORT_ADD, 1)),
                (PORT_READY, _) => self.control.push_back(control(PORT_OPEN, 1)),
                (PORT_OPEN, open) => self.open = open != 0,
                _ => {}
            }
        }
        while let Some(bytes) = self.device.take(TRANSMIT, AT_ONCE)? {
            self.said.extend(bytes);
        }
        Ok(())
    }

    /// Fills the guest's buffers; the queue to interrupt it for, if anything was there for it.
    pub(super) fn fill(&mut self) -> io::Result<Option<usize>> {
        // One at a time: the bytes of the agent come when the guest has seen it.
        if let Some(bytes) = self.control.front_mut()
            && self.device.put(CONTROL_RECEIVE, bytes, 1, |_, _| {})?
        {
            self.control.pop_front();
            return Ok(Some(CONTROL_RECEIVE));
        }
        let mut filled = None;
        while self.open && !self.waiting.is_empty() {
            let mut bytes: Vec<u8> = self.waiting.iter().take(BUFFER).copied().collect();
            if !self.device.put(RECEIVE, &mut bytes, 1, |_, _| {})? {
                break;
            }
            self.waiting.drain(..bytes.len());
            filled = Some(RECEIVE);
        }
        Ok(filled)
    }
}

fn control(event: u16, value: u16) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&PORT.to_le_bytes());
    bytes[4..6].copy_from_slice(&event.to_le_bytes());
    bytes[6..].copy_from_slice(&value.to_le_bytes());
    bytes
}
