//! Rules on traffic.

use super::{Check, plural};
use crate::config::{DummyRule, Load, Pattern, Role, TestConfig, Traffic, TrafficField, Verb, fields};

pub(super) fn check(config: &TestConfig, check: &mut Check) {
    let traffic = &config.traffic;
    connections(traffic.load, check);
    for field in TrafficField::ALL {
        if let Some(bounds) = field.number()
            && !field.is_absent(traffic)
        {
            check.bounds(field.path(), (field.get)(traffic), bounds);
        }
    }

    let msgs_ok = fields::NUM_MSGS_PER_QP.allows(traffic.num_msgs_per_qp.into());
    let depth_ok = fields::TX_DEPTH.allows(traffic.tx_depth.into());
    if msgs_ok && depth_ok && traffic.tx_depth > traffic.num_msgs_per_qp {
        check.fail(
            "traffic.tx-depth",
            format!(
                "{} can never be outstanding: a connection posts {}",
                plural(traffic.tx_depth.into(), "request"),
                plural(traffic.num_msgs_per_qp.into(), "message")
            ),
            format!("use at most {}, or raise num-msgs-per-qp", traffic.num_msgs_per_qp),
            &["traffic.num-msgs-per-qp"],
        );
    }
    let gap_ok = fields::GAP_NS.allows(traffic.gap_ns);
    if msgs_ok && depth_ok && gap_ok && traffic.pauses_ns() > fields::MAX_PAUSES_NS {
        check.fail(
            "traffic.gap-ns",
            format!("a connection has {} of {} ns", plural(traffic.pauses(), "pause"), traffic.gap_ns),
            format!(
                "all together take at most {} ns; lower it or num-msgs-per-qp, or raise tx-depth",
                fields::MAX_PAUSES_NS
            ),
            &["traffic.num-msgs-per-qp", "traffic.tx-depth"],
        );
    }
    if traffic.barrier_sync && traffic.load.connections() == 1 {
        check.fail(
            "traffic.barrier-sync",
            "there is one connection, so nothing waits for anything",
            "set it to false, or use more connections",
            &["traffic.num-connections"],
        );
    }
    let turns = if traffic.pattern == Pattern::PingPong { TURNS } else { &[] };
    for (rules, cause) in [(DUMMIES, "traffic.dummy-headers"), (turns, "traffic.pattern")] {
        for Rule { key, message, help, .. } in rules.iter().filter(|rule| !(rule.holds)(traffic)) {
            check.fail(format!("traffic.{key}"), *message, *help, &[cause]);
        }
    }
    if traffic.multi_gid && Role::ALL.iter().all(|role| config.host(*role).ip_list.len() < 2) {
        check.fail(
            "traffic.multi-gid",
            "neither host has more than one address to spread connections over",
            "list at least two in requester.ip-list or responder.ip-list, or set it to false",
            &["requester.ip-list", "responder.ip-list"],
        );
    }
    if traffic.total_packets() > fields::MAX_TOTAL_PACKETS {
        check.fail(
            "traffic",
            format!(
                "asks for {} data packets ({} x {} x {})",
                traffic.total_packets(),
                plural(traffic.load.connections().into(), "connection"),
                plural(traffic.num_msgs_per_qp.into(), "message"),
                plural(traffic.shape().packets_per_message().into(), "packet"),
            ),
            format!("a test has at most {}; lower one of them", fields::MAX_TOTAL_PACKETS),
            &["traffic.num-connections", "traffic.num-msgs-per-qp", "traffic.message-size", "traffic.mtu"],
        );
    }
}

/// A rule on fields that need each other.
struct Rule {
    holds: fn(&Traffic) -> bool,
    key: &'static str,
    message: &'static str,
    help: &'static str,
}

/// Rules for dummies that wait: they are there, and are told from messages.
const DUMMIES: &[Rule] = &[
    Rule {
        holds: |traffic| traffic.dummy_idle_ns == 0 || traffic.dummy_headers > 0,
        key: "dummy-idle-ns",
        message: "no dummies are there that could wait",
        help: "set it to 0, or dummy-headers to 1 or more",
    },
    Rule {
        holds: |traffic| traffic.dummy_rule == DummyRule::IdleAfter || traffic.dummy_idle_ns > 0,
        key: "dummy-rule",
        message: "with dummy-idle-ns 0 dummies are right behind each message",
        help: "leave it out, or set dummy-idle-ns to 1 or more",
    },
    Rule {
        holds: |traffic| {
            traffic.dummy_idle_ns == 0
                || traffic.message_size > 0
                || matches!(traffic.load, Load::Same { verb: Verb::Send, .. })
        },
        key: "message-size",
        message: "with dummy-idle-ns a dummy, which has 0 bytes, would not be told from a Write or Read of 0 bytes",
        help: "use at least 1 byte, Sends, or dummy-idle-ns 0",
    },
];

/// Rules for hosts that post in turn: a pair of connections has one message in flight, and each host sees what arrives.
const TURNS: &[Rule] = &[
    Rule {
        holds: |traffic| traffic.load.connections().is_multiple_of(2),
        key: "num-connections",
        message: "with \"ping-pong\" connections are pairs, and one is left over",
        help: "use an even number",
    },
    Rule {
        holds: |traffic| matches!(traffic.load, Load::Same { verb: Verb::Write | Verb::Send, .. }),
        key: "rdma-verb",
        message: "with \"ping-pong\" a host answers what has arrived in its memory, and no Read arrives there",
        help: "use \"write\" or \"send\"",
    },
    Rule {
        holds: |traffic| {
            traffic.message_size > 0 || !matches!(traffic.load, Load::Same { verb: Verb::Write, .. })
        },
        key: "message-size",
        message: "with \"ping-pong\" a host answers a Write when its last byte has arrived, and it has none",
        help: "use at least 1 byte, or Sends",
    },
    Rule {
        holds: |traffic| traffic.tx_depth == 1,
        key: "tx-depth",
        message: "with \"ping-pong\" a connection has one request outstanding, and more are asked for",
        help: "set it to 1, or use more connections",
    },
    Rule {
        holds: |traffic| traffic.gap_ns == 0,
        key: "gap-ns",
        message: "with \"ping-pong\" a message is posted when the one before it has been answered",
        help: "set it to 0",
    },
    Rule {
        holds: |traffic| !traffic.barrier_sync,
        key: "barrier-sync",
        message: "with \"ping-pong\" each pair of connections waits for its own messages",
        help: "set it to false",
    },
];

impl Traffic {
    /// Returns true if its dummies, where they wait, are there and are told from messages.
    #[must_use]
    pub fn can_wait_with_dummies(&self) -> bool {
        DUMMIES.iter().all(|rule| (rule.holds)(self))
    }

    /// Returns true if its hosts could post in turn ([`Pattern::PingPong`]).
    #[must_use]
    pub fn can_take_turns(&self) -> bool {
        TURNS.iter().all(|rule| (rule.holds)(self))
    }
}

fn connections(load: Load, check: &mut Check) {
    let path = "traffic.num-connections";
    if let Load::Split { send, read } = load {
        for (key, part) in [("send", send), ("read", read)] {
            if part == 0 {
                let help = "give both at least one connection, or use rdma-verb \"send\" or \"read\"";
                check.fail(format!("{path}.{key}"), "no connection is left for this verb", help, &[]);
                return;
            }
        }
    }
    check.bounds(path, load.connections(), &fields::NUM_CONNECTIONS);
}
