//! The built `lumina-switch` holds to the rules.

use tonic::transport::Endpoint;

use super::rules::{Target, deviations};
use crate::frames::Made;
use crate::process::Rig;

#[test]
fn the_switch_deviates_nowhere() {
    let rig = Rig::start();
    let send = |packets| {
        for _ in 0..packets {
            rig.send(0, &Made::default().frame());
        }
    };
    let found = rig.wait(async {
        let channel = Endpoint::from_shared(rig.address.to_string()).unwrap().connect().await.unwrap();
        let target = Target { channel, device: 1, p4info: None, config: Vec::new(), port: 1, send: &send };
        deviations(target).await
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
