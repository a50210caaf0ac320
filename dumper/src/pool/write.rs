//! The packets of a dump as a capture file.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};

use super::KEPT;
use super::dumper::Ended;

/// A dump that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct WriteError {
    path: PathBuf,
    why: String,
}

/// Packets that are written at a time.
const PACKETS: usize = 1_000;

/// Bytes of the destination address, which carries the time.
const TIME: usize = 6;

/// Writes the packets of a dump in their order, as pcapng with nanoseconds; how many these are. The file is complete or not there.
///
/// # Errors
/// The file cannot be written.
pub fn write(mut ended: Ended<'_>, path: &Path) -> Result<u64, WriteError> {
    let failed = |why: String| WriteError { path: path.into(), why };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(error.to_string()))?;
    let buffered = std::io::BufWriter::new(file);
    let mut writer = PcapNgWriter::new(buffered).map_err(|error| failed(error.to_string()))?;
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        snaplen: KEPT as u32,
        options: vec![InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO)],
    };
    writer.write_pcapng_block(interface).map_err(|error| failed(error.to_string()))?;
    let (mut written, mut error) = (0, None);
    loop {
        let is_more = ended.take(PACKETS, |packet| {
            let time = packet.frame.iter().take(TIME).fold(0, |time: u64, byte| time << 8 | u64::from(*byte));
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_nanos(time),
                original_len: packet.length,
                data: Cow::Borrowed(packet.frame),
                options: vec![],
            };
            match writer.write_pcapng_block(block) {
                Ok(_) => written += 1,
                Err(why) => error = Some(why),
            }
        });
        if let Some(why) = error {
            return Err(failed(why.to_string()));
        }
        if !is_more {
            break;
        }
    }
    let mut buffered = writer.into_inner();
    buffered.flush().map_err(|error| failed(error.to_string()))?;
    let file = buffered.into_inner().map_err(|error| failed(error.to_string()))?;
    file.persist(path).map_err(|error| failed(error.to_string()))?;
    Ok(written)
}
