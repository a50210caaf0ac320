// Copies that the network makes of packets whose loss costs a time-out, and all that leaves for a packet.

#ifndef COPIES_P4
#define COPIES_P4

#include "packet.p4"

// Copies of NAKs that ask for a packet again.
control NakCopies(in packet_t packet, inout fate_t fate) {
    @id(0x01000008) @name(".ingress.copy")
    action copy(@id(1) bit<8> copies) {
        fate.made = copies;
        fate.copies = copies & ~fate.dropped_copies;
    }
    @hidden action none() {
    }
    @id(0x02000009) @name(".ingress.nak_copies")
    table nak_copies {
        key = {
            packet.asks_again: exact @id(1) @name("asks_again");
        }
        actions = {
            copy;
            @defaultonly none;
        }
        const default_action = none();
        size = 2;
    }
    apply {
        nak_copies.apply();
    }
}

// Copies of data packets: those that a NAK has asked for, and the last ones of a message or response.
control DataCopies(in packet_t packet, inout fate_t fate) {
    @id(0x01000009) @name(".ingress.copy_data")
    action copy_data(@id(1) bit<8> copies) {
        fate.made = copies;
        fate.copies = copies & ~fate.dropped_copies;
    }
    @hidden action none() {
    }
    @id(0x0200000a) @name(".ingress.data_copies")
    table data_copies {
        key = {
            packet.is_asked: exact @id(1) @name("is_asked");
            packet.ends: exact @id(2) @name("ends");
        }
        actions = {
            copy_data;
            @defaultonly none;
        }
        const default_action = none();
        size = 4;
    }
    apply {
        data_copies.apply();
    }
}

// Number of packets that leave, and the event code of the mirrored one. Groups are counted up beside it: a stage of a switch in
// hardware adds two numbers.
control Leaving(inout fate_t fate) {
    @hidden action event(bit<8> code) {
        fate.event = code;
    }
    @hidden table events {
        key = {
            fate.drop: exact;
            fate.ecn: exact;
            fate.corrupt: exact;
            fate.duplicates: ternary;
            fate.copies: ternary;
        }
        actions = {
            event;
        }
        const default_action = event(EVENT_SEVERAL);
        const entries = {
            (0, 0, 0, 0, 0): event(EVENT_NONE);
            (1, 0, 0, 0, 0): event(EVENT_DROP);
            (0, 1, 0, 0, 0): event(EVENT_ECN);
            (0, 0, 1, 0, 0): event(EVENT_CORRUPT);
            (0, 0, 0, _, _): event(EVENT_DUPLICATE);
        }
    }
    @hidden action number(bit<16> copies) {
        fate.replicas = fate.originals + copies;
        fate.group = fate.group + copies;
    }
    @hidden table numbers {
        key = {
            fate.made: exact;
        }
        actions = {
            number;
        }
        const default_action = number(0);
        const entries = {
            0x01: number(1);
            0x03: number(2);
            0x07: number(3);
            0x0f: number(4);
            0x1f: number(5);
            0x3f: number(6);
            0x7f: number(7);
        }
    }
    apply {
        events.apply();
        if (fate.drop == 0) {
            fate.originals = fate.duplicates + 1;
            fate.group = fate.group + fate.duplicates;
        } else {
            fate.group = fate.group - 1;
        }
        numbers.apply();
    }
}

// A packet at egress: one of the replicas of the packet that entered, from 1; 0 where there is just one.
control Leave(inout headers_t hdr, in fate_t fate, in bit<16> replica, out bit<1> is_dropped) {
    // The copy's number, from 1; 0 and less are the packet and its duplicates.
    bit<16> number;
    bit<1> is_copy;
    bit<8> copy;
    @hidden action original() {
        is_copy = 0;
    }
    @hidden action bit_of_copy(bit<8> mask) {
        is_copy = 1;
        copy = mask;
    }
    @hidden table copies {
        key = {
            number: ternary;
        }
        actions = {
            original;
            bit_of_copy;
        }
        const default_action = bit_of_copy(0);
        const entries = {
            0: original();
            0x8000 &&& 0x8000: original();
            1: bit_of_copy(0x01);
            2: bit_of_copy(0x02);
            3: bit_of_copy(0x04);
            4: bit_of_copy(0x08);
            5: bit_of_copy(0x10);
            6: bit_of_copy(0x20);
            7: bit_of_copy(0x40);
        }
    }
    apply {
        is_dropped = 0;
        copy = 0;
        number = replica - fate.originals;
        copies.apply();
        if (is_copy == 0) {
            if (fate.ecn == 1) {
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.ecn = CONGESTION_EXPERIENCED;
                } else {
                    hdr.ipv6.ecn = CONGESTION_EXPERIENCED;
                }
            }
            if (fate.corrupt == 1) {
                // The ICRC covers the reserved bits of the BTH (IBA vol. 1, 7.8.1), and no receiver reads them.
                hdr.bth.reserved = hdr.bth.reserved ^ 1;
                hdr.udp.checksum = 0;
            }
        } else {
            copy = copy & fate.copies;
            if (copy == 0) {
                is_dropped = 1;
            }
        }
    }
}

// The metadata of a mirrored packet, in header fields that a dumper does not need (Lumina section 3.4).
control Marks(inout headers_t hdr, in bit<32> sequence, in bit<48> time, in bit<8> event) {
    apply {
        hdr.ethernet.source = (bit<48>)sequence;
        hdr.ethernet.destination = time;
        // Congestion Experienced where an event sets it and the packet is ECN-capable.
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = event;
            if (event == EVENT_ECN && hdr.ipv4.ecn != 0) {
                hdr.ipv4.ecn = CONGESTION_EXPERIENCED;
            }
        } else {
            hdr.ipv6.hop_limit = event;
            if (event == EVENT_ECN && hdr.ipv6.ecn != 0) {
                hdr.ipv6.ecn = CONGESTION_EXPERIENCED;
            }
        }
    }
}

#endif
