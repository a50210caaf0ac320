// Event injector for Tofino: the same tables as for v1model, with registers that a stateful ALU updates.

#ifndef TNA_P4
#define TNA_P4

#include "constants.p4"
#include "headers.p4"
#include "parser.p4"
#include "packet.p4"
#include "events.p4"
#include "copies.p4"

// Headers before the packet on its way from ingress to egress, told apart by their first byte.
const bit<8> BRIDGED = 1;
const bit<8> MIRRORED = 2;
// Mirror type of the mirrored packet.
const MirrorType_t MIRROR_TYPE = 1;

header bridged_h {
    bit<8> source;
    bit<1> drop;
    bit<1> ecn;
    bit<1> corrupt;
    bit<5> padding;
    bit<16> originals;
    bit<8> copies;
}

header mirrored_h {
    bit<8> source;
    bit<8> event;
    bit<32> sequence;
    bit<48> time;
}

// A cell of a register: the epoch of the test that wrote it, and its value.
struct cell_t {
    bit<32> epoch;
    bit<32> value;
}

struct metadata_t {
    bridged_h bridged;
    mirrored_h mirrored;
    MirrorId_t session;
    // The other host's port.
    PortId_t port;
    packet_t packet;
    fate_t fate;
}

parser IngressParser(
        packet_in packet,
        out headers_t hdr,
        out metadata_t meta,
        out ingress_intrinsic_metadata_t intrinsic) {
    RoceParser() roce;
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        roce.apply(packet, hdr);
        transition accept;
    }
}

// Rounds of transmission.
control Rounds(inout packet_t packet) {
    Register<cell_t, bit<32>>(FLOWS) last_psns;
    RegisterAction<cell_t, bit<32>, bit<32>>(last_psns) next_psn = {
        void apply(inout cell_t cell, out bit<32> last) {
            if (cell.epoch == packet.epoch) {
                last = cell.value;
            } else {
                last = 0;
            }
            cell.epoch = packet.epoch;
            cell.value = packet.psn;
        }
    };
    Register<cell_t, bit<32>>(FLOWS) iters;
    RegisterAction<cell_t, bit<32>, bit<32>>(iters) same_round = {
        void apply(inout cell_t cell, out bit<32> iter) {
            if (cell.epoch != packet.epoch) {
                cell.value = 1;
            }
            cell.epoch = packet.epoch;
            iter = cell.value;
        }
    };
    RegisterAction<cell_t, bit<32>, bit<32>>(iters) next_round = {
        void apply(inout cell_t cell, out bit<32> iter) {
            if (cell.epoch == packet.epoch) {
                cell.value = cell.value |+| 1;
            } else {
                cell.value = 2;
            }
            cell.epoch = packet.epoch;
            iter = cell.value;
        }
    };
    RegisterAction<cell_t, bit<32>, bit<32>>(iters) first_round = {
        void apply(inout cell_t cell, out bit<32> iter) {
            cell.value = 1;
            cell.epoch = packet.epoch;
            iter = cell.value;
        }
    };
    Round() round;

    apply {
        packet.last_psn = next_psn.execute(packet.flow);
        packet.steps = packet.psn - packet.last_psn;
        round.apply(packet);
        if (packet.round == ROUND_AGAIN) {
            packet.iter = next_round.execute(packet.flow);
        } else if (packet.round == ROUND_FIRST) {
            packet.iter = first_round.execute(packet.flow);
        } else {
            packet.iter = same_round.execute(packet.flow);
        }
    }
}

// Numbers of control packets.
control Occurrences(inout packet_t packet) {
    Register<cell_t, bit<32>>(OCCURRENCES) occurrences;
    RegisterAction<cell_t, bit<32>, bit<32>>(occurrences) next = {
        void apply(inout cell_t cell, out bit<32> nth) {
            if (cell.epoch == packet.epoch) {
                cell.value = cell.value |+| 1;
            } else {
                cell.value = 1;
            }
            cell.epoch = packet.epoch;
            nth = cell.value;
        }
    };

    apply {
        // Events name CNPs of both directions, Read requests towards the responder, and acknowledgements towards the requester.
        if (packet.kind == KIND_CNP
                || (packet.kind == KIND_READ_REQUEST && packet.flow[0:0] == 1)
                || (packet.kind != KIND_READ_REQUEST && packet.flow[0:0] == 0)) {
            packet.nth = next.execute(16w0 ++ packet.flow[14:1] ++ packet.kind[1:0]);
        }
        // Entries for CNPs have the flow towards the requester.
        if (packet.kind == KIND_CNP) {
            packet.flow[0:0] = 0;
        }
    }
}

// PSNs that NAKs have asked for: the tag stands where other cells have the epoch. 0 is none, as no tag is 0.
control Asked(in bit<24> psn, inout packet_t packet, in fate_t fate) {
    Register<cell_t, bit<32>>(ASKED) asked_psns;
    RegisterAction<cell_t, bit<32>, bit<1>>(asked_psns) take = {
        void apply(inout cell_t cell, out bit<1> is_asked) {
            if (cell.epoch == packet.asked_tag && cell.value == packet.asked_psn) {
                is_asked = 1;
                cell.epoch = 0;
            } else {
                is_asked = 0;
            }
        }
    };
    RegisterAction<cell_t, bit<32>, bit<1>>(asked_psns) put = {
        void apply(inout cell_t cell) {
            cell.epoch = packet.asked_tag;
            cell.value = packet.asked_psn;
        }
    };

    apply {
        packet.asked_psn = (bit<32>)psn;
        if (packet.is_data == 1 && packet.flow[0:0] == 1) {
            packet.is_asked = take.execute(20w0 ++ psn[11:0]);
        } else if (packet.asks_again == 1 && packet.flow[0:0] == 0 && (fate.copies != 0 || fate.is_intact == 1)) {
            put.execute(20w0 ++ psn[11:0]);
        }
    }
}

// The next mirror sequence number, and the dumper whose turn it is.
control Mirroring(in packet_t packet, inout bit<32> sequence, inout MirrorId_t to) {
    Register<cell_t, bit<1>>(1) sequences;
    RegisterAction<cell_t, bit<1>, bit<32>>(sequences) next_sequence = {
        void apply(inout cell_t cell, out bit<32> next) {
            if (cell.epoch == packet.epoch && cell.value != MAX_SEQUENCE) {
                cell.value = cell.value + 1;
            } else {
                cell.value = 1;
            }
            cell.epoch = packet.epoch;
            next = cell.value;
        }
    };
    Register<cell_t, bit<1>>(1) turns;
    RegisterAction<cell_t, bit<1>, bit<32>>(turns) next_turn = {
        void apply(inout cell_t cell, out bit<32> next) {
            if (cell.epoch == packet.epoch && cell.value != packet.last_turn) {
                cell.value = cell.value + 1;
            } else {
                cell.value = 0;
            }
            cell.epoch = packet.epoch;
            next = cell.value;
        }
    };
    bit<32> turn;

    @id(0x0100000b) @name(".ingress.mirror_to")
    action mirror_to(@id(1) bit<16> session) {
        to = (MirrorId_t)session;
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
        sequence = next_sequence.execute(0);
        turn = next_turn.execute(0);
        dumpers.apply();
    }
}

control Ingress(
        inout headers_t hdr,
        inout metadata_t meta,
        in ingress_intrinsic_metadata_t intrinsic,
        in ingress_intrinsic_metadata_from_parser_t from_parser,
        inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
        inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @id(0x12000001) @name(".ingress.port_ingress")
    Counter<bit<64>, PortId_t>(PORTS, CounterType_t.PACKETS) port_ingress;

    bool is_known;
    Kinds() kinds;
    Flow() flow;
    Rounds() rounds;
    Occurrences() occurrences;
    Events() events;
    NakCopies() nak_copies;
    Asked() asked;
    DataCopies() data_copies;
    Leaving() leaving;
    Mirroring() mirroring;

    @id(0x0100000a) @name(".ingress.forward_to")
    action forward_to(
            @id(1) bit<9> port,
            @id(2) bit<32> epoch,
            @id(3) bit<16> group,
            @id(4) bit<32> turn) {
        meta.port = port;
        meta.packet.epoch = epoch;
        meta.fate.group = group;
        meta.packet.last_turn = turn;
    }
    // A packet with neither a port nor a group does not leave.
    @hidden action drop() {
    }
    @id(0x0200000b) @name(".ingress.forward")
    table forward {
        key = {
            intrinsic.ingress_port: exact @id(1) @name("port");
        }
        actions = {
            forward_to;
            @defaultonly drop;
        }
        const default_action = drop();
        size = 16;
    }

    apply {
        if (forward.apply().hit) {
            if (hdr.bth.isValid()) {
                port_ingress.count(intrinsic.ingress_port);
                if (hdr.ipv4.isValid()) {
                    meta.packet.destination = 96w0xffff ++ hdr.ipv4.destination;
                } else {
                    meta.packet.destination = hdr.ipv6.destination;
                }
                meta.packet.psn = (bit<32>)hdr.bth.psn;
                kinds.apply(hdr, meta.packet);
                flow.apply(hdr, meta.packet, is_known);
                if (is_known) {
                    if (meta.packet.is_data == 1) {
                        rounds.apply(meta.packet);
                    } else if (meta.packet.is_control == 1) {
                        occurrences.apply(meta.packet);
                    }
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
                for_deparser.mirror_type = MIRROR_TYPE;
                meta.mirrored.source = MIRRORED;
                meta.mirrored.time = intrinsic.ingress_mac_tstamp;
                mirroring.apply(meta.packet, meta.mirrored.sequence, meta.session);
                if (meta.fate.originals == 1 && meta.fate.replicas == 1) {
                    for_tm.ucast_egress_port = meta.port;
                } else if (meta.fate.replicas != 0) {
                    for_tm.mcast_grp_a = meta.fate.group;
                }
            } else {
                for_tm.ucast_egress_port = meta.port;
            }
            meta.bridged.setValid();
            meta.bridged.source = BRIDGED;
            meta.bridged.drop = meta.fate.drop;
            meta.bridged.ecn = meta.fate.ecn;
            meta.bridged.corrupt = meta.fate.corrupt;
            meta.bridged.originals = meta.fate.originals;
            meta.bridged.copies = meta.fate.copies;
        }
    }
}

control IngressDeparser(
        packet_out packet,
        inout headers_t hdr,
        in metadata_t meta,
        in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Mirror() mirror;
    apply {
        if (for_deparser.mirror_type == MIRROR_TYPE) {
            mirror.emit<mirrored_h>(
                meta.session,
                { meta.mirrored.source, meta.fate.event, meta.mirrored.sequence, meta.mirrored.time });
        }
        packet.emit(meta.bridged);
        packet.emit(hdr);
    }
}

parser EgressParser(
        packet_in packet,
        out headers_t hdr,
        out metadata_t meta,
        out egress_intrinsic_metadata_t intrinsic) {
    RoceParser() roce;
    state start {
        packet.extract(intrinsic);
        transition select(packet.lookahead<bit<8>>()) {
            BRIDGED: bridged;
            MIRRORED: mirrored;
        }
    }
    state bridged {
        packet.extract(meta.bridged);
        transition frame;
    }
    state mirrored {
        packet.extract(meta.mirrored);
        transition frame;
    }
    state frame {
        roce.apply(packet, hdr);
        transition accept;
    }
}

control Egress(
        inout headers_t hdr,
        inout metadata_t meta,
        in egress_intrinsic_metadata_t intrinsic,
        in egress_intrinsic_metadata_from_parser_t from_parser,
        inout egress_intrinsic_metadata_for_deparser_t for_deparser,
        inout egress_intrinsic_metadata_for_output_port_t for_port) {
    @id(0x12000002) @name(".egress.port_egress")
    Counter<bit<64>, PortId_t>(PORTS, CounterType_t.PACKETS) port_egress;
    Random<bit<16>>() dumper_ports;

    bit<1> is_dropped;
    Marks() marks;
    Leave() leave;

    apply {
        is_dropped = 0;
        if (hdr.bth.isValid()) {
            if (meta.mirrored.isValid()) {
                marks.apply(hdr, meta.mirrored.sequence, meta.mirrored.time, meta.mirrored.event);
                // Receive-side scaling of the dumpers hashes it.
                hdr.udp.destination_port = dumper_ports.get();
            } else {
                meta.fate.drop = meta.bridged.drop;
                meta.fate.ecn = meta.bridged.ecn;
                meta.fate.corrupt = meta.bridged.corrupt;
                meta.fate.originals = meta.bridged.originals;
                meta.fate.copies = meta.bridged.copies;
                leave.apply(hdr, meta.fate, intrinsic.egress_rid, is_dropped);
            }
            if (is_dropped == 1) {
                for_deparser.drop_ctl = 1;
            } else {
                port_egress.count(intrinsic.egress_port);
            }
        }
    }
}

control EgressDeparser(
        packet_out packet,
        inout headers_t hdr,
        in metadata_t meta,
        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() checksum;
    apply {
        if (hdr.ipv4.isValid() && hdr.bth.isValid()) {
            hdr.ipv4.checksum = checksum.update({
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
            });
        }
        packet.emit(hdr);
    }
}

Pipeline(
    IngressParser(),
    Ingress(),
    IngressDeparser(),
    EgressParser(),
    Egress(),
    EgressDeparser()) pipe;

Switch(pipe) main;

#endif
