// Flows, rounds of transmission, and the events on the packets of a flow.

#ifndef EVENTS_P4
#define EVENTS_P4

#include "packet.p4"

// The flow of a packet.
control Flow(in headers_t hdr, inout packet_t packet, out bool is_known) {
    @id(0x01000001) @name(".ingress.set_flow")
    action set_flow(
            @id(1) bit<32> flow,
            @id(2) bit<8> iter_mode,
            @id(3) bit<1> shares_psns,
            @id(4) bit<32> psn_offset,
            @id(5) bit<32> asked_tag) {
        packet.flow = flow;
        packet.iter_mode = iter_mode;
        packet.shares_psns = shares_psns;
        packet.psn = packet.psn + psn_offset;
        packet.asked_tag = asked_tag;
    }
    @hidden action none() {
    }
    @id(0x02000001) @name(".ingress.flows")
    table flows {
        key = {
            packet.destination: exact @id(1) @name("destination");
            hdr.bth.dest_qpn: exact @id(2) @name("dest_qpn");
        }
        actions = {
            set_flow;
            @defaultonly none;
        }
        const default_action = none();
        size = 20000;
    }
    apply {
        is_known = flows.apply().hit;
    }
}

// What a data packet does to the round of its flow: it begins again with each step back (Lumina section 3.3), or with each
// jump, and then once more with each message (the published switch program).
control Round(inout packet_t packet) {
    @hidden action goes(bit<2> round) {
        packet.round = round;
    }
    @hidden table rounds {
        key = {
            packet.iter_mode: exact;
            packet.starts: ternary;
            packet.shares_psns: ternary;
            packet.steps: ternary;
        }
        actions = {
            goes;
        }
        const default_action = goes(ROUND_AGAIN);
        const entries = {
            (ITER_PAPER, _, _, 0 &&& 0xffffff): goes(ROUND_AGAIN);
            (ITER_PAPER, _, _, 0x800000 &&& 0x800000): goes(ROUND_AGAIN);
            (ITER_PAPER, _, _, _): goes(ROUND_STAYS);
            (ITER_PER_MESSAGE, 0, _, 1 &&& 0xffffff): goes(ROUND_STAYS);
            (ITER_PER_MESSAGE, 1, _, 1 &&& 0xffffff): goes(ROUND_FIRST);
            // Data of the other direction takes PSNs between the messages: any step forward.
            (ITER_PER_MESSAGE, 1, 1, 0 &&& 0xffffff): goes(ROUND_AGAIN);
            (ITER_PER_MESSAGE, 1, 1, 0 &&& 0x800000): goes(ROUND_FIRST);
        }
    }
    apply {
        rounds.apply();
    }
}

// Events on data packets, by PSN and round, and on control packets, by their number.
control Events(in headers_t hdr, in packet_t packet, inout fate_t fate) {
    @id(0x01000002) @name(".ingress.inject")
    action inject(
            @id(1) bit<1> drop,
            @id(2) bit<1> ecn,
            @id(3) bit<1> corrupt,
            @id(4) bit<8> copies,
            @id(9) bit<8> drop_copies) {
        fate.drop = drop;
        fate.ecn = ecn;
        fate.corrupt = corrupt;
        fate.duplicates = (bit<16>)copies;
        fate.dropped_copies = drop_copies;
    }
    @hidden action none() {
    }
    @id(0x02000002) @name(".ingress.data_events")
    table data_events {
        key = {
            packet.flow: exact @id(1) @name("flow");
            hdr.bth.psn: exact @id(2) @name("psn");
            packet.iter[7:0]: exact @id(3) @name("iter");
        }
        actions = {
            inject;
            @defaultonly none;
        }
        const default_action = none();
        size = 100000;
    }
    @id(0x02000008) @name(".ingress.control_packets")
    table control_packets {
        key = {
            packet.flow: exact @id(1) @name("flow");
            packet.kind: exact @id(2) @name("kind");
            packet.nth: exact @id(3) @name("nth");
        }
        actions = {
            inject;
            @defaultonly none;
        }
        const default_action = none();
        size = 16384;
    }
    apply {
        if (packet.is_data == 1) {
            // Events name rounds up to 255.
            if (packet.iter[31:8] == 0) {
                data_events.apply();
            }
        } else if (packet.is_control == 1) {
            control_packets.apply();
        }
    }
}

#endif
