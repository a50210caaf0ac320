//! PSNs that a request takes.

use dumper::wire::Class;
use dumper::{Psn, Record};

/// PSNs that a request takes with a path MTU in bytes: a Read those of its responses, at least one (IBA vol. 1, 9.7.2). At most half of
/// all, whatever its length says.
#[inline]
pub(crate) fn psns_of(record: &Record, class: Class, mtu: u32) -> u32 {
    match class {
        Class::ReadRequest => record.dma_length.div_ceil(mtu).clamp(1, Psn::SPACE / 2),
        _ => 1,
    }
}
