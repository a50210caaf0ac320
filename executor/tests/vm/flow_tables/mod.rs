//! Flow tables of the guests' NICs (`[requester.offload]`): filters of `tc flower` that each packet is looked up in.

mod cost;
mod line;

use std::time::Duration;

use corpus::{Role, TestConfig};
use dumper::observation::CompletionStatus;
use executor::agent::{AgentClient, Finished, Prepare, PreparedHost, RunningTest, Settled};
use executor::guests::{Kernel, RunFolder};
use executor::vm::{Guest, Pair};
use tokio::runtime::Runtime;

use super::agents::{DEADLINE, connected, pair, runtime};
use super::killed::LONG;
use super::pair::{alone, run, test};
use super::site::capabilities;

/// Longest time for a guest's answer on its console.
const CONSOLE: Duration = Duration::from_secs(60);

/// Two guests whose NICs lead to each other, without a switch that takes time.
struct Guests {
    pair: Pair,
    agents: [AgentClient; 2],
    runtime: Runtime,
    _folder: RunFolder,
}

/// A test whose hosts have connected their QPs.
struct Ready {
    /// In the order of [`Role::ALL`].
    hosts: [RunningTest; 2],
    prepared: [PreparedHost; 2],
}

impl Guests {
    fn start(kernel: &Kernel) -> Self {
        let folder = RunFolder::make().unwrap();
        let (pair, runtime) = (pair(&folder, kernel), runtime());
        let agents = runtime.block_on(async {
            [connected(pair.requester.agent()).await, connected(pair.responder.agent()).await]
        });
        Self { pair, agents, runtime, _folder: folder }
    }

    fn guest(&mut self, role: Role) -> &mut Guest {
        match role {
            Role::Requester => &mut self.pair.requester,
            Role::Responder => &mut self.pair.responder,
        }
    }

    /// What `tc` says in a guest.
    fn tc(&mut self, role: Role, words: &str) -> Vec<String> {
        let guest = self.guest(role);
        let mark = guest.console().mark();
        guest.say(&format!("tc {words}")).unwrap();
        let ended = |line: &str| (line == "guest: tc ended").then_some(());
        guest.console().wait_for(mark, CONSOLE, ended).unwrap_or_else(|| panic!("tc {words} does not end"));
        let lines = guest.console().since(mark);
        lines.iter().filter_map(|line| line.strip_prefix("guest: tc: ")).map(str::to_owned).collect()
    }

    fn ready(&self, config: &TestConfig) -> Ready {
        self.runtime.block_on(async {
            let mut hosts = [self.agents[0].test(), self.agents[1].test()];
            let [requester, responder] = &mut hosts;
            let prepare = |role| Prepare { config, role, device: None, port: None, gid_index: None };
            let at_requester = requester.prepare(&prepare(Role::Requester)).await.unwrap();
            let at_responder = responder.prepare(&prepare(Role::Responder)).await.unwrap();
            requester.connect(&at_responder).await.unwrap();
            responder.connect(&at_requester).await.unwrap();
            Ready { hosts, prepared: [at_requester, at_responder] }
        })
    }

    fn start_traffic(&self, ready: &mut Ready) {
        let [requester, responder] = &mut ready.hosts;
        self.runtime.block_on(async {
            responder.start(DEADLINE).await.unwrap();
            requester.start(DEADLINE).await.unwrap();
        });
    }

    fn finish(&self, ready: Ready) -> (Settled, Finished) {
        let [mut requester, responder] = ready.hosts;
        self.runtime.block_on(async {
            let settled = requester.settled().await.unwrap();
            requester.finish().await.unwrap();
            (settled, responder.finish().await.unwrap())
        })
    }

    /// No packet of a guest is looked up.
    fn have_no_table(&mut self) {
        for role in Role::ALL {
            let qdiscs = self.tc(role, "qdisc show dev eth0");
            assert!(!qdiscs.is_empty() && !qdiscs.iter().any(|line| line.contains("clsact")), "{qdiscs:?}");
        }
    }
}

/// Packets that an entry has matched, by the statistics of its actions; the entry of a UDP source port.
fn matched(shown: &[String], port: u32) -> u64 {
    let port = format!("src_port {port}");
    let after = shown.iter().skip_while(|line| **line != port);
    let packets = after.filter_map(|line| line.strip_prefix("Sent ")?.split(' ').nth(2)?.parse::<u64>().ok());
    packets.take(1).next().unwrap_or_else(|| panic!("no statistics of {port}: {shown:#?}"))
}

const BOTH: &str = "[requester.offload]\nflows = 6\negress-masks = 4\ningress-masks = 2\n\
                    [responder.offload]\nflows = 9\negress-masks = 3\nactions = 2\n";

#[test]
fn every_packet_is_looked_up_and_nothing_is_left_after_a_test() {
    const MESSAGES: u32 = 20;
    let _alone = alone();
    let mut guests = Guests::start(&Kernel::V6_1);
    let config = test(&format!("num-connections = 2\nmessage-size = 64\nnum-msgs-per-qp = {MESSAGES}"), BOTH);
    let mut ready = guests.ready(&config);
    guests.start_traffic(&mut ready);
    let settled = guests.runtime.block_on(ready.hosts[0].settled()).unwrap();
    let good = settled.completions.iter().filter(|one| one.status == CompletionStatus::Success);
    assert_eq!(good.count(), 2 * MESSAGES as usize);
    for role in Role::ALL {
        for direction in ["egress", "ingress"] {
            let shown = guests.tc(role, &format!("-s filter show dev eth0 {direction}"));
            for connection in 1..=2 {
                // A request or an acknowledgement for each message; acknowledgements may stand for several.
                let packets = matched(&shown, 0xc000 + connection);
                assert!(packets > 0, "{role:?} {direction}: {shown:#?}");
                let of_requests = (role == Role::Requester) == (direction == "egress");
                assert!(!of_requests || packets >= u64::from(MESSAGES), "{role:?} {direction}: {packets}");
            }
        }
    }
    drop(ready);
    // A refusal would say that the last test still runs.
    let next = guests.ready(&test("num-msgs-per-qp = 1", ""));
    guests.have_no_table();
    drop(next);
}

#[test]
fn an_agent_that_is_killed_leaves_no_flow_table_to_the_next_one() {
    let _alone = alone();
    let mut guests = Guests::start(&Kernel::V6_1);
    let mut ready = guests.ready(&test(LONG, BOTH));
    guests.start_traffic(&mut ready);
    for role in Role::ALL {
        assert!(guests.tc(role, "qdisc show dev eth0").iter().any(|line| line.contains("clsact")));
        let guest = guests.guest(role);
        let mark = guest.console().mark();
        guest.say("kill-agent").unwrap();
        let listens = |line: &str| line.starts_with("lumina-agent listens on").then_some(());
        guest.console().wait_for(mark, CONSOLE, listens).expect("the first process starts it again");
    }
    guests.have_no_table();
}

#[test]
fn a_test_with_flow_tables_runs_beside_the_switch() {
    let ipv6 = "[requester]\nip-list = [\"fd00::1/64\"]\n[responder]\nip-list = [\"fd00::2/64\"]\n";
    for addresses in ["", ipv6] {
        run("num-connections = 2\nnum-msgs-per-qp = 5", &format!("{addresses}{BOTH}"))
            .whole()
            .completes()
            .conforms();
    }
    // The same guests have no more flow tables.
    run("num-msgs-per-qp = 5", "").whole().completes().conforms();
}

#[test]
fn more_entries_than_a_guest_has_memory_for_are_refused() {
    let config = test("num-msgs-per-qp = 1", "[responder.offload]\nflows = 65_536\n");
    let refused: Vec<_> = capabilities().violations(&config).iter().map(ToString::to_string).collect();
    assert!(refused.len() == 1 && refused[0].contains("responder.offload.flows"), "{refused:?}");
}
