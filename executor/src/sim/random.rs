//! Random streams: one for each component, so that one's draws do not move another's.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::profile::Span;

/// Components with a stream of their own.
#[derive(Clone, Copy)]
pub(super) enum Component {
    /// QPNs and PSNs.
    Metadata,
    /// A host's NIC, by place of the host.
    Nic(usize),
    /// A host's software, by place of the host.
    Host(usize),
    /// The way from a host's cable to its transport, by place of the host.
    Receive(usize),
}

/// The stream of a component.
pub(super) fn stream(seed: u64, component: Component) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(match component {
        Component::Metadata => 0,
        Component::Nic(host) => 1 + host as u64,
        Component::Host(host) => 3 + host as u64,
        Component::Receive(host) => 5 + host as u64,
    });
    rng
}

/// A value of a span; draws nothing for a span of one value.
#[inline]
pub(super) fn draw(span: Span<u64>, rng: &mut ChaCha8Rng) -> u64 {
    if span.min >= span.max { span.min } else { rng.random_range(span.min..=span.max) }
}

/// A value of a span of factors.
#[inline]
pub(super) fn draw_factor(span: Span<f64>, rng: &mut ChaCha8Rng) -> f64 {
    if span.min >= span.max { span.min } else { rng.random_range(span.min..=span.max) }
}
