// The injector's view of a packet, and the kinds of packets that events tell apart.

#ifndef PACKET_P4
#define PACKET_P4

#include "constants.p4"
#include "headers.p4"

// Of a packet at ingress.
struct packet_t {
    // Destination address; IPv4 as an IPv4-mapped IPv6 address.
    bit<128> destination;
    // Number of the test: registers that another test has left begin again.
    bit<32> epoch;
    // The last turn of the dumpers.
    bit<32> last_turn;

    // Kind of packet. Data packets may start and end a message or response, NAKs may ask for a PSN again.
    bit<1> is_data;
    bit<1> is_control;
    bit<1> starts;
    bit<1> ends;
    bit<1> asks_again;
    bit<8> kind;

    // The flow, and its way of counting rounds.
    bit<32> flow;
    bit<8> iter_mode;
    bit<1> shares_psns;
    // Marks the PSNs that NAKs of the test have asked for, or of the connection.
    bit<32> asked_tag;

    // PSN, counted from the one before the initial PSN, and steps from the last data packet of the flow. Their low 24
    // bits count: PSNs are serial numbers (IBA vol. 1, 9.7.2).
    bit<32> psn;
    bit<32> last_psn;
    bit<32> steps;
    bit<2> round;
    bit<32> iter;
    // Number among the control packets of its flow and kind.
    bit<32> nth;
    // A NAK has asked for it. The PSN that is asked for, as registers hold it.
    bit<1> is_asked;
    bit<32> asked_psn;
}

// What leaves for a packet.
struct fate_t {
    // Actions on the packet, and on the duplicates of it that an event asks for.
    bit<1> drop;
    bit<1> ecn;
    bit<1> corrupt;
    bit<16> duplicates;
    // Copies of the network that an event drops, those that the network makes, and those that leave, a bit for each.
    bit<8> dropped_copies;
    bit<8> made;
    bit<8> copies;
    // It is neither dropped nor corrupted.
    bit<1> is_intact;
    // The packet and its duplicates, and these with all copies.
    bit<16> originals;
    bit<16> replicas;
    // Multicast group of so many replicas at the port that the packet goes to; before they are counted, of one.
    bit<16> group;
    // Event code of the mirrored packet.
    bit<8> event;
}

// Kind of a packet, by its opcode and the syndrome of an acknowledgement.
control Kinds(in headers_t hdr, inout packet_t packet) {
    @hidden action data(bit<1> starts, bit<1> ends) {
        packet.is_data = 1;
        packet.starts = starts;
        packet.ends = ends;
    }
    @hidden action control_packet(bit<8> kind) {
        packet.is_control = 1;
        packet.kind = kind;
    }
    @hidden action sequence_nak() {
        packet.is_control = 1;
        packet.kind = KIND_NAK;
        packet.asks_again = 1;
    }
    // Nothing that an event can name: atomics, datagrams, unknown opcodes, reserved syndromes.
    @hidden action other() {
    }
    @hidden table kinds {
        key = {
            hdr.bth.opcode: exact;
            hdr.aeth.isValid(): ternary;
            hdr.aeth.syndrome: ternary;
        }
        actions = {
            data;
            control_packet;
            sequence_nak;
            other;
        }
        const default_action = other();
        const entries = {
            // SEND_FIRST to SEND_ONLY_IMM
            (0x00, _, _): data(1, 0);
            (0x01, _, _): data(0, 0);
            (0x02, _, _): data(0, 1);
            (0x03, _, _): data(0, 1);
            (0x04, _, _): data(1, 1);
            (0x05, _, _): data(1, 1);
            // WRITE_FIRST to WRITE_ONLY_IMM
            (0x06, _, _): data(1, 0);
            (0x07, _, _): data(0, 0);
            (0x08, _, _): data(0, 1);
            (0x09, _, _): data(0, 1);
            (0x0a, _, _): data(1, 1);
            (0x0b, _, _): data(1, 1);
            (0x0c, _, _): control_packet(KIND_READ_REQUEST);
            // READ_RESPONSE_FIRST to READ_RESPONSE_ONLY
            (0x0d, _, _): data(1, 0);
            (0x0e, _, _): data(0, 0);
            (0x0f, _, _): data(0, 1);
            (0x10, _, _): data(1, 1);
            (ACKNOWLEDGE, true, 0x60): sequence_nak();
            (ACKNOWLEDGE, true, 0x00 &&& 0xe0): control_packet(KIND_ACK);
            (ACKNOWLEDGE, true, 0x20 &&& 0xe0): control_packet(KIND_NAK);
            (ACKNOWLEDGE, true, 0x60 &&& 0xe0): control_packet(KIND_NAK);
            // SEND_LAST_INV and SEND_ONLY_INV
            (0x16, _, _): data(0, 1);
            (0x17, _, _): data(1, 1);
            (0x81, _, _): control_packet(KIND_CNP);
        }
    }
    apply {
        kinds.apply();
    }
}

#endif
