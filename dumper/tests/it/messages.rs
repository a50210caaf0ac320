//! Every message that a user can see, in one place to be read as a whole.

use std::fs;
use std::path::Path;

use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::observation::folder;
use dumper::wire::frame::UdpPorts;
use dumper::wire::{Frame, Opcode};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;

use crate::support::{bytes_of, frame, two_way, v4, v6, written};

/// Collects messages under a heading for each.
#[derive(Default)]
struct Messages(String);

impl Messages {
    fn add(&mut self, what: &str, message: &dyn ToString) {
        self.0.push_str(&format!("{what}\n    {}\n", message.to_string().trim_end().replace('\n', "\n    ")));
    }
}

#[test]
fn of_packets() {
    let mut messages = Messages::default();
    let mut add = |what: &str, bytes: &[u8]| {
        messages.add(what, &Frame::parse(bytes, UdpPorts::Roce).unwrap_err());
    };
    let good = bytes_of(&frame(Opcode::WriteOnlyImm, v4(), Some(5), 64));
    add("cut in Ethernet", &good[..13]);
    add("cut in the VLAN tag", &good[..17]);
    add("cut in IPv4", &good[..18]);
    add("cut in UDP", &good[..45]);
    add("cut in BTH", &good[..46]);
    add("cut in RETH", &good[..59]);
    add("cut in the immediate", &good[..75]);
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes_of(&frame(Opcode::SendOnly, v4(), None, 0));
        bytes[at] = byte;
        bytes
    };
    add("IPv4 says version 6", &with(14, 0x65));
    add("IPv4 header of 8 bytes", &with(14, 0x42));
    add("IPv4 length of 10 bytes", &with(17, 10));
    add("IPv4 length without room for the ICRC", &with(17, 41));
    add("IPv4 fragment", &with(20, 0x20));
    add("BTH of version 1", &with(43, 1));
    let mut v6 = bytes_of(&frame(Opcode::SendOnly, v6(), None, 0));
    v6[14] = 0x45;
    add("IPv6 says version 4", &v6);
    insta::assert_snapshot!(messages.0);
}

#[test]
fn of_captures() {
    let mut messages = Messages::default();
    let read = |bytes: &[u8]| {
        capture::read_slices(&[(Path::new("trace.pcap"), bytes)], ReadOptions::default(), &mut |_| ())
    };
    let mut add = |what: &str, bytes: &[u8]| match read(bytes) {
        Err(error) => messages.add(what, &error),
        Ok(captured) => {
            for damage in &captured.traced.damage[..1] {
                messages.add(what, &format!("(damage at byte {}) {}", damage.offset, damage.reason));
            }
        }
    };
    add("empty file", b"");
    add("text file", b"Hello");
    add("two bytes", &[0xd4, 0xc3]);
    let pcap = written(&two_way(3), CaptureFormat::PcapNanos, None);
    let ng = written(&two_way(3), CaptureFormat::PcapNg, None);
    add("pcap cut in its header", &pcap[..23]);
    add("pcapng cut in its header", &ng[..20]);
    add("pcap cut in a record's header", &pcap[..30]);
    add("pcap cut in a record", &pcap[..100]);
    add("pcapng cut in its first interface", &ng[..90]);
    add("pcapng cut in a packet", &ng[..ng.len() - 30]);
    let changed = |bytes: &[u8], at: usize, byte: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = byte;
        bytes
    };
    add("pcap of Wi-Fi", &changed(&pcap, 20, 105));
    let packet = u32::from_le_bytes(ng[4..8].try_into().unwrap()) as usize;
    add("pcapng of Wi-Fi", &changed(&ng, packet + 8, 105));
    add("pcapng with a wrong byte order mark", &changed(&ng, 8, 0));
    let last = u32::from_le_bytes(ng[ng.len() - 4..].try_into().unwrap()) as usize;
    let last = ng.len() - last;
    add("pcapng packet of an unknown interface", &changed(&ng, last + 8, 9));
    add("pcapng block length not a multiple of four", &changed(&ng, last + 4, 0x5d));
    add("pcapng block lengths that differ", &changed(&ng, ng.len() - 4, 0));
    add("pcapng captured length beyond the block", &changed(&ng, last + 8 + 13, 9));
    let mut no_interface = PcapNgWriter::new(Vec::new()).unwrap();
    no_interface.write_pcapng_block(InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0)).unwrap();
    let mut nameless = no_interface.into_inner();
    let at = nameless.len() - 20;
    nameless[at + 10] = 7;
    add("pcapng interface with a reserved field", &nameless);
    insta::assert_snapshot!(messages.0);
}

#[test]
fn of_files_and_folders() {
    let root = tempfile::tempdir().unwrap();
    let mut messages = Messages::default();
    let mut add = |what: &str, error: &dyn std::error::Error| {
        // The folder's place is not part of the message.
        messages.add(what, &error.to_string().replace(&root.path().display().to_string(), "RESULT"));
    };
    let read = |path: &Path| folder::read(path, ReadOptions::default(), &mut |_| ()).unwrap_err();
    let capture = |path: &Path| capture::read(&[path], ReadOptions::default(), &mut |_| ()).unwrap_err();
    add("no such folder", &read(&root.path().join("none")));
    add("no captures", &read(root.path()));
    add("no such capture", &capture(&root.path().join("none.pcap")));
    add("a folder is no capture", &capture(root.path()));

    let bytes = written(&two_way(3), CaptureFormat::PcapNanos, None);
    for number in 0..10 {
        let folder = root.path().join(number.to_string());
        for part in ["pcap-result", "switch-result", "rdma-result"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        fs::write(folder.join("pcap-result/a.pcap"), &bytes).unwrap();
    }
    add("ten repetitions", &read(root.path()));
    let one = root.path().join("0");
    let mut broken = |what: &str, file: &str, text: &str| {
        let path = one.join(file);
        fs::write(&path, text).unwrap();
        add(what, &read(&one));
        fs::remove_file(path).unwrap();
    };
    let snapshot = "switch-result/switch_message_snapshot.yml";
    broken("YAML that is none", snapshot, "- psn_rcv: [1\n- psn_snd: 2\n");
    broken("a key is missing", snapshot, "- psn_rcv: 1\n  psn_snd: 2\n");
    broken("a negative number", snapshot, "- psn_rcv: -1\n");
    let no_address = "- {psn_rcv: 1, psn_snd: 2, qpn_rcv: 3, qpn_snd: 4, ip_rcv: here, ip_snd: there}\n";
    broken("no address", snapshot, no_address);
    broken(
        "no port",
        "switch-result/switch_state_snapshot.yml",
        "counter: {ingress: {eth0: 1}, egress: {}}\n",
    );
    broken("no counters", "rdma-result/requester_counter_start.yml", "hw-counters: 7\n");
    broken("a misspelt key", "rdma-result/completions.yml", "- connection: 1\n  mesage: 1\n");
    insta::assert_snapshot!(messages.0);
}
