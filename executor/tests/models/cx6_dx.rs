//! The model of ConnectX-6 Dx: what tells it from that of ConnectX-5 (001 §6.2).

use std::path::Path;

use executor::NicProfile;
use executor::profile::{Apm, EtsProfile, load};

#[test]
fn it_is_a_connectx_5_but_for_ets_and_path_migration() {
    let [cx5, cx6] = ["cx5", "cx6-dx"].map(|nic| load(nic, Path::new(".")).unwrap());
    let NicProfile { name, description, source, .. } = cx6.clone();
    let ets = EtsProfile { ceiling_percent: 100 };
    assert_eq!(cx6, NicProfile { name, description, source, ets, apm: Apm::default(), ..cx5 });
}
