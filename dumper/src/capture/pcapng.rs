//! pcapng: packets, with the event's details in packet comments and connections in interface comments.

use std::path::Path;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::block_common::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, PACKET_BLOCK, SIMPLE_PACKET_BLOCK,
};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::{Block, PcapNgParseError, PcapNgParser};

use super::{ConnectionSet, PROGRESS_EVERY, ReadError, chain, comment};
use crate::Nanos;
use crate::trace::TraceBuilder;

/// Damaged blocks of one file after which reading it is given up.
const MAX_DAMAGED_BLOCKS: usize = 64;

/// Reads all packet blocks into `builder`. A block whose contents are wrong is noted and stepped over; one
/// whose length is wrong ends the reading, as nothing tells where the next one starts.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    file: usize,
    builder: &mut TraceBuilder,
    connections: &mut ConnectionSet,
    report: &mut dyn FnMut(usize, usize),
) -> Result<(), ReadError> {
    let (mut rest, mut parser) = PcapNgParser::new(bytes).map_err(|error| ReadError::Header {
        path: path.into(),
        reason: header_fault(&error, bytes.len()),
    })?;
    let (mut packet, mut blocks, mut damaged) = (0u64, 0u64, 0);
    while !rest.is_empty() {
        blocks += 1;
        let offset = bytes.len() - rest.len();
        let raw = match parser.next_raw_block(rest) {
            Ok((tail, raw)) => {
                rest = tail;
                raw
            }
            Err(error) => {
                let reason = match error {
                    PcapNgParseError::IncompleteBuffer(..) => format!(
                        "block {blocks} goes beyond the {} bytes that are left: the file was cut short, or the \
                         block's length is wrong",
                        rest.len()
                    ),
                    other => format!("block {blocks}: {}", chain(&other)),
                };
                builder.damaged(file, offset as u64, reason);
                break;
            }
        };
        let wanted = matches!(
            raw.type_,
            ENHANCED_PACKET_BLOCK | SIMPLE_PACKET_BLOCK | PACKET_BLOCK | INTERFACE_DESCRIPTION_BLOCK
        );
        if wanted {
            match raw.try_into_block(parser.state()) {
                Ok(block) => {
                    add_block(path, &block, (file, &mut packet), builder, connections)?;
                }
                Err(error) => {
                    damaged += 1;
                    builder.damaged(file, offset as u64, format!("block {blocks}: {}", chain(&error)));
                    if damaged == MAX_DAMAGED_BLOCKS {
                        builder.damaged(file, offset as u64, "too many damaged blocks; the rest is not read");
                        break;
                    }
                }
            }
        }
        if blocks.is_multiple_of(PROGRESS_EVERY) {
            report(offset, builder.packets());
        }
    }
    report(bytes.len(), builder.packets());
    Ok(())
}

fn add_block(
    path: &Path,
    block: &Block<'_>,
    (file, packet): (usize, &mut u64),
    builder: &mut TraceBuilder,
    connections: &mut ConnectionSet,
) -> Result<(), ReadError> {
    let mut add = |frame: &[u8], wire_len, stamp, mirrored| {
        *packet += 1;
        builder.push((file, *packet), frame, wire_len, stamp, mirrored);
    };
    match block {
        Block::InterfaceDescription(interface) => {
            if interface.linktype != DataLink::ETHERNET {
                let link_type = interface.linktype.into();
                return Err(ReadError::LinkType { path: path.into(), link_type });
            }
            for option in &interface.options {
                if let InterfaceDescriptionOption::Common(CommonOption::Comment(text)) = option {
                    comment::parse_connections(text).for_each(|connection| connections.add(connection));
                }
            }
        }
        Block::EnhancedPacket(block) => {
            let mirrored = block.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Common(CommonOption::Comment(text)) => comment::parse_packet(text),
                _ => None,
            });
            add(&block.data, block.original_len, nanos(block.timestamp), mirrored.unwrap_or_default());
        }
        Block::SimplePacket(block) => add(&block.data, block.original_len, Nanos::ZERO, Default::default()),
        Block::Packet(block) => {
            add(&block.data, block.original_len, nanos(block.timestamp), Default::default());
        }
        _ => {}
    }
    Ok(())
}

fn header_fault(error: &PcapNgParseError, have: usize) -> String {
    match error {
        PcapNgParseError::IncompleteBuffer(..) => {
            format!("the section header goes beyond the {have} bytes of the file")
        }
        other => chain(other),
    }
}

fn nanos(timestamp: Duration) -> Nanos {
    Nanos(u64::try_from(timestamp.as_nanos()).unwrap_or(u64::MAX))
}
