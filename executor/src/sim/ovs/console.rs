//! What the kernel of a simulated host logs when its software or its NIC fails.

use dumper::observation::kernel::SILENT;
use dumper::{LogLine, Nanos};

/// A failure of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// An operation has waited for longer than allowed, in ms.
    Stagnates(u32),
    /// The driver frees an entry that was not created.
    Crashes,
    /// The NIC answers nothing.
    Unresponsive,
}

impl Failure {
    /// Its lines.
    pub(super) fn lines(self, now: Nanos) -> Vec<LogLine> {
        let lines: Vec<String> = match self {
            Self::Stagnates(ms) => vec![
                format!("INFO: task ovs-vswitchd:1 blocked for more than {} seconds.", ms.div_ceil(1_000)),
                "Call Trace:".into(),
                " <TASK>".into(),
                " schedule+0x5a/0xd0".into(),
                " eswitch_operation_wait+0x8c/0x110 [eswitch]".into(),
                " </TASK>".into(),
            ],
            Self::Crashes => vec![
                "BUG: kernel NULL pointer dereference, address: 0000000000000010".into(),
                "Oops: 0000 [#1] PREEMPT SMP".into(),
                "RIP: 0010:eswitch_entry_free+0x14/0x90 [eswitch]".into(),
                "---[ end trace 0000000000000000 ]---".into(),
            ],
            Self::Unresponsive => vec![format!("{SILENT}the NIC has not answered a command for a tunnel")],
        };
        lines.iter().map(|line| LogLine::new(now.0 / 1_000, line)).collect()
    }
}
