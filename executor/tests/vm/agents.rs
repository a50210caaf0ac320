//! The agents of two guests, driven without a switch between them.

use std::net::SocketAddr;
use std::time::Duration;

use corpus::{Role, TestConfig};
use dumper::observation::CompletionStatus;
use dumper::serve::Address;
use executor::agent::proto::{GidType, Parameter, ParameterState};
use executor::agent::{AgentClient, Prepare, RunningTest, Timeouts};
use executor::guests::{Kernel, RunFolder};
use executor::vm::{Cache, Pair, Qemu, Wiring};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::killed::LONG;
use super::pair::{alone, test};

/// Longer than any of the tests takes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

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

pub(crate) async fn connected(address: SocketAddr) -> AgentClient {
    AgentClient::connect(&Address::Tcp(address), None, Timeouts::default()).await.unwrap()
}

/// A pair of guests whose NICs lead to each other.
pub(crate) fn pair(folder: &RunFolder, kernel: &Kernel) -> Pair {
    let image = Cache::open(None).unwrap().image(kernel).unwrap();
    Pair::start(&Qemu::find(&image).unwrap(), [&image, &image], folder, &Wiring::Direct).unwrap()
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A lost orchestrator leaves no trace: both streams of its test end while packets are on their way.
#[test]
fn a_test_that_is_lost_in_its_middle_leaves_nothing_in_the_way_of_the_next() {
    const MESSAGES: u32 = 20;
    let _alone = alone();
    let folder = RunFolder::make().unwrap();
    let pair = pair(&folder, &Kernel::V6_1);
    runtime().block_on(async {
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

/// The description of a host has a device that tests can use.
#[test]
fn a_guest_describes_its_device() {
    let _alone = alone();
    let folder = RunFolder::make().unwrap();
    let pair = pair(&folder, &Kernel::V6_1);
    let description =
        runtime().block_on(async { connected(pair.requester.agent()).await.describe().await }).unwrap();
    assert!(description.kernel_release.starts_with("6.1."), "{}", description.kernel_release);
    assert_eq!((&*description.no_devices, description.devices.len()), ("", 1));
    let device = &description.devices[0];
    assert_eq!(device.name, "rxe0");
    assert!(device.limits.as_ref().unwrap().max_qp > 0);
    let [port] = &device.ports[..] else { panic!("{:?}", device.ports) };
    assert!(port.active && port.ethernet && port.max_mtu == 4096, "{port:?}");
    let v2 = port.gids.iter().filter(|gid| gid.r#type() == GidType::RoceV2).map(|gid| &*gid.ip);
    let v2: Vec<_> = v2.collect();
    for ip in ["10.0.0.1", "10.0.3.1", "fd00::1"] {
        assert!(v2.contains(&ip), "{ip}: {v2:?}");
    }
    assert!(port.counters.as_ref().unwrap().hw.contains_key("sent_pkts"), "{:?}", port.counters);
    // It has neither DCQCN nor traffic classes, and says so of each of their parameters.
    let has = |parameter: &&Parameter| parameter.state() != ParameterState::Absent;
    let had: Vec<_> = port.roce_parameters.iter().filter(has).collect();
    assert!(!port.roce_parameters.is_empty() && had.is_empty(), "{had:?}");
}
