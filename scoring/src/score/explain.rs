//! Anomalies that are only symptoms of another one in the same test, so that one fault is one finding.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::analyzers::Analyzer;
use crate::anomaly::{Anomalies, Anomaly};
use crate::cause::Cause;
use crate::counters::cause_of;
use crate::rules::{Consequence, Rule};

/// One anomaly of each signature of the analyzers' and the oracles', in the order of their evidence, and the
/// symptoms among them, each with its cause, by index.
///
/// Of each signature it is the earliest one that nothing explains, or else the earliest: a signature is
/// explained if all that was kept of it is.
pub(super) fn conclude(analyzers: &Anomalies, oracles: Vec<Anomaly>) -> (Vec<Anomaly>, Vec<(usize, usize)>) {
    if analyzers.is_empty() && oracles.is_empty() {
        return Default::default();
    }
    // Anomalies of oracles explain as those of analyzers do.
    let mut first = analyzers.first().clone();
    for anomaly in &oracles {
        let packet = anomaly.evidence.packets.first().copied();
        first.entry((anomaly.rule, anomaly.who.connection)).or_insert(packet);
    }
    let mut all: Vec<Anomaly> = analyzers.kept().iter().cloned().chain(oracles).map(normalised).collect();
    all.sort_by_key(|anomaly| anomaly.evidence.packets.first().copied().unwrap_or(u32::MAX));

    // By signature: which one stands for all, the rule that explains it, and how many they are.
    let mut groups: BTreeMap<String, (usize, Option<Rule>, usize)> = BTreeMap::new();
    for (at, anomaly) in all.iter().enumerate() {
        let cause = cause(anomaly, &first);
        let (stands, by, count) = groups.entry(anomaly.signature()).or_insert((at, cause, 0));
        *count += 1;
        if by.is_some() && cause.is_none() {
            (*stands, *by) = (at, None);
        }
    }
    let mut kept: Vec<(usize, Option<Rule>, usize)> = groups.into_values().collect();
    kept.sort_unstable();
    let place = |cause: &Option<Rule>| kept.iter().position(|(at, ..)| Some(all[*at].rule) == *cause);
    let mut causes: Vec<Option<usize>> = kept.iter().map(|(_, cause, _)| place(cause)).collect();
    // Of rules that explain each other the one that is broken most often stays, or else the one that was broken first.
    let mut most_first: Vec<usize> = (0..kept.len()).collect();
    most_first.sort_by_key(|at| Reverse(kept[*at].2));
    for symptom in most_first {
        if leads_to_itself(&causes, symptom) {
            causes[symptom] = None;
        }
    }
    let explained =
        causes.into_iter().enumerate().filter_map(|(symptom, cause)| Some((symptom, cause?))).collect();
    (kept.iter().map(|(at, ..)| all[*at].clone()).collect(), explained)
}

/// The signature of the finding that an anomaly is a sighting of: one fault has the same in every state of the machine that
/// saw it.
#[must_use]
pub fn signature_of(anomaly: &Anomaly) -> String {
    normalised(anomaly.clone()).signature()
}

/// Whether causes of causes of one are that one again: two rules may each be what breaking the other makes of a test.
fn leads_to_itself(causes: &[Option<usize>], symptom: usize) -> bool {
    let chain = std::iter::successors(causes[symptom], |cause| causes[*cause]);
    chain.take(causes.len()).any(|cause| cause == symptom)
}

/// The anomaly in the form that distinguishes findings: by the rule that the fault breaks, in any state of
/// the machine that follows the connection, and by the part of the NIC, at either host.
fn normalised(mut anomaly: Anomaly) -> Anomaly {
    anomaly.rule = anomaly.rule.reported_as();
    if anomaly.rule.analyzer() == Analyzer::GoBackN {
        anomaly.state = "".into();
    }
    if anomaly.rule == Rule::CounterDiffers
        && let Some(part) = cause_of(&anomaly.state).and_then(Cause::counted_by)
    {
        anomaly.who.role = part;
    }
    anomaly
}

/// The broken rule that explains an anomaly: on the same connection, and not later than it unless it shows
/// late. `first` has the first packet of each rule on each connection.
fn cause(symptom: &Anomaly, first: &BTreeMap<(Rule, Option<usize>), Option<u32>>) -> Option<Rule> {
    // An anomaly that took its time began with its earliest packet and shows with its latest.
    let shows = symptom.evidence.packets.iter().max();
    let begins_before = |packet: Option<u32>| {
        packet.is_none() || shows.is_none_or(|shows| packet.is_some_and(|packet| packet <= *shows))
    };
    let explains = |&((rule, connection), packet): &(&(Rule, Option<usize>), &Option<u32>)| {
        let (rule, connection) = (rule.reported_as(), *connection);
        let here = symptom.who.connection.is_none() || symptom.who.connection == connection;
        let mut rows = rule.consequences().iter();
        rule != symptom.rule
            && rows.any(|row| row.has(symptom, here) && (row.shows_late || begins_before(*packet)))
    };
    first.iter().find(explains).map(|((rule, _), _)| rule.reported_as())
}

impl Consequence {
    /// Returns true if it explains such an anomaly, `here`, on the connection of its cause, or elsewhere.
    fn has(&self, symptom: &Anomaly, here: bool) -> bool {
        let counts = |cause| self.counters.contains(&cause);
        here && self.here.contains(&symptom.rule)
            || self.elsewhere.contains(&symptom.rule)
            || symptom.rule == Rule::CounterDiffers && cause_of(&symptom.state).is_some_and(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomaly::{Evidence, Role, Who};

    /// An anomaly on a connection, 0 for none, with its packets.
    fn anomaly(rule: Rule, connection: usize, packets: &[u32], state: &'static str) -> Anomaly {
        let connection = (connection > 0).then_some(connection);
        let who = Who { role: Role::Responder, address: None, connection };
        let evidence = Evidence::packets(packets.iter().copied());
        Anomaly { rule, who, state: state.into(), what: String::new(), evidence }
    }

    /// Rules of the conclusions, with their first packets, and the explanations.
    type Concluded = (Vec<(Rule, u32)>, Vec<(usize, usize)>);

    fn concluded(anomalies: Vec<Anomaly>) -> Concluded {
        let mut seen = Anomalies::default();
        anomalies.into_iter().for_each(|anomaly| seen.push(anomaly));
        let (kept, explained) = conclude(&seen, Vec::new());
        let first = |anomaly: Anomaly| (anomaly.rule, anomaly.evidence.packets.first().copied().unwrap_or(0));
        (kept.into_iter().map(first).collect(), explained)
    }

    #[test]
    fn a_symptom_is_on_the_same_connection_and_not_earlier() {
        let late = |connection, packet| anomaly(Rule::ResumeLate, connection, &[packet], "repeating");
        let ignored = |connection, packet| anomaly(Rule::NakIgnored, connection, &[packet], "flowing");
        assert_eq!(concluded(vec![late(1, 5), ignored(1, 9)]).1, [(1, 0)]);
        assert_eq!(concluded(vec![late(1, 5), ignored(1, 5)]).1, [(1, 0)]);
        assert_eq!(concluded(vec![late(1, 9), ignored(1, 5)]).1, []);
        assert_eq!(concluded(vec![late(1, 5), ignored(2, 9)]).1, []);
        // It takes its time: from 3 on, and it shows at 9.
        assert_eq!(concluded(vec![late(1, 5), anomaly(Rule::NakIgnored, 1, &[3, 9], "flowing")]).1, [(0, 1)]);
        // Of several sightings one that nothing explains stands for all.
        let (kept, explained) = concluded(vec![late(1, 5), ignored(1, 9), ignored(2, 12)]);
        assert_eq!((kept, explained), (vec![(Rule::ResumeLate, 5), (Rule::NakIgnored, 12)], vec![]));
    }

    #[test]
    fn a_cause_that_shows_late_explains_what_came_before_it_on_its_connection() {
        let nak = |connection| anomaly(Rule::NakWithoutCause, connection, &[9], "in-order");
        let msn = |connection| anomaly(Rule::MsnWrong, connection, &[5], "in-order");
        assert_eq!(concluded(vec![nak(1), msn(1)]).1, [(0, 1)]);
        assert_eq!(concluded(vec![nak(1), msn(2)]).1, []);
    }

    #[test]
    fn an_early_expiry_is_no_slow_reaction_to_the_nack_before_it() {
        let early = |connection| anomaly(Rule::RtoBelowMinimum, connection, &[9], "repeating");
        let slow = |connection| anomaly(Rule::SlowNack, connection, &[3, 5], "write/reaction");
        assert_eq!(concluded(vec![early(1), slow(1)]).1, [(0, 1)]);
        assert_eq!(concluded(vec![early(1), slow(2)]).1, []);
        let late = anomaly(Rule::RtoAboveMaximum, 1, &[9], "repeating");
        assert_eq!(concluded(vec![late, slow(1)]).1, []);
    }

    #[test]
    fn packets_that_a_stalled_receiver_keeps_are_late_on_every_connection() {
        let symptoms = || {
            [Rule::SlowNack, Rule::RtoAboveMaximum, Rule::RetriesBelowBudget]
                .map(|rule| anomaly(rule, 2, &[3], "repeating"))
        };
        for cause in [Rule::InnocentSuffers, Rule::DiscardsUnexplained, Rule::PairDiscards] {
            let stalled = anomaly(cause, 1, &[9], "");
            let (kept, explained) = concluded(symptoms().into_iter().chain([stalled]).collect());
            assert_eq!((kept.len(), explained.len()), (4, 3), "{}", cause.name());
        }
        assert_eq!(concluded(symptoms().into()).1, []);
    }

    #[test]
    fn of_rules_that_explain_each_other_the_one_that_is_seen_most_stays() {
        let position = anomaly(Rule::ResponsePosition, 1, &[5], "idle");
        let unrequested = |packet| anomaly(Rule::ResponseUnrequested, 1, &[packet], "idle");
        assert_eq!(concluded(vec![position.clone(), unrequested(5)]).1, [(1, 0)]);
        assert_eq!(concluded(vec![position, unrequested(5), unrequested(7)]).1, [(0, 1)]);
    }

    #[test]
    fn a_counter_that_both_hosts_have_at_work_is_one_finding() {
        let of = |counter, role| {
            let anomaly = anomaly(Rule::CounterDiffers, 0, &[], counter);
            Anomaly { who: Who { role, ..anomaly.who }, ..anomaly }
        };
        let both =
            |counter| concluded([Role::Requester, Role::Responder].map(|role| of(counter, role)).into()).0;
        assert_eq!(both("rp_cnp_handled").len(), 1);
        assert_eq!(both("np_cnp_sent").len(), 1);
        assert_eq!(both("out_of_sequence").len(), 2);
    }

    #[test]
    fn a_cause_is_found_beyond_what_is_kept_of_it() {
        let again = |connection| anomaly(Rule::ResumeLate, connection, &[connection as u32], "repeating");
        let mut many: Vec<Anomaly> = (1..=100).map(again).collect();
        many.push(anomaly(Rule::NakIgnored, 100, &[200], "flowing"));
        assert_eq!(concluded(many).1, [(1, 0)]);
    }

    #[test]
    fn states_of_machines_make_no_findings_and_those_of_counters_do() {
        let (kept, _) = concluded(vec![
            anomaly(Rule::NakAgain, 1, &[5], "gap-open"),
            anomaly(Rule::NakAgain, 1, &[3], "in-order"),
            anomaly(Rule::CounterDiffers, 0, &[], "out_of_sequence"),
            anomaly(Rule::CounterDiffers, 0, &[], "duplicate_request"),
        ]);
        assert_eq!(kept, [(Rule::NakAgain, 3), (Rule::CounterDiffers, 0), (Rule::CounterDiffers, 0)]);
    }

    #[test]
    fn only_the_counters_of_the_mechanism_are_explained() {
        let of = |counter| {
            let counter = anomaly(Rule::CounterDiffers, 0, &[], counter);
            concluded(vec![anomaly(Rule::NakWrongPsn, 3, &[7], "gap-open"), counter]).1
        };
        assert_eq!(of("duplicate_request"), [(1, 0)]);
        assert_eq!(of("out_of_sequence"), []);
        assert_eq!(of("of nobody's knowledge"), []);
    }

    /// Two rules that explain each other: one of them stays a finding.
    #[test]
    fn explanations_do_not_go_round() {
        let both = vec![
            anomaly(Rule::ResponsePosition, 1, &[5], "idle"),
            anomaly(Rule::ResponseUnrequested, 1, &[5], "idle"),
        ];
        assert_eq!(concluded(both).1.len(), 1);
        for rule in Rule::ALL {
            assert!(rule.consequences().iter().all(|row| !row.here.contains(rule)), "{}", rule.name());
        }
    }
}
