//! The injector's rounds of transmission, and the paper's measurements of its hardware (Lumina §3 and §5).

use crate::measure::{Seen, Value};
use crate::paper::{Basis, Claim, Hardware, Nics, Published, Setup};

/// Figure 3.
pub(super) const ITERATIONS: &[Claim] = &[Claim {
    what: "Order on the wire: (PSN 2, ITER 1), (PSN 3, ITER 2) lost",
    nics: &[Nics::both("reference")],
    published: Published::Words("1 2x 3 4 2 3x 4 3 4"),
    basis: Basis::Derived,
    unit: "",
    source: "Lumina fig. 3",
    setup: Setup::Iterations,
    measure: |seen| Some(Value::Words(seen.first().map(Seen::wire_order)?)),
}];

/// Measurements that need a switch, dumpers and cables.
pub const HARDWARE: &[Hardware] = &[
    Hardware { what: "Latency that the event injector adds", published: "< 0.4 µs", source: "Lumina §5" },
    Hardware { what: "Pipeline stages of the event injector", published: "4", source: "Lumina §5" },
    Hardware {
        what: "Memory for 100 K events on 10 K connections",
        published: "about 1 MB",
        source: "Lumina §5",
    },
    Hardware {
        what: "MCT with injection tables over plain L2 forwarding",
        published: "+ 4.1 to 7.2 %",
        source: "Lumina §5",
    },
    Hardware { what: "MCT with mirroring over without", published: "no difference", source: "Lumina §5" },
    Hardware {
        what: "Runs with a complete dump, without load balancing",
        published: "30 % (preprint: 23 %)",
        source: "Lumina §3.4",
    },
    Hardware {
        what: "Runs with a complete dump, per-packet load balancing",
        published: "nearly 100 % (preprint: 100 %)",
        source: "Lumina §3.4",
    },
    Hardware { what: "Priority flow control", published: "off", source: "Lumina §6" },
    Hardware { what: "Bytes of each packet that are dumped", published: "128", source: "Lumina §5" },
];
