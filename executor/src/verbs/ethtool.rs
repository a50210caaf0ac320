//! Counters of `ethtool -S`, drivers of `ethtool -i`.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use dumper::ring::ethtool;
use nix::libc;

/// `ETHTOOL_GSSET_INFO`, `ETHTOOL_GSTRINGS`, `ETHTOOL_GSTATS`, `ETH_SS_STATS` (linux/ethtool.h).
const GSSET_INFO: u32 = 0x37;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const SS_STATS: u32 = 1;
/// `ETH_GSTRING_LEN`: bytes of a name.
const NAME_BYTES: usize = 32;
/// Most counters that a device may have; mlx5 has some 2000 with all its queues.
const MAX_COUNTERS: usize = 1 << 16;
/// The kernel fills in as many as there are at that moment, whatever it was asked for: room for queues that were added
/// since they were counted.
const SLACK: usize = 2;

/// `ETHTOOL_GDRVINFO` and the places of `struct ethtool_drvinfo` (linux/ethtool.h): command, driver, version, firmware version,
/// other texts and numbers.
const GDRVINFO: u32 = 0x3;
const DRIVER: Range<usize> = 4..36;
const FIRMWARE: Range<usize> = 68..100;
const DRVINFO_BYTES: usize = 196;

/// Driver of a network device, and the version of its firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Empty where the driver does not tell.
    pub firmware: String,
}

/// Driver of a network device.
///
/// # Errors
/// There is no such device, or it does not tell.
pub fn driver(interface: &str) -> io::Result<Driver> {
    let mut info = [0_u64; DRVINFO_BYTES.div_ceil(8)];
    info[0] = u64::from(GDRVINFO);
    // SAFETY: there is room for the whole structure.
    unsafe { ethtool(interface, &mut info) }?;
    let bytes: Vec<u8> = info.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(Driver { name: name_of(&bytes[DRIVER]), firmware: name_of(&bytes[FIRMWARE]) })
}

/// Counters of a network device, by their names. None for a device that has none.
///
/// # Errors
/// There is no such device, or its driver fails.
pub fn statistics(interface: &str) -> io::Result<BTreeMap<String, u64>> {
    // struct ethtool_sset_info: command, reserved, mask of sets (64 bits), then one count for each set in the mask.
    let mut info = [u64::from(GSSET_INFO), 1 << SS_STATS, 0];
    // SAFETY: there is room for the one count that is asked for.
    match unsafe { ethtool(interface, &mut info) } {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    }
    let counted = if info[1] == 0 { 0 } else { (info[2] as u32) as usize };
    if counted == 0 {
        return Ok(BTreeMap::new());
    }
    if counted > MAX_COUNTERS {
        return Err(io::Error::other(format!("{interface} claims to have {counted} counters")));
    }

    // struct ethtool_gstrings: command, set, count, then the names, from byte 12 on.
    let mut strings = vec![0_u64; 2 + counted * SLACK * NAME_BYTES / 8];
    strings[0] = u64::from(GSTRINGS) | u64::from(SS_STATS) << 32;
    strings[1] = counted as u64;
    // SAFETY: there is room for more names than there were.
    unsafe { ethtool(interface, &mut strings) }?;
    // struct ethtool_stats: command, count, then the values.
    let mut stats = vec![0_u64; 1 + counted * SLACK];
    stats[0] = u64::from(GSTATS) | (counted as u64) << 32;
    // SAFETY: there is room for more values than there were.
    unsafe { ethtool(interface, &mut stats) }?;

    let bytes: Vec<u8> = strings.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let names = bytes[12..].chunks_exact(NAME_BYTES);
    // Statistics that both calls have: a device whose queues change in between is read again by the caller.
    let both = (strings[1] as u32 as usize).min((stats[0] >> 32) as usize).min(counted * SLACK);
    Ok(names.zip(&stats[1..]).take(both).map(|(name, value)| (name_of(name), *value)).collect())
}

fn name_of(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_no_counters_and_a_missing_device_is_an_error() {
        assert_eq!(statistics("lo").unwrap(), BTreeMap::new());
        assert_eq!(statistics("no-such-if").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(statistics("a name that no device can have").is_err());
    }

    #[test]
    fn a_missing_device_has_no_driver() {
        assert_eq!(driver("no-such-if").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        // The loopback tells of none, or has an empty one.
        assert_eq!(driver("lo").unwrap_or_default().firmware, "");
    }

    #[test]
    fn names_end_at_their_zero() {
        let mut name = [0; NAME_BYTES];
        name[..5].copy_from_slice(b"rx_ok");
        assert_eq!(name_of(&name), "rx_ok");
        assert_eq!(name_of(&[b'x'; NAME_BYTES]), "x".repeat(32));
    }
}
