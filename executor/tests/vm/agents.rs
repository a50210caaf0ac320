//! The agents of two guests, driven without a switch between them.

use std::net::SocketAddr;
use std::time::Duration;

use corpus::{Role, TestConfig};
use dumper::observation::CompletionStatus;
use executor::agent::{AgentClient, Prepare, RunningTest, Timeouts};
use executor::vm::{Cache, Kernel, Pair, Qemu, RunFolder, Wiring};
use tokio::time::sleep;

use crate::killed::LONG;
use crate::pair::{alone, test};

/// Longer than any of the tests takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Starts a test, the responder's side first.
async fn started(agents: &[AgentClient; 2], config: &TestConfig) -> [RunningTest; 2] {
    let prepare = |role| Prepare { config, role, device: None, port: None, gid_index: None };
    let [mut requester, mut responder] = [agents[0].test(), agents[1].test()];
    let at_requester = requester.prepare(&prepare(Role::Requester)).await.unwrap();
    let at_responder = responder.prepare(&prepare(Role::Responder)).await.unwrap();
    requester.connect(&at_responder).await.unwrap();
    responder.connect(&at_requester).await.unwrap();
    responder.start(DEADLINE).await.unwrap();
    requester.start(DEADLINE).await.unwrap();
    [requester, responder]
}

async fn connected(address: SocketAddr) -> AgentClient {
    AgentClient::connect(&address.to_string(), Timeouts::default()).await.unwrap()
}

/// What an orchestrator that is lost leaves: both streams of its test end while packets are on their way.
#[test]
fn a_test_that_is_lost_in_its_middle_leaves_nothing_in_the_way_of_the_next() {
    const MESSAGES: u32 = 20;
    let _alone = alone();
    let image = Cache::open(None).unwrap().image(Kernel::V6_1).unwrap();
    let folder = RunFolder::make().unwrap();
    let pair = Pair::start(&Qemu::find().unwrap(), [&image, &image], &folder, Wiring::Direct).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let agents = [connected(pair.requester.agent()).await, connected(pair.responder.agent()).await];
        let lost = started(&agents, &test(LONG, "")).await;
        sleep(Duration::from_millis(300)).await;
        drop(lost);

        let config = test(&format!("num-msgs-per-qp = {MESSAGES}"), "");
        let [mut requester, responder] = started(&agents, &config).await;
        let settled = requester.settled().await.unwrap();
        let good = settled.completions.iter().filter(|one| one.status == CompletionStatus::Success);
        assert_eq!((good.count(), settled.outstanding.len()), (MESSAGES as usize, 0));
        let (at_requester, at_responder) =
            (requester.finish().await.unwrap(), responder.finish().await.unwrap());
        assert_eq!(at_responder.deliveries.len(), MESSAGES as usize);
        assert!(at_responder.deliveries.iter().all(|delivery| delivery.intact));
        assert_eq!((at_requester.errors, at_responder.errors), (vec![], vec![]));
    });
}
