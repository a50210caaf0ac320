//! The number of rule sets between the tables of a host, with and without ScalaCN's restriction to those whose packets reach the port
//! (NSDI'25, §4.1).

/// Packets that rules can tell apart: two directions, of two versions of IP.
const CLASSES: i32 = 4;

/// Rule sets in which each of so many tables forwards each class of packets to another table or to the port, as a sentence.
pub(crate) fn remark(tables: u64) -> String {
    let [all, sound] = [all(tables), sound(tables)].map(|of_class| rounded((of_class as f64).powi(CLASSES)));
    format!(
        "Rules could forward packets between {tables} tables in {all} ways; {sound} have all reach the port, and chains are drawn of these."
    )
}

/// A number, with three digits where it is large.
fn rounded(number: f64) -> String {
    if number < 1e6 { format!("{number:.0}") } else { format!("{number:.2e}") }
}

/// Those of one class: a table forwards to another one, or to the port.
const fn all(tables: u64) -> u64 {
    tables.pow(tables as u32)
}

/// Those of one class whose packets reach the port: they do so after some tables, each another one, and the tables beside their way may
/// forward to any.
fn sound(tables: u64) -> u64 {
    let after = |on_the_way: u64| {
        let beside = tables - on_the_way;
        (beside + 1..tables).product::<u64>() * tables.pow(beside as u32)
    };
    (1..=tables).map(after).sum()
}

#[cfg(test)]
mod tests {
    use corpus::{Direction, Hop, IpVersion, Offload, Rule, TestConfig};

    use super::*;

    /// Each table's hop, from a number with as many digits: 0 is the port, and any other digit another table.
    fn rules(tables: u64, number: u64) -> Vec<Rule> {
        let (direction, ip_version) = (Some(Direction::Egress), Some(IpVersion::V6));
        let hop = |table: u64| match number / tables.pow(table as u32 - 1) % tables {
            0 => Hop::Port,
            other => Hop::Table(((table - 1 + other) % tables + 1) as u32),
        };
        let of_class = (1..=tables).map(|table| Rule {
            table: table as u32,
            direction,
            ip_version,
            forward_to: hop(table),
        });
        let others = Rule { table: 1, direction: None, ip_version: None, forward_to: Hop::Port };
        of_class.chain([others]).collect()
    }

    #[test]
    fn they_are_as_many_as_tests_are_valid() {
        for tables in 1..=5 {
            let valid = |number: &u64| {
                let mut test = TestConfig::default();
                let rules = rules(tables, *number);
                test.requester.offload = Some(Offload { rules, ..Offload::default() });
                test.is_valid()
            };
            let counted = (0..all(tables)).filter(valid).count();
            assert_eq!(counted as u64, sound(tables), "{tables} tables");
        }
    }
}
