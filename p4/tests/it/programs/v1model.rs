//! A v1model switch in virtual time: a packet in, its clone and replicas out.

use super::externs::DROP_PORT;
use super::load::{annotation, number_of};
use super::switch::{Left, Switch};
use super::value::Value;

/// Kinds of instances at egress, as bmv2's simple_switch numbers them.
const NORMAL: u128 = 0;
const INGRESS_CLONE: u128 = 1;
const REPLICATION: u128 = 5;

impl Switch<'_> {
    /// A frame enters at a port: the frames that leave, clones first, as they are made at ingress.
    pub(super) fn receive_v1model(&mut self, port: u128, frame: &[u8], time: u128) -> Vec<Left> {
        let [parser, _, ingress, egress, checksum, deparser] = self.blocks.clone().try_into().unwrap();
        let program = self.machine.program;
        let mut standard = self.named("standard_metadata_t");
        standard.member("ingress_port").set(&Value::Bits(port, 9));
        standard.member("ingress_global_timestamp").set(&Value::Bits(time, 48));
        let ([headers, meta, standard], payload) = self.parsed(&parser, frame, standard);

        let mut at_ingress = [headers.clone(), meta.clone(), standard];
        self.machine.externs.cloned_to = None;
        self.machine.run(&ingress, &ingress, &mut at_ingress);
        let [left_headers, mut left_meta, mut standard] = at_ingress;
        let mut copies: Vec<(u128, u128, u128, Value, Value)> = Vec::new();
        if let Some((session, list)) = self.machine.externs.cloned_to {
            // The packet as it entered, with the fields that the program keeps.
            let mut kept = meta;
            for field in &program.structs["metadata_t"].fields {
                let is_kept = annotation(&field.annotations, "field_list").is_some();
                if is_kept && u128::from(number_of(&field.annotations, "field_list")) == list {
                    kept.member(&field.name).set(left_meta.member(&field.name));
                }
            }
            let to = *self.sessions.get(&session).unwrap_or_else(|| panic!("there is no session {session}"));
            copies.push((INGRESS_CLONE, to, 0, headers, kept));
        }
        let group = standard.member("mcast_grp").number();
        let to = standard.member("egress_spec").number();
        if group != 0 {
            for (port, replica) in self.replicas(group, left_meta.get("fate")) {
                copies.push((REPLICATION, *port, *replica, left_headers.clone(), left_meta.clone()));
            }
        } else if to != DROP_PORT {
            copies.push((NORMAL, to, 0, left_headers, left_meta));
        }

        let mut left = Vec::new();
        for (kind, port, replica, headers, meta) in copies {
            let mut standard = standard.clone();
            for (name, value) in [
                ("instance_type", kind),
                ("egress_port", port),
                ("egress_spec", port),
                ("egress_rid", replica),
            ] {
                standard.member(name).set(&Value::Bits(value, 0));
            }
            let mut at_egress = [headers, meta, standard];
            self.machine.run(&egress, &egress, &mut at_egress);
            let [headers, meta, mut standard] = at_egress;
            if standard.member("egress_spec").number() == DROP_PORT {
                continue;
            }
            let mut checked = [headers, meta];
            self.machine.run(&checksum, &checksum, &mut checked);
            let [headers, _] = checked;
            self.machine.output.clear();
            self.machine.run(&deparser, &deparser, &mut [Value::Packet, headers]);
            left.push((port, [self.machine.output.as_slice(), &payload].concat()));
        }
        left
    }
}
