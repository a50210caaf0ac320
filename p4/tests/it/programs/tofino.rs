//! A Tofino switch in virtual time: a packet in, its mirrored copy and replicas out.

use super::switch::{Left, Switch};
use super::value::Value;

/// The unicast port of a packet that has none.
const NO_PORT: u128 = 0x1ff;

impl Switch<'_> {
    /// A frame enters at a port: the frames that leave, mirrored ones first.
    pub(super) fn receive_tofino(&mut self, port: u128, frame: &[u8], time: u128) -> Vec<Left> {
        let [parser, ingress, deparser, ..] = <[String; 6]>::try_from(self.blocks.clone()).unwrap();
        let mut intrinsic = self.named("ingress_intrinsic_metadata_t");
        intrinsic.member("ingress_port").set(&Value::Bits(port, 9));
        intrinsic.member("ingress_mac_tstamp").set(&Value::Bits(time, 48));
        let ([headers, meta, intrinsic], payload) = self.parsed(&parser, frame, intrinsic);
        let mut for_tm = self.named("ingress_intrinsic_metadata_for_tm_t");
        for_tm.member("ucast_egress_port").set(&Value::Bits(NO_PORT, 9));
        let mut at_ingress = [
            headers,
            meta,
            intrinsic,
            self.named("ingress_intrinsic_metadata_from_parser_t"),
            self.named("ingress_intrinsic_metadata_for_deparser_t"),
            for_tm,
        ];
        self.machine.run(&ingress, &ingress, &mut at_ingress);
        let [headers, meta, _, _, mut for_deparser, mut for_tm] = at_ingress;
        let fate = meta.get("fate").clone();
        let is_dropped = for_deparser.member("drop_ctl").number() & 1 == 1;
        self.machine.externs.mirrored_to = None;
        self.machine.output.clear();
        self.machine.run(&deparser, &deparser, &mut [Value::Packet, headers, meta, for_deparser]);
        let bridged = [self.machine.output.as_slice(), &payload].concat();

        // Ports, instances, and bytes of the packets in the traffic manager.
        let mut packets: Vec<(u128, u128, Vec<u8>)> = Vec::new();
        if let Some((session, header)) = self.machine.externs.mirrored_to.take() {
            let to = *self.sessions.get(&session).unwrap_or_else(|| panic!("there is no session {session}"));
            // The packet as it entered, behind the header.
            packets.push((to, 0, [header.bytes(), frame.to_vec()].concat()));
        }
        if !is_dropped {
            let (group, to) =
                (for_tm.member("mcast_grp_a").number(), for_tm.member("ucast_egress_port").number());
            if group != 0 {
                let members = self.replicas(group, &fate);
                packets.extend(members.iter().map(|(port, replica)| (*port, *replica, bridged.clone())));
            }
            if to != NO_PORT {
                packets.push((to, 0, bridged));
            }
        }
        packets.into_iter().filter_map(|(port, replica, bytes)| self.leave(port, replica, &bytes)).collect()
    }

    /// A packet at egress, if it leaves.
    fn leave(&mut self, port: u128, replica: u128, bytes: &[u8]) -> Option<Left> {
        let [.., parser, egress, deparser] = <[String; 6]>::try_from(self.blocks.clone()).unwrap();
        let mut intrinsic = self.named("egress_intrinsic_metadata_t");
        intrinsic.member("egress_port").set(&Value::Bits(port, 9));
        intrinsic.member("egress_rid").set(&Value::Bits(replica, 16));
        let ([headers, meta, intrinsic], payload) = self.parsed(&parser, bytes, intrinsic);
        let mut at_egress = [
            headers,
            meta,
            intrinsic,
            self.named("egress_intrinsic_metadata_from_parser_t"),
            self.named("egress_intrinsic_metadata_for_deparser_t"),
            self.named("egress_intrinsic_metadata_for_output_port_t"),
        ];
        self.machine.run(&egress, &egress, &mut at_egress);
        let [headers, meta, _, _, mut for_deparser, _] = at_egress;
        if for_deparser.member("drop_ctl").number() & 1 == 1 {
            return None;
        }
        self.machine.output.clear();
        self.machine.run(&deparser, &deparser, &mut [Value::Packet, headers, meta, for_deparser]);
        Some((port, [self.machine.output.as_slice(), &payload].concat()))
    }
}
