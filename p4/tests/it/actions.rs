//! Actions on a packet, and the event in its mirrored copy.

use corpus::{HeaderField, SetField};
use dumper::{ActionKind, Event, Nanos};
use p4::{Actions, Timing};

use crate::support::{Switch, egress};

const fn mig_req(value: u64) -> SetField {
    SetField { field: HeaderField::MigReq, value }
}

/// Packet 3 of a default test with the given actions.
fn third(events: &[&str]) -> (Actions, Event) {
    let events: String = events.iter().map(|event| format!("{{ qpn = 1, psn = 3, {event} }},")).collect();
    let mut switch = Switch::new(&format!("event = [{events}]"));
    let verdicts = [1, 2, 3, 4].map(|psn| switch.data(psn));
    for other in [0, 1, 3] {
        assert_eq!(
            (verdicts[other].sent.actions, verdicts[other].mirror.event),
            (Actions::default(), Event::None)
        );
        assert!(verdicts[other].hold.is_none());
    }
    assert_eq!(verdicts[2].hold.is_some(), matches!(verdicts[2].sent.actions.timing, Timing::Reorder(_)));
    let left = 3 + u64::from(verdicts[2].sent.leaving());
    // A packet that waits for one more has left after the fourth.
    assert_eq!(egress(&switch.pipeline.counters()), [0, left]);
    (verdicts[2].sent.actions, verdicts[2].mirror.event)
}

#[test]
fn each_action() {
    let none = Actions::default();
    for (event, actions, code) in [
        (r#"type = "drop""#, Actions { drop: true, ..none }, Event::Action(ActionKind::Drop)),
        (r#"type = "ecn""#, Actions { ecn: true, ..none }, Event::Action(ActionKind::Ecn)),
        (r#"type = "corrupt""#, Actions { corrupt: true, ..none }, Event::Action(ActionKind::Corrupt)),
        (
            r#"type = "delay", delay-us = 3"#,
            Actions { timing: Timing::Delay(Nanos(3000)), ..none },
            Event::Action(ActionKind::Delay),
        ),
        (
            r#"type = "reorder", by = 1"#,
            Actions { timing: Timing::Reorder(1), ..none },
            Event::Action(ActionKind::Reorder),
        ),
        (
            r#"type = "duplicate", copies = 16"#,
            Actions { extra_copies: 16, ..none },
            Event::Action(ActionKind::Duplicate),
        ),
        (
            r#"type = "set-field", field = "mig-req", value = 0"#,
            Actions { set_field: Some(mig_req(0)), ..none },
            Event::Action(ActionKind::SetField),
        ),
        (
            r#"type = "set-field", field = "mig-req", value = 1"#,
            Actions { set_field: Some(mig_req(1)), ..none },
            Event::Action(ActionKind::SetField),
        ),
    ] {
        assert_eq!(third(&[event]), (actions, code), "{event}");
    }
}

#[test]
fn actions_combine() {
    let (actions, event) = third(&[
        r#"type = "ecn""#,
        r#"type = "set-field", field = "mig-req", value = 0"#,
        r#"type = "duplicate", copies = 2"#,
        r#"type = "reorder", by = 1"#,
    ]);
    assert_eq!(event, Event::Several);
    assert_eq!(
        actions,
        Actions {
            drop: false,
            ecn: true,
            corrupt: false,
            set_field: Some(mig_req(0)),
            extra_copies: 2,
            timing: Timing::Reorder(1),
            drop_copies: 0,
        }
    );
    let (actions, event) = third(&[r#"type = "corrupt""#, r#"type = "delay", delay-ns = 7"#]);
    assert_eq!(event, Event::Several);
    assert_eq!(actions, Actions { corrupt: true, timing: Timing::Delay(Nanos(7)), ..Actions::default() });
}
