//! Digests of traces: the same for traces that say the same, another for any that does not.

use dumper::trace::{Extra, Origin};
use dumper::wire::Opcode;
use dumper::{ActionKind, Event, Exit, Flow, FlowId, Nanos, Psn, Record, Trace};

use crate::support::{data_file, every_opcode, flow, read, with_records, written};

/// Bytes are hashed, so that the digest is known beforehand, whatever the machine.
#[test]
fn a_known_trace_has_its_known_digest() {
    let digest = |name: &str| {
        let captured = read(&std::fs::read(data_file(name)).unwrap()).unwrap();
        captured.traced.trace.digest().to_string()
    };
    insta::assert_snapshot!(
        [Trace::default().digest().to_string(), digest("rxe_write_mid.pcap"), digest("rxe_read_resp_first.pcap")]
            .join("\n"),
        @r"
    2194bd4443fdf9cef1cfa219c8b506d16c4d0fbb3db62d16ffa84ea7920a078b
    5f520fa04e7809ee582f1f4d7d8e3d6d216286ed4b42c485d152721ea3bc0bf8
    3da3c021217845a8d8c8a7b3cd18e28cb4af72aaf3f98d624c0b2d129ac8f6ec
    "
    );
    assert_eq!(format!("{:.16}", Trace::default().digest()), Trace::default().digest().to_string()[..16]);
}

#[test]
fn a_trace_that_is_written_and_read_keeps_its_digest() {
    let trace = every_opcode();
    for snap_len in [None, Some(128)] {
        let bytes = written(&trace, dumper::capture::CaptureFormat::PcapNg, snap_len);
        assert_eq!(read(&bytes).unwrap().traced.trace.digest(), trace.digest());
    }
}

/// Two packets on two flows; the second one left late.
fn two(change: impl FnOnce(&mut [Flow; 2], &mut [Record; 2], &mut Extra)) -> Trace {
    let mut flows = [flow("10.0.0.1", "10.0.0.2", 0x12), flow("10.0.0.2", "10.0.0.1", 0x11)];
    let record = |sequence: u32, flow, opcode| {
        Record::new(Nanos(u64::from(sequence) * 100), sequence, FlowId(flow), opcode, Psn::new(7))
    };
    let mut records = [record(1, 0, Opcode::WriteOnly), record(2, 1, Opcode::Acknowledge)];
    let exit = Exit {
        time: Nanos(900),
        copies: 1,
        plain: 0,
        corrupt: false,
        ce: false,
        mig_req: None,
        rewritten: false,
    };
    let mut extra = Extra { exit: Some(exit), ..Extra::default() };
    change(&mut flows, &mut records, &mut extra);
    let mut trace = Trace::new(Origin::Mirror);
    for flow in flows {
        trace.add_flow(flow);
    }
    trace.push(records[0]);
    trace.push_with(records[1], extra);
    trace
}

#[test]
fn how_a_trace_is_kept_in_memory_does_not_matter() {
    let plain = two(|_, _, _| ());
    let other_order = two(|flows, records, _| {
        flows.swap(0, 1);
        (records[0].flow, records[1].flow) = (FlowId(1), FlowId(0));
    });
    assert_ne!(other_order, plain);
    assert_eq!(other_order.digest(), plain.digest());

    // A place for rare facts without any.
    let mut without = plain.clone();
    without.push(plain.records()[0]);
    let mut empty = plain.clone();
    empty.push_with(plain.records()[0], Extra::default());
    assert_eq!(without.digest(), empty.digest());
    assert_ne!(without.digest(), plain.digest());
}

/// A change that a trace cannot have without saying something else.
type Change = fn(&mut [Flow; 2], &mut [Record; 2], &mut Extra);

#[test]
fn every_field_counts() {
    let changes: [Change; 31] = [
        |flows, _, _| flows[0].source = "10.0.0.3".parse().unwrap(),
        |flows, _, _| flows[0].destination = "fd00::2".parse().unwrap(),
        |flows, _, _| flows[1].dest_qpn += 1,
        |flows, _, _| flows[1].vlan = Some(0),
        |_, records, _| records.swap(0, 1),
        |_, records, _| records[0].time.0 += 1,
        |_, records, _| records[0].virtual_address += 1,
        |_, records, _| records[1].sequence += 1,
        |_, records, _| records[0].flow = FlowId(1),
        |_, records, _| records[0].psn = Psn::new(8),
        |_, records, _| records[1].aeth = 1,
        |_, records, _| records[0].dma_length = 1,
        |_, records, _| records[0].remote_key = 1,
        |_, records, _| records[0].immediate = 1,
        |_, records, _| records[0].frame_len = 1,
        |_, records, _| records[0].payload_len = 1,
        |_, records, _| records[0].src_port = 1,
        |_, records, _| records[0].partition_key = 1,
        |_, records, _| records[0] = with_opcode(records[0], Opcode::SendOnly),
        |_, records, _| records[0].set_event(Event::Action(ActionKind::Ecn)),
        |_, records, _| records[0].traffic_class = 1,
        |_, records, _| records[0].flags = 1,
        |_, _, extra| extra.exit.as_mut().unwrap().time.0 += 1,
        |_, _, extra| extra.exit.as_mut().unwrap().copies = 0,
        |_, _, extra| extra.exit.as_mut().unwrap().plain = 1,
        |_, _, extra| extra.exit.as_mut().unwrap().corrupt = true,
        |_, _, extra| extra.exit.as_mut().unwrap().ce = true,
        |_, _, extra| extra.exit.as_mut().unwrap().mig_req = Some(false),
        |_, _, extra| extra.exit.as_mut().unwrap().rewritten = true,
        |_, _, extra| extra.deth = Some(dumper::wire::DethRepr { queue_key: 0, source_qpn: 0 }),
        |_, _, extra| extra.atomic_ack = Some(dumper::wire::AtomicAckEthRepr { original: 0 }),
    ];
    let mut digests: Vec<_> = changes.iter().map(|change| two(change).digest().to_string()).collect();
    digests.push(two(|_, _, _| ()).digest().to_string());
    let mut plain = Trace::new(Origin::Plain);
    plain.add_flow(flow("10.0.0.1", "10.0.0.2", 0x12));
    digests.push(plain.digest().to_string());
    digests.push(Trace::default().digest().to_string());
    digests.push(with_records(&two(|_, _, _| ()), |records| records.truncate(1)).digest().to_string());
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count, "two of them are equal");
}

fn with_opcode(record: Record, opcode: Opcode) -> Record {
    Record::new(record.time, record.sequence, record.flow, opcode, record.psn)
}
