//! Resources of a test: GIDs, memory, queues and first PSNs, as the test configures them.

use std::net::IpAddr;
use std::rc::Rc;

use corpus::{Role, TestConfig, Verb};
use dumper::Psn;
use tonic::Status;

use super::layout::{Layout, mix};
use super::limits;
use super::refusal::cannot;
use crate::verbs::{Access, Channel, Cq, Gid, Mr, Pd, Qp, QpCapacity, VerbsError};

/// The GIDs that connections use in turn: the one that the orchestrator names, or those of the host's addresses.
pub(super) fn gids_of(
    config: &TestConfig,
    role: Role,
    index: Option<u32>,
    table: &[Gid],
) -> Result<Vec<Gid>, String> {
    // The attributes of a QP have 8 bits for it.
    let usable = || table.iter().filter(|gid| gid.ip().is_some() && gid.index < 256);
    let known = || {
        let list: Vec<_> =
            usable().filter_map(|gid| Some(format!("{} is {}", gid.index, gid.ip()?))).collect();
        if list.is_empty() { "none".to_owned() } else { list.join(", ") }
    };
    if let Some(index) = index {
        let named = usable().find(|gid| gid.index == index).copied();
        return named
            .map(|gid| vec![gid])
            .ok_or_else(|| format!("gid-index: {index} is no RoCE v2 GID; those of the port: {}", known()));
    }
    let addresses = &config.host(role).ip_list;
    let used = if config.traffic.multi_gid { addresses.len() } else { 1 };
    let gid_of = |ip: IpAddr| {
        usable().find(|gid| gid.ip() == Some(ip)).copied().ok_or_else(|| {
            format!(
                "{}.ip-list: no RoCE v2 GID of the port is {ip} (`ip address add {ip}/PREFIX dev IF` makes one); \
                 those of the port: {}",
                role.name(),
                known()
            )
        })
    };
    addresses.iter().take(used).map(|cidr| gid_of(cidr.addr)).collect()
}

/// Memory for all messages, filled with the data of each side before anything is sent.
pub(super) fn memory_of(config: &TestConfig, role: Role, layout: &Layout, pd: &Rc<Pd>) -> Result<Mr, Status> {
    let bytes = usize::try_from(layout.bytes()).map_err(cannot)?;
    let mut memory = Mr::new(pd, bytes, access_of(config, role)).map_err(|error| {
        cannot(format!("{bytes} bytes of message memory: {error}; lower the test, or raise `ulimit -l`"))
    })?;
    let traffic = &config.traffic;
    for connection in 0..traffic.load.connections() {
        for message in 0..traffic.num_msgs_per_qp {
            let verb = traffic.load.verb(connection + 1, message);
            if verb.data_sender() == traffic.end_at(role, connection + 1) {
                layout.fill_sender(&mut memory, connection, message);
            } else {
                layout.fill_receiver(&mut memory, connection, message);
            }
        }
    }
    Ok(memory)
}

/// Access rights of the peer to a host's memory: those that the test needs, and no others.
fn access_of(config: &TestConfig, role: Role) -> Access {
    let traffic = &config.traffic;
    let answers = |qpn: &u32| traffic.end_at(role, *qpn) == Role::Responder;
    let carries = |verb| {
        let mut answered = (1..=traffic.load.connections()).filter(answers);
        answered.any(|qpn| traffic.load.carries(qpn, traffic.num_msgs_per_qp, verb))
    };
    let has_dummies = |verb| traffic.dummy_headers > 0 && carries(verb);
    Access { remote_write: carries(Verb::Write) || has_dummies(Verb::Send), remote_read: carries(Verb::Read) }
}

/// Completion queues and QPs. A completion queue serves as many QPs as it has room for.
pub(super) fn queues_of(
    config: &TestConfig,
    role: Role,
    port: u8,
    max_cqe: u32,
    channel: &Rc<Channel>,
    pd: &Rc<Pd>,
) -> Result<(Vec<Rc<Cq>>, Vec<Qp>), Status> {
    let connections = config.traffic.load.connections();
    let depth_of = |connection| limits::queue_depth(config, role, connection).max(1);
    let depth = (0..connections).map(depth_of).max().unwrap_or(1);
    let per_cq = (max_cqe / depth).max(1);
    let (mut cqs, mut qps) = (Vec::<Rc<Cq>>::new(), Vec::with_capacity(connections as usize));
    for connection in 0..connections {
        let failed = |error: VerbsError| {
            cannot(format!(
                "traffic.num-connections: at connection {} of {connections}: {error}",
                connection + 1
            ))
        };
        if connection % per_cq == 0 {
            let served = per_cq.min(connections - connection);
            cqs.push(Cq::new(channel, served * depth).map_err(failed)?);
        }
        let cq = cqs.last().expect("the first connection makes one");
        let own = depth_of(connection);
        let capacity = match config.traffic.end_at(role, connection + 1) {
            Role::Requester => QpCapacity { sends: own, receives: 1 },
            Role::Responder => QpCapacity { sends: 1, receives: own },
        };
        let qp = Qp::new(pd, cq, capacity).map_err(failed)?;
        qp.to_init(port, access_of(config, role)).map_err(failed)?;
        qps.push(qp);
    }
    Ok((cqs, qps))
}

/// First PSN of a host's end of a connection (from 0): the test's, where it names the requester's, or a random one.
pub(super) fn initial_psn(config: &TestConfig, role: Role, connection: u32) -> u32 {
    let end = config.traffic.end_at(role, connection + 1);
    let given = config.traffic.initial_psn.filter(|_| end == Role::Requester);
    let random = mix(mix(config.traffic.seed ^ role as u64) ^ u64::from(connection));
    given.unwrap_or(Psn::new(random as u32).value())
}

#[cfg(test)]
mod tests {
    use corpus::Load;

    use super::*;
    use crate::verbs::GidType;

    fn gid(index: u32, ip: &str, kind: GidType) -> Gid {
        let ip: IpAddr = ip.parse().unwrap();
        let raw = match ip {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        Gid { index, kind, raw, interface: 2 }
    }

    #[test]
    fn addresses_find_their_gids() {
        let table = [
            gid(0, "10.0.0.1", GidType::RoceV1),
            gid(1, "10.0.0.1", GidType::RoceV2),
            gid(2, "10.0.0.3", GidType::RoceV2),
            gid(300, "10.0.0.4", GidType::RoceV2),
        ];
        let mut config = TestConfig::default();
        let indices = |config: &TestConfig, index| -> Result<Vec<u32>, String> {
            let gids = gids_of(config, Role::Requester, index, &table)?;
            Ok(gids.iter().map(|gid| gid.index).collect())
        };
        assert_eq!(indices(&config, None), Ok(vec![1]));
        assert_eq!(indices(&config, Some(2)), Ok(vec![2]));
        assert!(
            indices(&config, Some(0))
                .unwrap_err()
                .contains("those of the port: 1 is 10.0.0.1, 2 is 10.0.0.3")
        );
        config.requester.ip_list.push("10.0.0.3/24".parse().unwrap());
        assert_eq!(indices(&config, None), Ok(vec![1]));
        config.traffic.multi_gid = true;
        assert_eq!(indices(&config, None), Ok(vec![1, 2]));
        config.requester.ip_list.push("10.0.0.4/24".parse().unwrap());
        assert!(
            indices(&config, None)
                .unwrap_err()
                .starts_with("requester.ip-list: no RoCE v2 GID of the port is 10.0.0.4 ")
        );
    }

    #[test]
    fn a_peer_may_do_no_more_than_the_test() {
        let mut config = TestConfig::default();
        assert_eq!(access_of(&config, Role::Requester), Access::default());
        assert_eq!(access_of(&config, Role::Responder), Access { remote_write: true, remote_read: false });
        config.traffic.load = Load::Alternating { connections: 2 };
        assert_eq!(access_of(&config, Role::Responder), Access { remote_write: false, remote_read: true });
        config.traffic.dummy_headers = 1;
        assert_eq!(access_of(&config, Role::Responder), Access { remote_write: true, remote_read: true });
        config.traffic.dummy_headers = 0;
        config.traffic.num_msgs_per_qp = 1;
        assert_eq!(access_of(&config, Role::Responder), Access::default());
    }

    #[test]
    fn psns_are_the_tests_or_differ_by_role_and_connection() {
        let mut config = TestConfig::default();
        let psns = |config: &TestConfig| {
            [(Role::Requester, 0), (Role::Requester, 1), (Role::Responder, 0)]
                .map(|(role, connection)| initial_psn(config, role, connection))
        };
        let [a, b, c] = psns(&config);
        assert!(a != b && a != c && b != c);
        assert!([a, b, c].iter().all(|psn| *psn < Psn::SPACE));
        config.traffic.initial_psn = Some(0xff_fffe);
        assert_eq!(psns(&config), [0xff_fffe, 0xff_fffe, c]);
    }
}
