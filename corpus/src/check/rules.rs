//! Rules between the tables of a NIC's switch: packets that loop, or that reach no port.

use super::{Check, plural};
use crate::config::{Direction, Hop, IpVersion, Offload, Rule, fields};

/// Packets that the rules of a host cannot tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    direction: Direction,
    ip_version: IpVersion,
}

/// End of the way of packets through the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Walk {
    /// The port, after so many tables.
    Port { tables: u32 },
    /// Tables that they go through again and again, from the first one to itself, and the rule (from 1) that leads back there.
    Loop { tables: Vec<u32>, rule: usize },
    /// A table that has no rule for them, and the rule (from 1) that leads there; none leads to the first table.
    NoRule { table: u32, rule: Option<usize> },
}

impl Offload {
    /// Tables that the packets of a direction and a version of IP are looked up in: those on their way to the port by the rules, or as many
    /// as the chain has.
    #[must_use]
    pub fn tables_of(&self, direction: Direction, ip_version: IpVersion) -> u32 {
        if self.rules.is_empty() {
            return self.tables;
        }
        match walk(&self.rules, Class { direction, ip_version }) {
            Walk::Port { tables } => tables,
            // No test that was checked has these.
            Walk::Loop { .. } | Walk::NoRule { .. } => self.tables,
        }
    }
}

/// The way of a class of packets from table 1 on.
fn walk(rules: &[Rule], class: Class) -> Walk {
    let (mut way, mut table, mut led) = (Vec::new(), 1, None);
    loop {
        if let (Some(first), Some(rule)) = (way.iter().position(|one| *one == table), led) {
            let mut tables = way.split_off(first);
            tables.push(table);
            return Walk::Loop { tables, rule };
        }
        way.push(table);
        let decides = |rule: &Rule| rule.table == table && rule.matches(class.direction, class.ip_version);
        let found = rules.iter().position(decides);
        match found.map(|at| (at + 1, rules[at].forward_to)) {
            None => return Walk::NoRule { table, rule: led },
            Some((_, Hop::Port)) => return Walk::Port { tables: way.len() as u32 },
            Some((rule, Hop::Table(next))) => (table, led) = (next, Some(rule)),
        }
    }
}

pub(super) fn check(offload: &Offload, path: &str, check: &mut Check) {
    let rules = &offload.rules;
    if rules.is_empty() {
        return;
    }
    let tables = format!("{path}.tables");
    let path = format!("{path}.rule");
    if offload.tables != Offload::default().tables {
        let message = format!("is {}, and rules say which tables a packet goes through", offload.tables);
        check.fail(tables, message, "remove `tables`, or the rules", &[&path]);
    }
    if rules.len() > fields::MAX_RULES {
        let message = format!("there are {}", plural(rules.len() as u64, "rule"));
        check.fail(path, message, format!("at most {} are allowed", fields::MAX_RULES), &[]);
        return;
    }
    let mut sound = true;
    for (rule, number) in rules.iter().zip(1..) {
        let path = format!("{path}[{number}]");
        sound &= check.bounds(format_args!("{path}.table"), rule.table, &fields::RULE_TABLE);
        if let Hop::Table(next) = rule.forward_to {
            sound &= check.bounds(format_args!("{path}.forward-to"), next, &fields::FORWARD_TO);
        }
    }
    if sound {
        ways(rules, &path, check);
    }
}

/// Packets of every class reach the port.
fn ways(rules: &[Rule], path: &str, check: &mut Check) {
    let mut ends: Vec<(Walk, Vec<Class>)> = Vec::new();
    for class in classes() {
        let end = walk(rules, class);
        match ends.iter_mut().find(|(other, _)| *other == end) {
            Some((_, classes)) => classes.push(class),
            None => ends.push((end, vec![class])),
        }
    }
    for (end, classes) in ends {
        let packets = named(&classes);
        match end {
            Walk::Port { .. } => {}
            Walk::Loop { tables, rule } => {
                let names: Vec<String> = tables.iter().map(|table| format!("T{table}")).collect();
                let message = format!("{packets} go {}, and reach no port", names.join(" -> "));
                let help = "have one of these tables forward them to another table, or to \"port\"";
                check.fail(format!("{path}[{rule}].forward-to"), message, help, &[]);
            }
            Walk::NoRule { table, rule } => {
                let field = rule.map_or_else(|| path.to_owned(), |rule| format!("{path}[{rule}].forward-to"));
                let message = format!(
                    "{packets} reach T{table}, which has no rule for them, so that they reach no port"
                );
                check.fail(field, message, format!("add a rule with table = {table} that matches them"), &[]);
            }
        }
    }
}

/// Every class of packets.
fn classes() -> impl Iterator<Item = Class> {
    let of =
        |ip_version| [Direction::Egress, Direction::Ingress].map(|direction| Class { direction, ip_version });
    [IpVersion::V4, IpVersion::V6].into_iter().flat_map(of)
}

/// Some classes of packets, as a phrase.
fn named(some: &[Class]) -> String {
    let phrase = |classes: &[Class]| {
        let [first, rest @ ..] = classes else { return String::new() };
        let version = match first.ip_version {
            _ if rest.iter().any(|other| other.ip_version != first.ip_version) => "packets",
            IpVersion::V4 => "IPv4 packets",
            IpVersion::V6 => "IPv6 packets",
        };
        let direction = match first.direction {
            _ if rest.iter().any(|other| other.direction != first.direction) => "",
            Direction::Egress => " that leave",
            Direction::Ingress => " that arrive",
        };
        format!("{version}{direction}")
    };
    let differs = |of: fn(&Class) -> u8| some.iter().any(|class| of(class) != of(&some[0]));
    let (versions, directions) =
        (differs(|class| class.ip_version as u8), differs(|class| class.direction as u8));
    if some.len() == (1 + usize::from(versions)) * (1 + usize::from(directions)) {
        return phrase(some);
    }
    let single: Vec<String> = some.iter().map(|class| phrase(std::slice::from_ref(class))).collect();
    single.join(" and ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::RngExt as _;
    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};

    use super::*;
    use crate::TestConfig;

    /// Random rules: few tables, so that many of them loop or lack a rule.
    fn drawn(rng: &mut ChaCha8Rng) -> Vec<Rule> {
        let tables = rng.random_range(1..=8);
        let rule = |rng: &mut ChaCha8Rng| Rule {
            table: rng.random_range(1..=tables),
            direction: Rule::DIRECTIONS[rng.random_range(0..3)].1,
            ip_version: Rule::MATCHES[rng.random_range(0..3)].1,
            forward_to: match rng.random_range(0..=tables) {
                0 => Hop::Port,
                table => Hop::Table(table),
            },
        };
        (0..rng.random_range(1..=24)).map(|_| rule(rng)).collect()
    }

    /// The hop of a class at a table, looked for in each rule; none without a rule.
    fn hop(rules: &[Rule], class: Class, table: u32) -> Option<Hop> {
        for rule in rules {
            let direction = match rule.direction {
                None => true,
                Some(Direction::Egress) => class.direction == Direction::Egress,
                Some(Direction::Ingress) => class.direction == Direction::Ingress,
            };
            let version = match rule.ip_version {
                None => true,
                Some(IpVersion::V4) => class.ip_version == IpVersion::V4,
                Some(IpVersion::V6) => class.ip_version == IpVersion::V6,
            };
            if rule.table == table && direction && version {
                return Some(rule.forward_to);
            }
        }
        None
    }

    /// The tables of a packet, hop by hop, more of them than there are.
    fn hops(rules: &[Rule], class: Class) -> (Vec<u32>, Option<Hop>) {
        let mut tables = vec![1];
        for _ in 0..20 {
            match hop(rules, class, tables[tables.len() - 1]) {
                Some(Hop::Table(next)) => tables.push(next),
                end => return (tables, end),
            }
        }
        (tables, Some(Hop::Table(0)))
    }

    #[test]
    fn the_walk_agrees_with_packets_hop_by_hop() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let (mut ports, mut loops, mut no_rules) = (0, 0, 0);
        for _ in 0..10_000 {
            let rules = drawn(&mut rng);
            for class in classes() {
                let (tables, end) = hops(&rules, class);
                match walk(&rules, class) {
                    Walk::Port { tables: number } => {
                        assert_eq!((end, tables.len()), (Some(Hop::Port), number as usize), "{rules:?}");
                        ports += 1;
                    }
                    Walk::Loop { tables: cycle, rule } => {
                        assert_eq!(end, Some(Hop::Table(0)), "{rules:?}");
                        assert!(cycle.len() > 1 && cycle.first() == cycle.last(), "{cycle:?}: {rules:?}");
                        for pair in cycle.windows(2) {
                            assert_eq!(hop(&rules, class, pair[0]), Some(Hop::Table(pair[1])), "{rules:?}");
                            assert!(tables.contains(&pair[0]), "{cycle:?}: {rules:?}");
                        }
                        let closes = &rules[rule - 1];
                        let last = cycle[cycle.len() - 2];
                        assert_eq!((closes.table, closes.forward_to), (last, Hop::Table(cycle[0])));
                        loops += 1;
                    }
                    Walk::NoRule { table, rule } => {
                        assert_eq!((end, tables.last()), (None, Some(&table)), "{rules:?}");
                        let led = rule.map(|rule| rules[rule - 1].forward_to);
                        assert_eq!(led, (tables.len() > 1).then_some(Hop::Table(table)), "{rules:?}");
                        no_rules += 1;
                    }
                }
            }
        }
        assert!(
            [ports, loops, no_rules].into_iter().all(|number| number > 2_000),
            "{ports} {loops} {no_rules}"
        );
    }

    /// A test is valid if and only if the packets of every class reach the port, and has the tables of their walk then.
    #[test]
    fn rules_are_refused_if_packets_of_some_class_reach_no_port() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut valid = 0;
        for _ in 0..1_000 {
            let rules = drawn(&mut rng);
            let reach = classes().all(|class| hops(&rules, class).1 == Some(Hop::Port));
            let offload = Offload { rules: rules.clone(), ..Offload::default() };
            let mut config = TestConfig::default();
            config.responder.offload = Some(offload.clone());
            assert_eq!(config.is_valid(), reach, "{rules:?}: {:?}", config.violations());
            if reach {
                valid += 1;
                for class in classes() {
                    let tables = offload.tables_of(class.direction, class.ip_version);
                    assert_eq!(tables as usize, hops(&rules, class).0.len());
                }
            }
        }
        assert!(valid > 20, "{valid}");
    }

    #[test]
    fn classes_that_fare_alike_are_named_together() {
        let all: Vec<Class> = classes().collect();
        assert_eq!(named(&all), "packets");
        assert_eq!(named(&all[..2]), "IPv4 packets");
        assert_eq!(named(&[all[1], all[3]]), "packets that arrive");
        assert_eq!(named(&[all[0], all[3]]), "IPv4 packets that leave and IPv6 packets that arrive");
        assert_eq!(named(&all[2..3]), "IPv6 packets that leave");
    }
}
