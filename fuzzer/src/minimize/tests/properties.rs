//! Properties that hold for every test and every predicate, sensible or not.

use std::cell::RefCell;
use std::collections::BTreeSet;

use corpus::TestConfig;
use corpus::testing::configs;
use proptest::prelude::*;

use crate::minimize::search::GROWTH;
use crate::minimize::size::Size;
use crate::minimize::{Effort, Minimised, axes, fit, is_smaller, minimize, minimize_with_restarts};

/// Something that a test may need to show.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// As many events of the test's first kind of action as it has, less some.
    EventsLikeTheFirst(usize),
    /// As many packets in all, halved so many times.
    Packets(u32),
    /// As many pairs of an event and a connection, halved so many times.
    Members(u32),
    /// At least as many bytes in a message, halved so many times.
    Bytes(u32),
    /// A timer at least as long.
    Timer,
    /// The same verbs on all connections, or not.
    Mixture,
    /// A remainder of a digest of the test's text: nothing that has a direction.
    Chance(u64),
}

impl Need {
    fn met(self, by: &TestConfig, start: &TestConfig) -> bool {
        let members = |config: &TestConfig| -> usize {
            let connections = config.traffic.load.connections();
            config.events.iter().map(|event| event.connections.members(connections).count()).sum()
        };
        let like_the_first = |config: &TestConfig| {
            let first = start.events.first().map(|event| event.action.name());
            config.events.iter().filter(|event| Some(event.action.name()) == first).count()
        };
        match self {
            Self::EventsLikeTheFirst(less) => {
                like_the_first(by) >= like_the_first(start).saturating_sub(less)
            }
            Self::Packets(halvings) => {
                by.traffic.total_packets() >= start.traffic.total_packets() >> halvings
            }
            Self::Members(halvings) => members(by) >= members(start) >> halvings,
            Self::Bytes(halvings) => by.traffic.message_size >= start.traffic.message_size >> halvings,
            Self::Timer => by.traffic.min_retransmit_timeout >= start.traffic.min_retransmit_timeout,
            Self::Mixture => {
                std::mem::discriminant(&by.traffic.load) == std::mem::discriminant(&start.traffic.load)
            }
            Self::Chance(modulus) => by == start || digest(&by.to_toml()).is_multiple_of(modulus),
        }
    }
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn needs() -> impl Strategy<Value = Vec<Need>> {
    let need = prop_oneof![
        (0..3usize).prop_map(Need::EventsLikeTheFirst),
        (0..5u32).prop_map(Need::Packets),
        (0..3u32).prop_map(Need::Members),
        (0..5u32).prop_map(Need::Bytes),
        Just(Need::Timer),
        Just(Need::Mixture),
        (2..5u64).prop_map(Need::Chance),
    ];
    proptest::collection::vec(need, 0..4)
}

/// Answers the questions of a minimiser, and checks that only valid tests are asked for, each once.
fn asked_once(start: &TestConfig, needs: &[Need]) -> impl Fn(&TestConfig) -> Result<bool, ()> {
    let asked = RefCell::new(BTreeSet::from([start.to_toml()]));
    move |config| {
        assert_eq!(config.violations(), vec![]);
        assert!(asked.borrow_mut().insert(config.to_toml()), "asked twice: {config}");
        // Four times as many again where a path MTU of 4096 becomes 1024.
        assert!(config.traffic.total_packets() <= 4 * GROWTH * start.traffic.total_packets());
        Ok(needs.iter().all(|need| need.met(config, start)))
    }
}

/// Minimises, and checks on the way that only valid tests are asked for, each once.
fn watched(start: &TestConfig, needs: &[Need], budget: Option<u64>) -> Minimised {
    let shows = asked_once(start, needs);
    let mut executions = 0;
    let minimised = minimize(start, Effort::Many, budget, &mut |config| {
        executions += 1;
        shows(config)
    });
    let minimised = minimised.unwrap();
    assert_eq!(minimised.executions, executions);
    assert!(needs.iter().all(|need| need.met(&minimised.config, start)));
    minimised
}

/// Every test that is one step along an axis, or all of it, away.
fn steps(config: &TestConfig, most_packets: u64) -> Vec<TestConfig> {
    let mut steps = Vec::new();
    for axis in axes::GROUPS.iter().flat_map(|group| group(config)) {
        let height = axis.height(config);
        for to in [0, height.saturating_sub(1)] {
            let mut step = config.clone();
            axis.lower(&mut step, to, most_packets);
            fit::fit(&mut step);
            steps.push(step);
        }
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_step_away_from_the_result_shows_it(start in configs(), needs in needs()) {
        let minimised = watched(&start, &needs, None);
        prop_assert!(minimised.complete);
        let size = Size::of(&minimised.config);
        prop_assert!(size <= Size::of(&start));
        for step in steps(&minimised.config, GROWTH * start.traffic.total_packets()) {
            let taken = step.is_valid() && Size::of(&step) < size && needs.iter().all(|need| need.met(&step, &start));
            prop_assert!(!taken, "{}\nis smaller than\n{}", step, minimised.config);
        }
    }

    /// A budget cuts the search off where it is, and a second search goes on from there.
    #[test]
    fn a_budget_is_kept(start in configs(), needs in needs(), budget in 0..60u64) {
        let whole = watched(&start, &needs, None);
        let part = watched(&start, &needs, Some(budget));
        prop_assert!(part.executions <= budget);
        prop_assert_eq!(part.complete, whole.executions <= budget);
        if part.complete {
            prop_assert_eq!(part, whole);
        } else {
            prop_assert_eq!(part.executions, budget);
            let mut shows = |config: &TestConfig| Ok::<_, ()>(needs.iter().all(|need| need.met(config, &start)));
            let resumed = minimize(&part.config, Effort::Few, None, &mut shows).unwrap();
            prop_assert!(resumed.complete);
            prop_assert!(Size::of(&resumed.config) <= Size::of(&part.config));
        }
    }

    #[test]
    fn nothing_needed_leaves_next_to_nothing(start in configs()) {
        let physical = |host: &corpus::Host| (host.nic.clone(), host.physical.clone(), host.ip_list[0]);
        let smallest = watched(&start, &[], None).config;
        let mut expected = TestConfig::default();
        expected.traffic.num_msgs_per_qp = 1;
        expected.traffic.message_size = 0;
        for role in corpus::Role::ALL {
            let host = start.host(role);
            prop_assert_eq!(physical(smallest.host(role)), physical(host));
            let kept = expected.host_mut(role);
            (kept.nic, kept.physical) = (host.nic.clone(), host.physical.clone());
            kept.ip_list = vec![host.ip_list[0]];
        }
        prop_assert_eq!(smallest, expected);
    }
}

proptest! {
    // Each makes more than a dozen searches.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Restarts know what the first search knows, ask nothing twice, and end where it does or at something smaller.
    #[test]
    fn restarts_end_at_nothing_larger(start in configs(), needs in needs()) {
        let one = watched(&start, &needs, None);
        let shows = asked_once(&start, &needs);
        let mut last = 0;
        let several = minimize_with_restarts(&start, Effort::Many, &mut |config, restarts| {
            assert!((last..=last + 12).contains(&restarts), "{restarts} after {last}");
            last = restarts;
            shows(config)
        });
        let several = several.unwrap();
        prop_assert!(several.complete && several.restarts >= last.max(12));
        prop_assert!(several.executions >= one.executions);
        prop_assert!(!is_smaller(&one.config, &several.config));
        prop_assert!(needs.iter().all(|need| need.met(&several.config, &start)));
    }
}

#[test]
fn the_first_error_ends_it() {
    let mut left = 3;
    let result = minimize(&TestConfig::default(), Effort::Many, None, &mut |_| {
        left -= 1;
        if left == 0 { Err("the testbed is gone") } else { Ok(false) }
    });
    assert_eq!((result, left), (Err("the testbed is gone"), 0));
}
