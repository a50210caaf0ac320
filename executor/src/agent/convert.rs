//! Conversions between the protocol's messages and the types of the rest of the program.

use corpus::Role;
use dumper::observation::{CompletionStatus, Counters};
use dumper::{Completion, Delivery, Endpoint, Nanos, Psn};

use super::proto;

impl From<Counters> for proto::Counters {
    fn from(counters: Counters) -> Self {
        Self {
            port: counters.port_counters.into_iter().collect(),
            hw: counters.hw_counters.into_iter().collect(),
            ethtool: counters.ethtool_counters.into_iter().collect(),
        }
    }
}

impl From<proto::Counters> for Counters {
    fn from(counters: proto::Counters) -> Self {
        Self {
            port_counters: counters.port.into_iter().collect(),
            hw_counters: counters.hw.into_iter().collect(),
            ethtool_counters: counters.ethtool.into_iter().collect(),
        }
    }
}

impl From<Role> for proto::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Requester => Self::Requester,
            Role::Responder => Self::Responder,
        }
    }
}

impl From<proto::Role> for Role {
    fn from(role: proto::Role) -> Self {
        match role {
            proto::Role::Requester => Self::Requester,
            proto::Role::Responder => Self::Responder,
        }
    }
}

impl TryFrom<&proto::End> for Endpoint {
    type Error = String;

    /// The end as the trace knows it.
    fn try_from(end: &proto::End) -> Result<Self, String> {
        let ip = end.ip.parse().map_err(|_| format!("{:?} is no IP address", end.ip))?;
        for (what, value) in [("QPN", end.qpn), ("PSN", end.initial_psn)] {
            if value >= Psn::SPACE {
                return Err(format!("a {what} of {value:#x} has more than 24 bits"));
            }
        }
        Ok(Self { ip, qpn: Some(end.qpn), initial_psn: Some(Psn::new(end.initial_psn)) })
    }
}

impl From<&proto::Completion> for Completion {
    fn from(completion: &proto::Completion) -> Self {
        Self {
            connection: completion.connection,
            message: completion.message,
            posted_ns: Nanos(completion.posted_ns),
            completed_ns: Nanos(completion.completed_ns),
            bytes: completion.bytes,
            status: status_of(completion.wc_status),
        }
    }
}

/// `enum ibv_wc_status` as the analyzers tell them apart.
const fn status_of(wc_status: u32) -> CompletionStatus {
    match wc_status {
        0 => CompletionStatus::Success,
        5 => CompletionStatus::Flushed,
        // REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR
        9..=11 => CompletionStatus::RemoteError,
        12 => CompletionStatus::RetryExceeded,
        13 => CompletionStatus::RnrRetryExceeded,
        _ => CompletionStatus::Error,
    }
}

impl From<&proto::Delivery> for Delivery {
    fn from(delivery: &proto::Delivery) -> Self {
        Self {
            connection: delivery.connection,
            message: delivery.message,
            bytes: delivery.bytes,
            intact: delivery.intact,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn counters_and_roles_come_back_as_they_were() {
        let group = |name: &str, value| BTreeMap::from([(name.to_owned(), value), ("zero".to_owned(), 0)]);
        let counters = Counters {
            port_counters: group("port_rcv_data", 1),
            hw_counters: group("sent_pkts", u64::MAX),
            ethtool_counters: group("rx_packets", 3),
        };
        assert_eq!(Counters::from(proto::Counters::from(counters.clone())), counters);
        for role in Role::ALL {
            assert_eq!(Role::from(proto::Role::from(role)), role);
        }
    }

    #[test]
    fn ends_are_checked() {
        let end =
            |qpn, psn, ip: &str| proto::End { qpn, initial_psn: psn, ip: ip.to_owned(), address: 0, rkey: 0 };
        let endpoint = Endpoint::try_from(&end(0x11, 0xff_ffff, "fe80::1")).unwrap();
        assert_eq!((endpoint.qpn, endpoint.initial_psn), (Some(0x11), Some(Psn::MAX)));
        assert!(Endpoint::try_from(&end(1 << 24, 0, "10.0.0.1")).unwrap_err().contains("QPN"));
        assert!(Endpoint::try_from(&end(1, 1 << 24, "10.0.0.1")).unwrap_err().contains("PSN"));
        assert!(Endpoint::try_from(&end(1, 1, "10.0.0")).unwrap_err().contains("10.0.0"));
    }

    #[test]
    fn statuses_are_those_of_verbs() {
        use CompletionStatus::{Error, Flushed, RemoteError, RetryExceeded, RnrRetryExceeded, Success};
        let expected = [
            Success,
            Error,
            Error,
            Error,
            Error,
            Flushed,
            Error,
            Error,
            Error,
            RemoteError,
            RemoteError,
            RemoteError,
            RetryExceeded,
            RnrRetryExceeded,
            Error,
        ];
        for (status, expected) in (0..).zip(expected) {
            assert_eq!(status_of(status), expected, "status {status}");
        }
    }
}
