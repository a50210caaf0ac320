//! One number for a whole trace: the same in every process and on every machine, and another as soon as any packet is.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::{Extra, Flow, Origin, Record, Trace};
use crate::event::Exit;
use crate::wire::{AtomicAckEthRepr, AtomicEthRepr, DethRepr};

/// First bytes of the hashed input. The number in them changes whenever the bytes of a trace do.
const HEADLINE: &[u8] = b"lumina-fuzz trace 1\n";

/// SHA-256 over the contents of a trace. `Display` is hexadecimal, all of it or (`{:.16}`) the first digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.map(|byte| format!("{byte:02x}")).concat())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Trace {
    /// The digest of all packets of the trace, in order: every field, the flow, the rare headers, the exit.
    /// Flows count by their fields, not by their place in the list of flows.
    ///
    /// Equal traces have the same digest, simulated or read from a file.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher(Sha256::new());
        hasher.bytes(HEADLINE);
        hasher.bytes(match self.origin {
            Origin::Mirror => "mirror\n",
            Origin::Plain => "plain\n",
        });
        for record in &self.records {
            hasher.record(record);
            hasher.flow(self.flow(record));
            // Nothing rare to say is as good as no place to say it.
            let extra = self.extra(record).filter(|extra| *extra != Extra::default());
            hasher.option(extra, Hasher::extra);
        }
        Digest(hasher.0.finalize().into())
    }
}

/// Structures are taken apart field by field, so that a new field cannot be forgotten here. Numbers are
/// big-endian, in their own width; a value that may be absent, or has several forms, begins with a byte that
/// tells.
struct Hasher(Sha256);

impl Hasher {
    fn bytes(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    fn flag(&mut self, flag: bool) {
        self.bytes([u8::from(flag)]);
    }

    fn option<T>(&mut self, value: Option<T>, hash: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            hash(self, value);
        }
    }

    fn address(&mut self, address: IpAddr) {
        self.flag(address.is_ipv6());
        match address {
            IpAddr::V4(address) => self.bytes(address.octets()),
            IpAddr::V6(address) => self.bytes(address.octets()),
        }
    }

    fn flow(&mut self, flow: &Flow) {
        let Flow { source, destination, dest_qpn, vlan } = *flow;
        self.address(source);
        self.address(destination);
        self.bytes(dest_qpn.to_be_bytes());
        self.option(vlan, |hasher, tag| hasher.bytes(tag.to_be_bytes()));
    }

    fn record(&mut self, record: &Record) {
        let Record {
            time,
            virtual_address,
            sequence,
            // By their contents.
            flow: _,
            extra: _,
            psn,
            aeth,
            dma_length,
            remote_key,
            immediate,
            frame_len,
            payload_len,
            src_port,
            partition_key,
            opcode,
            event,
            traffic_class,
            flags,
        } = *record;
        for number in [time.0, virtual_address] {
            self.bytes(number.to_be_bytes());
        }
        for number in [sequence, psn.value(), aeth, dma_length, remote_key, immediate, frame_len] {
            self.bytes(number.to_be_bytes());
        }
        for number in [payload_len, src_port, partition_key] {
            self.bytes(number.to_be_bytes());
        }
        self.bytes([opcode, event, traffic_class, flags]);
    }

    fn extra(&mut self, extra: Extra) {
        let Extra { exit, atomic, atomic_ack, deth } = extra;
        self.option(exit, |hasher, exit| {
            let Exit { time, copies, plain, corrupt, ce, mig_req, rewritten } = exit;
            hasher.bytes(time.0.to_be_bytes());
            hasher.bytes([copies]);
            hasher.flag(corrupt);
            hasher.flag(ce);
            hasher.option(mig_req, Self::flag);
            hasher.flag(rewritten);
            // Digests from before the network made copies stay as they are.
            if plain > 0 {
                hasher.bytes([plain]);
            }
        });
        self.option(atomic, |hasher, atomic| {
            let AtomicEthRepr { virtual_address, remote_key, swap_or_add, compare } = atomic;
            hasher.bytes(virtual_address.to_be_bytes());
            hasher.bytes(remote_key.to_be_bytes());
            hasher.bytes(swap_or_add.to_be_bytes());
            hasher.bytes(compare.to_be_bytes());
        });
        self.option(atomic_ack, |hasher, AtomicAckEthRepr { original }| hasher.bytes(original.to_be_bytes()));
        self.option(deth, |hasher, deth| {
            let DethRepr { queue_key, source_qpn } = deth;
            hasher.bytes(queue_key.to_be_bytes());
            hasher.bytes(source_qpn.to_be_bytes());
        });
    }
}
