// Event injector for v1model switches (bmv2): drops, marks, corrupts and duplicates the packets that entries name, and
// mirrors every packet to the dumpers (docs/p4.md).

#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/packet.p4"
#include "include/events.p4"
#include "include/copies.p4"

// Instances of packets at egress, as bmv2 numbers them.
const bit<32> INSTANCE_INGRESS_CLONE = 1;
// Fields that a mirrored packet keeps.
const bit<8> MIRRORED = 1;

struct metadata_t {
    @field_list(1) bit<48> time;
    @field_list(1) bit<32> sequence;
    @field_list(1) bit<8> event;
    fate_t fate;
    packet_t packet;
}

parser InjectorParser(
        packet_in packet,
        out headers_t hdr,
        inout metadata_t meta,
        inout standard_metadata_t standard) {
    RoceParser() roce;
    state start {
        roce.apply(packet, hdr);
        transition accept;
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

// Registers hold the epoch of the test that wrote them, in their high bits.
control Registers(inout packet_t packet) {
    register<bit<64>>(FLOWS) last_psns;
    register<bit<64>>(FLOWS) iters;
    register<bit<64>>(OCCURRENCES) occurrences;
    bit<64> cell;
    bit<32> at;
    Round() round;

    apply {
        if (packet.is_data == 1) {
            last_psns.read(cell, packet.flow);
            packet.last_psn = 0;
            if (cell[63:32] == packet.epoch) {
                packet.last_psn = cell[31:0];
            }
            last_psns.write(packet.flow, packet.epoch ++ packet.psn);
            packet.steps = packet.psn - packet.last_psn;
            round.apply(packet);
            iters.read(cell, packet.flow);
            packet.iter = 1;
            if (cell[63:32] == packet.epoch && packet.round != ROUND_FIRST) {
                packet.iter = cell[31:0];
            }
            if (packet.round == ROUND_AGAIN) {
                packet.iter = packet.iter |+| 1;
            }
            iters.write(packet.flow, packet.epoch ++ packet.iter);
        } else if (packet.is_control == 1) {
            // Events name CNPs of both directions, Read requests towards the responder, and acknowledgements towards the requester.
            if (packet.kind == KIND_CNP
                    || (packet.kind == KIND_READ_REQUEST && packet.flow[0:0] == 1)
                    || (packet.kind != KIND_READ_REQUEST && packet.flow[0:0] == 0)) {
                at = 16w0 ++ packet.flow[14:1] ++ packet.kind[1:0];
                occurrences.read(cell, at);
                packet.nth = 1;
                if (cell[63:32] == packet.epoch) {
                    packet.nth = cell[31:0] |+| 1;
                }
                occurrences.write(at, packet.epoch ++ packet.nth);
            }
            // Entries for CNPs have the flow towards the requester.
            if (packet.kind == KIND_CNP) {
                packet.flow[0:0] = 0;
            }
        }
    }
}

// PSNs that NAKs have asked for. A cell holds the newest one; 0 is none, as no tag is 0.
control Asked(in bit<24> psn, inout packet_t packet, in fate_t fate) {
    register<bit<64>>(ASKED) asked_psns;
    bit<32> at;
    bit<64> asked;
    bit<64> cell;

    apply {
        at = 20w0 ++ psn[11:0];
        packet.asked_psn = (bit<32>)psn;
        asked = packet.asked_tag ++ packet.asked_psn;
        if (packet.is_data == 1 && packet.flow[0:0] == 1) {
            asked_psns.read(cell, at);
            if (cell == asked) {
                packet.is_asked = 1;
                asked_psns.write(at, 0);
            }
        } else if (packet.asks_again == 1 && packet.flow[0:0] == 0 && (fate.copies != 0 || fate.is_intact == 1)) {
            asked_psns.write(at, asked);
        }
    }
}

// The next mirror sequence number, and the dumper whose turn it is.
control Mirror(in packet_t packet, inout bit<32> sequence) {
    register<bit<64>>(1) sequences;
    register<bit<64>>(1) turns;
    bit<64> cell;
    bit<32> turn;

    @id(0x0100000b) @name(".ingress.mirror_to")
    action mirror_to(@id(1) bit<16> session) {
        clone_preserving_field_list(CloneType.I2E, (bit<32>)session, MIRRORED);
    }
    @hidden action none() {
    }
    @id(0x0200000c) @name(".ingress.dumpers")
    table dumpers {
        key = {
            turn: exact @id(1) @name("turn");
        }
        actions = {
            mirror_to;
            @defaultonly none;
        }
        const default_action = none();
        size = 1024;
    }

    apply {
        sequences.read(cell, 0);
        sequence = 1;
        if (cell[63:32] == packet.epoch && cell[31:0] != MAX_SEQUENCE) {
            sequence = cell[31:0] + 1;
        }
        sequences.write(0, packet.epoch ++ sequence);
        turns.read(cell, 0);
        turn = 0;
        if (cell[63:32] == packet.epoch && cell[31:0] != packet.last_turn) {
            turn = cell[31:0] + 1;
        }
        turns.write(0, packet.epoch ++ turn);
        dumpers.apply();
    }
}

control InjectorIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x12000001) @name(".ingress.port_ingress")
    counter(PORTS, CounterType.packets) port_ingress;

    bool is_known;
    Kinds() kinds;
    Flow() flow;
    Registers() registers;
    Events() events;
    NakCopies() nak_copies;
    Asked() asked;
    DataCopies() data_copies;
    Leaving() leaving;
    Mirror() mirror;

    @id(0x0100000a) @name(".ingress.forward_to")
    action forward_to(
            @id(1) bit<9> port,
            @id(2) bit<32> epoch,
            @id(3) bit<16> group,
            @id(4) bit<32> turn) {
        standard.egress_spec = port;
        meta.packet.epoch = epoch;
        meta.fate.group = group;
        meta.packet.last_turn = turn;
    }
    @hidden action drop() {
        mark_to_drop(standard);
    }
    @id(0x0200000b) @name(".ingress.forward")
    table forward {
        key = {
            standard.ingress_port: exact @id(1) @name("port");
        }
        actions = {
            forward_to;
            @defaultonly drop;
        }
        const default_action = drop();
        size = 16;
    }

    apply {
        if (forward.apply().hit && hdr.bth.isValid()) {
            port_ingress.count((bit<32>)standard.ingress_port);
            if (hdr.ipv4.isValid()) {
                meta.packet.destination = 96w0xffff ++ hdr.ipv4.destination;
            } else {
                meta.packet.destination = hdr.ipv6.destination;
            }
            meta.packet.psn = (bit<32>)hdr.bth.psn;
            kinds.apply(hdr, meta.packet);
            flow.apply(hdr, meta.packet, is_known);
            if (is_known) {
                registers.apply(meta.packet);
                events.apply(hdr, meta.packet, meta.fate);
                if (meta.fate.drop == 0 && meta.fate.corrupt == 0) {
                    meta.fate.is_intact = 1;
                }
                nak_copies.apply(meta.packet, meta.fate);
                asked.apply(hdr.bth.psn, meta.packet, meta.fate);
                if (meta.packet.is_data == 1) {
                    data_copies.apply(meta.packet, meta.fate);
                }
            }
            leaving.apply(meta.fate);
            meta.time = standard.ingress_global_timestamp;
            meta.event = meta.fate.event;
            mirror.apply(meta.packet, meta.sequence);
            if (meta.fate.replicas == 0) {
                mark_to_drop(standard);
            } else if (meta.fate.originals != 1 || meta.fate.replicas != 1) {
                standard.mcast_grp = meta.fate.group;
            }
        }
    }
}

control InjectorEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x12000002) @name(".egress.port_egress")
    counter(PORTS, CounterType.packets) port_egress;

    bit<1> is_dropped;
    bit<32> port;
    bit<16> dumper_port;
    Marks() marks;
    Leave() leave;

    apply {
        is_dropped = 0;
        if (hdr.bth.isValid()) {
            if (standard.instance_type == INSTANCE_INGRESS_CLONE) {
                marks.apply(hdr, meta.sequence, meta.time, meta.event);
                // Receive-side scaling of the dumpers hashes it.
                random(dumper_port, 0, 0xffff);
                hdr.udp.destination_port = dumper_port;
            } else {
                leave.apply(hdr, meta.fate, standard.egress_rid, is_dropped);
            }
            if (is_dropped == 1) {
                mark_to_drop(standard);
            } else {
                port = (bit<32>)standard.egress_port;
                port_egress.count(port);
            }
        }
    }
}

control Checksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid() && hdr.bth.isValid(),
            {
                hdr.ipv4.version,
                hdr.ipv4.words,
                hdr.ipv4.dscp,
                hdr.ipv4.ecn,
                hdr.ipv4.length,
                hdr.ipv4.identification,
                hdr.ipv4.fragment,
                hdr.ipv4.ttl,
                hdr.ipv4.protocol,
                hdr.ipv4.source,
                hdr.ipv4.destination
            },
            hdr.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control InjectorDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(
    InjectorParser(),
    VerifyNothing(),
    InjectorIngress(),
    InjectorEgress(),
    Checksum(),
    InjectorDeparser()) main;
