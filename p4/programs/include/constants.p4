// Numbers of the standards, and of the injector. A test holds them to those of the Rust pipeline.

#ifndef CONSTANTS_P4
#define CONSTANTS_P4

// Ethernet (IEEE 802.1Q) and IP.
const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<16> ETHER_TYPE_IPV6 = 0x86dd;
const bit<16> ETHER_TYPE_VLAN = 0x8100;
const bit<16> ETHER_TYPE_SERVICE_VLAN = 0x88a8;
const bit<8> IP_PROTOCOL_UDP = 17;
// Headers of IPv4 without options, in words of 4 bytes. A packet with options is none of the injector's.
const bit<4> IPV4_WORDS = 5;
// ECN bits: Congestion Experienced (RFC 3168).
const bit<2> CONGESTION_EXPERIENCED = 3;

// RoCEv2 (annex A17.4.2), and the opcode of acknowledgements on reliable connections.
const bit<16> ROCE_PORT = 4791;
const bit<8> ACKNOWLEDGE = 0x11;

// Kinds of control packets, as entries of control_packets name them.
const bit<8> KIND_ACK = 0;
const bit<8> KIND_NAK = 1;
const bit<8> KIND_CNP = 2;
const bit<8> KIND_READ_REQUEST = 3;

// Ways of counting rounds of transmission, as entries of flows name them.
const bit<8> ITER_PAPER = 0;
const bit<8> ITER_PER_MESSAGE = 1;

// What a data packet does to the round of its flow.
const bit<2> ROUND_STAYS = 0;
const bit<2> ROUND_AGAIN = 1;
const bit<2> ROUND_FIRST = 2;

// Event codes of mirrored packets.
const bit<8> EVENT_NONE = 0;
const bit<8> EVENT_DROP = 1;
const bit<8> EVENT_ECN = 2;
const bit<8> EVENT_CORRUPT = 3;
const bit<8> EVENT_DUPLICATE = 6;
const bit<8> EVENT_SEVERAL = 8;

// The mirror sequence number goes from 1 to this, and then from 1 again.
const bit<32> MAX_SEQUENCE = 0x7fffffff;

// Cells of registers.
const bit<32> FLOWS = 20000;
// Four kinds of control packets for each connection, at (connection - 1) * 4 + kind.
const bit<32> OCCURRENCES = 40000;
// PSNs that NAKs have asked for, each at its low bits.
const bit<32> ASKED = 4096;
// Port numbers.
const bit<32> PORTS = 512;

#endif
