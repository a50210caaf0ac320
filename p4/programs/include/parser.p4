// Finds the BTH of a RoCEv2 frame, behind at most two VLAN tags. Frames without one pass the switch, and are neither
// counted nor mirrored.

#ifndef PARSER_P4
#define PARSER_P4

#include "constants.p4"
#include "headers.p4"

parser RoceParser(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_VLAN: outer_tag;
            ETHER_TYPE_SERVICE_VLAN: outer_tag;
            ETHER_TYPE_IPV4: ipv4;
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state outer_tag {
        packet.extract(hdr.service_vlan);
        transition select(hdr.service_vlan.ether_type) {
            ETHER_TYPE_VLAN: inner_tag;
            ETHER_TYPE_SERVICE_VLAN: inner_tag;
            ETHER_TYPE_IPV4: ipv4;
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state inner_tag {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.words, hdr.ipv4.protocol) {
            (IPV4_WORDS, IP_PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_UDP: udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination_port) {
            ROCE_PORT: bth;
            default: accept;
        }
    }
    state bth {
        packet.extract(hdr.bth);
        transition select(hdr.bth.opcode) {
            ACKNOWLEDGE: aeth;
            default: accept;
        }
    }
    state aeth {
        packet.extract(hdr.aeth);
        transition accept;
    }
}

#endif
