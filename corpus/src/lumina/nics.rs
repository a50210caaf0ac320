//! Lumina's NIC types and our profiles.

use crate::source::Names;

/// Lumina's `nic.type` (in any letter case) and the profile that stands for it.
pub(super) const TYPES: &Names<&str> =
    &[("CX4", "cx4-lx"), ("CX5", "cx5"), ("CX6", "cx6-dx"), ("E810", "e810")];

/// The profile whose `roce-parameters` have one `dcqcn-enable` in place of the rp and np keys.
pub(super) const INTEL: &str = "e810";

/// The profile of a type.
pub(super) fn profile(kind: &str) -> Option<&'static str> {
    TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map(|(_, profile)| *profile)
}

/// The type of a profile.
pub(super) fn kind(profile: &str) -> Option<&'static str> {
    TYPES.iter().find(|(_, known)| *known == profile).map(|(name, _)| *name)
}
