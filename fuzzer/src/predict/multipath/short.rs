//! Fields of an engine that are too small for a setting.

use executor::profile::{LossBy, ReorderEngine};

use super::field::{FieldValue, Short};
use super::sender::Sender;
use super::{Engine, Setting};

impl Setting {
    /// Fields that are too small for the distances at full speed.
    pub(super) fn short(&self, engine: &Engine) -> Vec<Short> {
        let reach = self.reach(&engine.sender);
        self.small(engine, reach).into_iter().chain(losses(engine, reach)).collect()
    }

    /// Widest distance in PSNs from the first missing packet to one that arrives, counted from 1, at full speed; 1 if all come in order.
    fn reach(&self, sender: &Sender) -> u64 {
        let distance = self.distance(self.packet_ns().max(sender.packet_ns.0 as f64));
        if distance < 1.0 {
            return 1;
        }
        let reach = distance.ceil() as u64 + 1;
        match sender.window_packets {
            0 => reach,
            window => reach.min(window.into()),
        }
    }

    /// Fields that leave no room for packets out of order.
    fn small(&self, Engine { reorder, .. }: &Engine, reach: u64) -> Vec<Short> {
        let is = |engine| reorder.engine == engine;
        let checks = [
            (
                reorder.keeps_packets(),
                "reorder.span-packets",
                reorder.span_packets,
                reach,
                "packets beyond it are dropped",
            ),
            (
                is(ReorderEngine::Pool),
                "reorder.blocks",
                reorder.blocks,
                reach.div_ceil(reorder.block_bits.into()) * u64::from(self.connections),
                "packets that find no block are dropped",
            ),
            (
                is(ReorderEngine::Left) && reorder.caches > 0,
                "reorder.cache-bits",
                reorder.cache_bits,
                reach,
                "bitmaps that reach further stay in the pool",
            ),
        ];
        checks
            .into_iter()
            .filter(|(counts, _, is, needs, _)| *counts && u64::from(*is) < *needs)
            .map(|(_, field, is, needs, otherwise)| Short {
                field,
                is: FieldValue::Number(is.into()),
                needs: FieldValue::Number(needs),
                otherwise,
            })
            .collect()
    }
}

/// The field by which packets of the long path count as lost.
fn losses(Engine { reorder, .. }: &Engine, reach: u64) -> Option<Short> {
    if reach <= 1 || !reorder.keeps_packets() {
        return None;
    }
    // A packet counts as lost once the distance has reached the span.
    let enough = reach + 1;
    match reorder.loss_by {
        LossBy::Psn => Some(Short {
            field: "reorder.loss-by",
            is: FieldValue::Word("psn"),
            needs: FieldValue::Word("span"),
            otherwise: "packets that another one overtakes count as lost and are sent again (spurious NAKs and retransmissions)",
        }),
        LossBy::Span if u64::from(reorder.loss_span_packets) < enough => Some(Short {
            field: "reorder.loss-span-packets",
            is: FieldValue::Number(reorder.loss_span_packets.into()),
            needs: FieldValue::Number(enough),
            otherwise: "delayed packets count as lost and are sent again (spurious NAKs and retransmissions)",
        }),
        LossBy::Span | LossBy::Timer => None,
    }
}

#[cfg(test)]
mod tests {
    use dumper::Nanos;
    use executor::profile::Reorder;

    use super::*;
    use crate::predict::multipath::SETTING;

    fn engine(window_packets: u32, change: impl Fn(&mut Reorder)) -> Engine {
        let mut reorder = Reorder {
            engine: ReorderEngine::Ring,
            span_packets: 4_608,
            loss_span_packets: 4_608,
            ..Reorder::default()
        };
        change(&mut reorder);
        Engine { name: "mine".into(), reorder, sender: Sender { window_packets, ..Sender::default() } }
    }

    /// Fields, each with its value and the one that is enough.
    fn short(setting: &Setting, engine: &Engine) -> Vec<String> {
        let said = |Short { field, is, needs, .. }: &Short| format!("{field} {is} {needs}");
        setting.short(engine).iter().map(said).collect()
    }

    /// A connection has 840.9 packets in 186 µs: 841 beyond a missing one, which is the first of 842. Runs have no spurious NAK from 830 on.
    #[test]
    fn losses_by_distance_are_spurious() {
        let span = |packets| engine(0, |reorder| reorder.loss_span_packets = packets);
        assert!(short(&SETTING, &span(4_608)).is_empty());
        assert!(short(&SETTING, &span(843)).is_empty());
        assert_eq!(short(&SETTING, &span(842)), ["reorder.loss-span-packets 842 843"]);
        let by = |loss_by| engine(0, |reorder| (reorder.loss_by, reorder.loss_span_packets) = (loss_by, 64));
        assert_eq!(short(&SETTING, &by(LossBy::Psn)), ["reorder.loss-by \"psn\" \"span\""]);
        assert!(short(&SETTING, &by(LossBy::Timer)).is_empty());
    }

    /// A window bounds distances.
    #[test]
    fn a_window_needs_less() {
        let small =
            |window| engine(window, |reorder| (reorder.span_packets, reorder.loss_span_packets) = (64, 65));
        assert!(short(&SETTING, &small(64)).is_empty());
        assert_eq!(
            short(&SETTING, &small(65)),
            ["reorder.span-packets 64 65", "reorder.loss-span-packets 65 66"]
        );
        assert_eq!(short(&SETTING, &engine(1, |reorder| reorder.loss_by = LossBy::Psn)), [""; 0]);
    }

    /// Packets of a connection are farther apart than the delay, or take no notice of it.
    #[test]
    fn packets_in_order_are_not_lost() {
        let near = Setting { delay_ns: Nanos(200), ..SETTING };
        let psn = engine(0, |reorder| (reorder.loss_by, reorder.span_packets) = (LossBy::Psn, 1));
        assert!(short(&near, &psn).is_empty());
        let go_back_n = engine(0, |reorder| {
            (reorder.engine, reorder.loss_by) = (ReorderEngine::None, LossBy::Psn);
        });
        assert!(short(&SETTING, &go_back_n).is_empty());
    }
}
