//! Time that each mask of a flow table costs a packet.

use std::collections::BTreeMap;
use std::env;

use corpus::{Offload, Placement, Role, TestConfig};
use dumper::observation::CompletionStatus;
use executor::guests::Kernel;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use super::Guests;
use super::line::Line;
use crate::guests::environment::number;
use crate::guests::pair::{alone, test};

/// Numbers of masks.
const MASKS: [u32; 15] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, MOST];
const MOST: u32 = 256;

/// Messages of a test, one at a time: few, as two tests differ more than the messages of one.
const MESSAGES: u32 = 100;

/// Runs with each table.
const ROUNDS: u64 = 25;

/// An entry with all that a packet of the connection has, before the flow table.
const HYPER: &str = "prio 1 protocol ip flower src_ip 10.0.0.1 dst_ip 10.0.0.2 ip_proto udp src_port 49153 dst_port 4791 \
                     action pass";

/// A flow table under which the time of a message is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Table {
    None,
    /// The connection's entry has the last of so many masks.
    Last(u32),
    /// It has the first of all.
    First,
    /// It has the last of all, and there is the hyper filter before them.
    Hyper,
}

/// A hook of packets, the requests among which are looked up.
#[derive(Clone, Copy)]
struct Hook {
    role: Role,
    direction: &'static str,
}

impl Hook {
    const ALL: [Self; 2] = [
        Self { role: Role::Requester, direction: "egress" },
        Self { role: Role::Responder, direction: "ingress" },
    ];

    fn test(self, table: Table) -> TestConfig {
        let mut config = test(&format!("message-size = 64\nnum-msgs-per-qp = {MESSAGES}"), "");
        let (masks, place) = match table {
            Table::None => return config,
            Table::Last(masks) => (masks, Placement::Last),
            Table::First => (MOST, Placement::First),
            Table::Hyper => (MOST, Placement::Last),
        };
        let mut offload = Offload { flows: masks, place, ..Offload::default() };
        match self.direction {
            "egress" => offload.egress_masks = masks,
            _ => offload.ingress_masks = masks,
        }
        config.host_mut(self.role).offload = Some(offload);
        config
    }

    /// Median time from the posting of a message to its completion, in ns, and the commands of the flow table.
    fn measure(self, guests: &mut Guests, table: Table) -> (f64, String) {
        let mut ready = guests.ready(&self.test(table));
        if table == Table::Hyper {
            let said = guests.tc(self.role, &format!("filter add dev eth0 {} {HYPER}", self.direction));
            assert_eq!(said, Vec::<String>::new());
        }
        let prepared = &ready.prepared[usize::from(self.role == Role::Responder)];
        let told = prepared.parameters.iter().find(|one| one.name == "offload");
        let told = told.map(|one| one.detail.clone()).unwrap_or_default();
        guests.start_traffic(&mut ready);
        let (settled, _) = guests.finish(ready);
        let times = settled.completions.iter().map(|one| {
            assert_eq!(one.status, CompletionStatus::Success);
            (one.completed_ns.0 - one.posted_ns.0) as f64
        });
        let times: Vec<f64> = times.collect();
        assert_eq!(times.len(), MESSAGES as usize);
        (median(times), told)
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Measures all tables at a hook, in another order in each round; the median of each over the rounds, in ns.
fn sweep(guests: &mut Guests, hook: Hook) -> BTreeMap<Table, f64> {
    let mut tables: Vec<Table> = MASKS.map(Table::Last).into();
    tables.extend([Table::None, Table::First, Table::Hyper]);
    let mut random = ChaCha8Rng::seed_from_u64(number("LUMINA_SEED", 1));
    let mut times: BTreeMap<Table, Vec<f64>> = BTreeMap::new();
    // The first test of a pair has caches to fill.
    hook.measure(guests, Table::None);
    for _ in 0..number("LUMINA_ROUNDS", ROUNDS) {
        tables.shuffle(&mut random);
        for table in &tables {
            let (time, told) = hook.measure(guests, *table);
            if *table == Table::Last(MOST) && !times.contains_key(table) {
                println!("{told}\ntc filter add dev eth0 {} {HYPER}", hook.direction);
            }
            times.entry(*table).or_default().push(time);
        }
    }
    times.into_iter().map(|(table, times)| (table, median(times))).collect()
}

/// What does not hold of a hook's times.
fn judge(times: &BTreeMap<Table, f64>) -> Vec<String> {
    let points: Vec<_> = MASKS.map(|masks| (f64::from(masks), times[&Table::Last(masks)])).into();
    let line = Line::through(&points);
    for (table, time) in times {
        println!("{table:?}: {:.1} µs", time / 1e3);
    }
    let [none, first, last, hyper] =
        [Table::None, Table::First, Table::Last(MOST), Table::Hyper].map(|table| times[&table]);
    let removed = (last - hyper) / (last - first);
    println!(
        "{:.0} ± {:.0} ns a mask (99 %), R² {:.4}, {:.1} µs without masks; first of {MOST} against no table: {:+.1} %; \
         the hyper filter removes {:.1} % of the increase",
        line.slope,
        line.margin,
        line.r_squared,
        line.intercept / 1e3,
        (first / none - 1.0) * 100.0,
        removed * 100.0
    );
    let laws = [
        ("the time is linear in the number of masks", line.r_squared > 0.9),
        ("a mask takes time", line.slope > line.margin),
        ("a match at the first mask is as without a table", (first / none - 1.0).abs() < 0.1),
        ("the hyper filter removes four fifths of the increase", removed >= 0.8),
    ];
    laws.iter().filter(|(_, holds)| !holds).map(|(law, _)| (*law).to_owned()).collect()
}

/// `LUMINA_ROUNDS` says how often each table is measured, `LUMINA_KERNEL` on which kernel, if not on both.
#[test]
#[ignore = "takes minutes, on an idle machine: ci/long vm flow_tables"]
fn each_mask_takes_a_packet_the_same_time_on_both_kernels() {
    let _alone = alone();
    let mut wrong = Vec::new();
    let only = env::var("LUMINA_KERNEL").ok();
    for kernel in
        Kernel::ALL.into_iter().filter(|kernel| only.as_ref().is_none_or(|only| kernel.name() == only))
    {
        let mut guests = Guests::start(&kernel);
        let described = guests.runtime.block_on(guests.agents[0].describe()).unwrap();
        for hook in Hook::ALL {
            println!("Linux {}, {} of the {}", described.kernel_release, hook.direction, hook.role.name());
            let times = sweep(&mut guests, hook);
            wrong.extend(
                judge(&times).into_iter().map(|law| format!("{kernel}, {}: not {law}", hook.direction)),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
