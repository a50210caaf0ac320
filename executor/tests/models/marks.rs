//! CNPs for marks: three connections of three requester addresses and one responder address, a 1 MB Write
//! each, packets 50 and 950 marked, interval 50 µs, no reaction point on (Lumina (preprint) §6.4).

use dumper::wire::Class;

use super::measure::{assert_within, config, data, run};

/// Observed CNPs of a NIC.
struct Seen {
    /// Times at which the marked packets of each QP pass, in µs from the first packet of the test: first
    /// ones, then second ones.
    marks: [Vec<f64>; 2],
    /// CNPs to each QP.
    cnps: Vec<usize>,
}

fn experiment(nic: &str) -> Seen {
    let config = config(
        nic,
        "requester.ip-list = [\"10.0.0.11/24\", \"10.0.0.12/24\", \"10.0.0.13/24\"]\n\
         requester.roce-parameters.dcqcn-rp-enable = false\n\
         responder.ip-list = [\"10.0.0.1/24\"]\nresponder.roce-parameters.min-time-between-cnps = 50\n\
         [traffic]\nnum-connections = 3\nmulti-gid = true\nnum-msgs-per-qp = 1\nmessage-size = 1_048_576\n\
         [[event]]\nqpn = \"all\"\npsn = 50\ntype = \"ecn\"\n\
         [[event]]\nqpn = \"all\"\npsn = 950\ntype = \"ecn\"\n",
    );
    let observation = run(&config);
    let data = data(&observation);
    let marks = [50, 950].map(|psn| {
        (1..=3).map(|qp| data.iter().find(|(a, b, _)| (*a, *b) == (qp, psn)).unwrap().2).collect()
    });
    let cnps = observation.trace.records().iter().filter(|record| record.class() == Class::Cnp);
    let to: Vec<_> = cnps.map(|record| Some(observation.trace.flow(record).dest_qpn)).collect();
    let connections = observation.connections.iter();
    let cnps = connections.map(|ends| to.iter().filter(|qpn| **qpn == ends.requester.qpn).count()).collect();
    Seen { marks, cnps }
}

/// Lumina (preprint) tables 3 and 4; for ConnectX-5 the scope of Lumina (SIGCOMM'23), which is later.
#[test]
fn marks_arrive_and_cnps_leave_as_published() {
    for (nic, marks, cnps) in [
        ("cx4-lx", [[10.0, 31.0, 45.0], [616.0, 630.0, 643.0]], [2, 2, 2]),
        ("cx5", [[8.0, 17.0, 18.0], [246.0, 255.0, 258.0]], [2, 0, 0]),
        ("cx6-dx", [[9.0, 16.0, 17.0], [246.0, 254.0, 259.0]], [2, 0, 0]),
    ] {
        let seen = experiment(nic);
        for (seen, published) in seen.marks.iter().flatten().zip(marks.concat()) {
            assert_within(*seen, published, 15.0);
        }
        assert_eq!(seen.cnps, cnps, "{nic}");
    }
    assert_eq!(experiment("e810").cnps, [2, 2, 2], "by QP");
}
