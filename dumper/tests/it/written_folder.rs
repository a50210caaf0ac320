//! Result folders as we write them: they are read to the same observation, and each kind of damage to them fails its
//! own conditions of the integrity check.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::integrity::Verdict::{Fail, Pass};
use dumper::integrity::{self, Verdict};
use dumper::observation::folder::{self, WriteFolderError};
use dumper::observation::{Completion, CompletionStatus, ControlEvent, ControlRecord, Delivery};
use dumper::trace::Origin;
use dumper::wire::Opcode;
use dumper::{
    Clock, Connection, Counters, Endpoint, Event, Flow, FlowId, HostCounters, LogLine, Nanos, Observation,
    Psn, Record, SwitchCounters, Trace,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{connections, push, two_way, with_records};

/// A packet: its connection, opcode and event code.
type Packet = (usize, Opcode, u8);

const STATUSES: [CompletionStatus; 6] = [
    CompletionStatus::Success,
    CompletionStatus::RetryExceeded,
    CompletionStatus::RnrRetryExceeded,
    CompletionStatus::Flushed,
    CompletionStatus::RemoteError,
    CompletionStatus::Error,
];

fn connection_of(number: usize, v6: bool, psns: (u32, u32)) -> Connection {
    let end = |host: u32, psn| {
        let ip = if v6 { format!("fd00::{host}") } else { format!("10.0.0.{host}") };
        let qpn = Some(0x10 + number as u32);
        Endpoint { ip: ip.parse().unwrap(), qpn, initial_psn: Some(Psn::new(psn)) }
    };
    Connection { requester: end(1, psns.0), responder: end(2, psns.1) }
}

/// A trace of packets on connections, its flows in the order in which they appear.
fn trace_of(connections: &[Connection], packets: &[Packet]) -> Trace {
    let mut trace = Trace::new(Origin::Mirror);
    let mut flows: BTreeMap<(IpAddr, IpAddr, u32), FlowId> = BTreeMap::new();
    for (sequence, (connection, opcode, event)) in (1..).zip(packets) {
        let Connection { requester, responder } = connections[connection % connections.len()];
        let (from, to) =
            if opcode.class().is_response() { (responder, requester) } else { (requester, responder) };
        let (source, destination, dest_qpn) = (from.ip, to.ip, to.qpn.unwrap());
        let flow = *flows
            .entry((source, destination, dest_qpn))
            .or_insert_with(|| trace.add_flow(Flow { source, destination, dest_qpn, vlan: None }));
        push(&mut trace, flow, sequence, *opcode, Event::from_code(*event));
    }
    trace
}

fn host_counters() -> impl Strategy<Value = Option<HostCounters>> {
    let group = || btree_map("[a-z][a-zA-Z_]{0,9}|null|true|1e3|0x1f|~", 0u64..=1 << 62, 0..4);
    let counters = move || {
        (group(), group(), group()).prop_map(|(port_counters, hw_counters, ethtool_counters)| Counters {
            port_counters,
            hw_counters,
            ethtool_counters,
        })
    };
    option::of((counters(), counters()).prop_map(|(start, finish)| HostCounters { start, finish }))
}

/// The switch's counters of so many packets; `split` of them came from the requester and went to the first dumper.
fn switch_of(packets: usize, split: u64) -> SwitchCounters {
    let packets = packets as u64;
    let first = split % (packets + 1);
    SwitchCounters {
        ingress: BTreeMap::from([(188, first), (180, packets - first), (60, 0), (61, 0)]),
        egress: BTreeMap::from([(188, 7), (180, 9), (60, packets - first), (61, first)]),
        host_ports: vec![188, 180],
    }
}

fn completions() -> impl Strategy<Value = Vec<Completion>> {
    let one = (1u32..9, 1u32..9, any::<u32>(), any::<u32>(), 0u64..=1 << 31, select(&STATUSES[..]));
    let one = one.prop_map(|(connection, message, posted, took, bytes, status)| {
        let posted_ns = Nanos(posted.into());
        Completion {
            connection,
            message,
            posted_ns,
            completed_ns: posted_ns + Nanos(took.into()),
            bytes,
            status,
        }
    });
    vec(one, 0..5)
}

fn deliveries() -> impl Strategy<Value = Vec<Delivery>> {
    let one = (1u32..9, 1u32..9, 0u64..=1 << 40, any::<bool>());
    let one =
        one.prop_map(|(connection, message, bytes, intact)| Delivery { connection, message, bytes, intact });
    vec(one, 0..5)
}

fn clock() -> impl Strategy<Value = Clock> {
    select(vec![Clock::Exact, Clock::Emulated])
}

fn log() -> impl Strategy<Value = Vec<LogLine>> {
    vec((any::<u64>(), ".{0,60}").prop_map(|(time_us, text)| LogLine::new(time_us, &text)), 0..5)
}

fn observations() -> impl Strategy<Value = Observation> {
    let psns = (0..Psn::SPACE, 0..Psn::SPACE);
    let trace = (vec((any::<bool>(), psns), 1..4), vec((0usize..4, select(Opcode::KNOWN), 0u8..=8), 1..40));
    (
        trace,
        host_counters(),
        host_counters(),
        any::<(bool, u64)>(),
        option::of(completions()),
        option::of(deliveries()),
        (clock(), option::of(any::<u64>().prop_map(Nanos)), log(), log(), control(), control()),
    )
        .prop_map(
            |(
                (ends, packets),
                requester,
                responder,
                (counted, split),
                completions,
                deliveries,
                (clock, stopped_after, requester_log, responder_log, requester_control, responder_control),
            )| {
                let connections: Vec<_> = ends
                    .into_iter()
                    .enumerate()
                    .map(|(number, (v6, psns))| connection_of(number, v6, psns))
                    .collect();
                let trace = trace_of(&connections, &packets);
                let switch = counted.then(|| switch_of(packets.len(), split));
                Observation {
                    trace,
                    connections,
                    requester,
                    responder,
                    switch,
                    completions,
                    deliveries,
                    clock,
                    stopped_after,
                    requester_log,
                    responder_log,
                    requester_control,
                    responder_control,
                    coverage: Default::default(),
                }
            },
        )
}

fn control() -> impl Strategy<Value = Vec<ControlRecord>> {
    use ControlEvent::{
        EntryCreated, EntryDeleted, EntryRefused, FlowOffloaded, LinkDown, LinkUp, SoftwareForwarded,
        Stalled, VfUnbound,
    };
    let event = select(vec![
        FlowOffloaded,
        EntryCreated,
        EntryRefused,
        EntryDeleted,
        SoftwareForwarded,
        VfUnbound,
        LinkDown,
        LinkUp,
        Stalled,
    ]);
    // A record is not before the one above it, and its operation not longer than its time.
    let times = any::<[u32; 3]>().prop_map(|times| times.map(|time| Nanos(time.into())));
    let record = (event, option::of(any::<u32>()), times);
    vec(record, 0..4).prop_map(|records| {
        let mut at_ns = Nanos::ZERO;
        let records = records.into_iter().map(|(event, of, [since, waited_ns, took_ns])| {
            at_ns = at_ns + since + waited_ns + took_ns;
            ControlRecord { at_ns, event, of, waited_ns, took_ns }
        });
        records.collect()
    })
}

fn read(path: &Path) -> Observation {
    folder::read(path, ReadOptions::default(), &mut |_| ()).unwrap().observation
}

fn verdicts(path: &Path) -> [Verdict; 4] {
    let observation = read(path);
    integrity::check(&observation.trace, observation.switch.as_ref())
        .conditions
        .map(|condition| condition.verdict)
}

proptest! {
    #[test]
    fn a_written_folder_is_read_to_the_same_observation(
        observation in observations(),
        snap_len in select(&[None, Some(128)][..]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        folder::write(&observation, snap_len, folder.path()).unwrap();
        prop_assert_eq!(read(folder.path()), observation);
    }

    #[test]
    fn each_kind_of_damage_fails_its_conditions(observation in observations(), at in any::<prop::sample::Index>()) {
        // A packet with one before and one after it.
        let packets = observation.trace.records().len();
        prop_assume!(packets >= 3);
        let at = 1 + at.index(packets - 2);
        let observation = Observation { switch: Some(switch_of(packets, at as u64)), ..observation };
        let damaged = |change: &dyn Fn(&mut Vec<Record>), recount: &dyn Fn(&mut SwitchCounters)| {
            let folder = tempfile::tempdir().unwrap();
            let mut observation = observation.clone();
            recount(observation.switch.as_mut().unwrap());
            folder::write(&observation, None, folder.path()).unwrap();
            let trace = with_records(&observation.trace, change);
            let mut bytes = Vec::new();
            capture::write(&trace, &[], CaptureFormat::PcapNg, Some(128), &mut bytes).unwrap();
            fs::write(folder.path().join("pcap-result/trace.pcapng"), bytes).unwrap();
            verdicts(folder.path())
        };
        let same = |_: &mut Vec<Record>| ();
        let right = |_: &mut SwitchCounters| ();
        prop_assert_eq!(damaged(&same, &right), [Pass; 4]);
        // The switch counts what the dumpers lose or have twice.
        let lost = |records: &mut Vec<Record>| {
            records.remove(at);
        };
        prop_assert_eq!(damaged(&lost, &right), [Fail, Pass, Fail, Fail]);
        let twice = |records: &mut Vec<Record>| records.insert(at, records[at]);
        prop_assert_eq!(damaged(&twice, &right), [Fail, Pass, Fail, Fail]);
        // Where it counts them the same way, the sequence numbers alone tell.
        let counted = |by: i64| move |switch: &mut SwitchCounters| {
            for count in [switch.ingress.get_mut(&188), switch.egress.get_mut(&61)].into_iter().flatten() {
                *count = count.saturating_add_signed(by);
            }
        };
        prop_assert_eq!(damaged(&lost, &counted(-1)), [Fail, Pass, Pass, Pass]);
        prop_assert_eq!(damaged(&twice, &counted(1)), [Fail, Pass, Pass, Pass]);
        let back = |records: &mut Vec<Record>| records[at].time = Nanos(records[at - 1].time.0 - 51);
        prop_assert_eq!(damaged(&back, &right), [Pass, Fail, Pass, Pass]);
        for port in [188, 180] {
            let ingress = |switch: &mut SwitchCounters| *switch.ingress.get_mut(&port).unwrap() += 1;
            prop_assert_eq!(damaged(&same, &ingress), [Pass, Pass, Pass, Fail]);
        }
        for port in [60, 61] {
            let egress = |switch: &mut SwitchCounters| *switch.egress.get_mut(&port).unwrap() += 1;
            prop_assert_eq!(damaged(&same, &egress), [Pass, Pass, Fail, Pass]);
        }
    }
}

/// `snd` is the sender of data: the responder where everything is read, else the requester.
#[test]
fn the_sender_of_data_is_named() {
    let connections = [connection_of(1, false, (1000, 77))];
    for (opcodes, sender) in [
        (&[Opcode::WriteOnly, Opcode::Acknowledge][..], "10.0.0.1"),
        (&[Opcode::ReadRequest, Opcode::ReadResponseOnly], "10.0.0.2"),
        (&[Opcode::SendOnly, Opcode::ReadRequest, Opcode::ReadResponseOnly], "10.0.0.1"),
        (&[Opcode::Cnp], "10.0.0.1"),
    ] {
        let packets: Vec<Packet> = opcodes.iter().map(|opcode| (0, *opcode, 0)).collect();
        let observation = Observation {
            switch: Some(switch_of(packets.len(), 1)),
            ..Observation::of_trace(trace_of(&connections, &packets), connections.to_vec())
        };
        let folder = tempfile::tempdir().unwrap();
        folder::write(&observation, None, folder.path()).unwrap();
        let text =
            fs::read_to_string(folder.path().join("switch-result/switch_message_snapshot.yml")).unwrap();
        let port = if sender == "10.0.0.1" { 188 } else { 180 };
        assert!(text.contains(&format!("ip_snd: \"{sender}\"\n")), "{opcodes:?}: {text}");
        assert!(text.contains(&format!("snd_sw_port: {port}\n")), "{opcodes:?}: {text}");
        assert_eq!(read(folder.path()), observation);
    }
}

/// Groups of counters have Lumina's names.
#[test]
fn the_files_are_the_published_layout() {
    let group = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
    let counters = Counters {
        port_counters: group("port_rcv_packets", 5),
        hw_counters: group("out_of_sequence", 1),
        ethtool_counters: group("rx_discards_phy", 0),
    };
    let host = HostCounters { start: Counters::default(), finish: counters };
    let connections = vec![connection_of(1, false, (1000, 77))];
    let trace = trace_of(&connections, &[(0, Opcode::WriteOnly, 1)]);
    let switch = Some(switch_of(1, 1));
    let observation = Observation {
        requester: Some(host),
        switch,
        completions: Some(Vec::new()),
        deliveries: Some(Vec::new()),
        ..Observation::of_trace(trace, connections)
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new/0");
    folder::write(&observation, None, &root).unwrap();
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    insta::assert_snapshot!(
        [
            "switch-result/switch_message_snapshot.yml",
            "switch-result/switch_state_snapshot.yml",
            "rdma-result/requester_counter_finish.yml",
            "rdma-result/completions.yml",
        ]
        .map(|name| format!("== {name}\n{}", text(name)))
        .concat()
    );
    let mut names: Vec<_> = fs::read_dir(root.join("rdma-result"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["completions.yml", "deliveries.yml", "requester_counter_finish.yml", "requester_counter_start.yml"],
        "nothing else is left behind"
    );
}

#[test]
fn what_the_layout_cannot_say_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |observation: &Observation| {
        let error = folder::write(observation, None, folder.path()).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        error.to_string()
    };
    let observation = Observation::of_trace(two_way(3), connections());
    assert_eq!(
        refused(&observation),
        "a result folder names the QPNs of every connection, and connection 2 has none"
    );
    let switch = SwitchCounters { host_ports: vec![1, 2, 3], ..SwitchCounters::default() };
    let observation = Observation { switch: Some(switch), ..Observation::default() };
    assert_eq!(refused(&observation), "a result folder has one switch port for each host, and there are 3");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let error = folder::write(&Observation::default(), None, &file).unwrap_err();
    assert!(matches!(error, WriteFolderError::Io { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("{}/pcap-result: cannot be written", file.display())));
}
