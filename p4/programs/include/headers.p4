// Headers of RoCEv2 frames, as far as the injector reads them (IBA vol. 1, 9.2 and 9.3; annex A17).

#ifndef HEADERS_P4
#define HEADERS_P4

header ethernet_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header vlan_h {
    bit<16> tag;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4> version;
    bit<4> words;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_h {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> source;
    bit<128> destination;
}

header udp_h {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

header bth_h {
    bit<8> opcode;
    bit<8> flags;
    bit<16> partition_key;
    bit<8> congestion;
    bit<24> dest_qpn;
    bit<1> ack_request;
    bit<7> reserved;
    bit<24> psn;
}

header aeth_h {
    bit<8> syndrome;
    bit<24> msn;
}

struct headers_t {
    ethernet_h ethernet;
    vlan_h service_vlan;
    vlan_h vlan;
    ipv4_h ipv4;
    ipv6_h ipv6;
    udp_h udp;
    bth_h bth;
    aeth_h aeth;
}

#endif
