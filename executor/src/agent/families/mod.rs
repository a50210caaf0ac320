//! Families of NICs by the driver of their RDMA device: which counters and settings the kernel has of them. Facts of Linux 6.12
//! where no other source is named; docs/nic-families.md shows the tables.

mod bnxt_re;
mod irdma;
mod mlx5;
mod place;
mod row;
mod rxe;

pub(super) use place::Names;
pub use place::{Place, Radix};
pub use row::{Counter, Family, Group, Judged, Setting};

/// All families that are known.
pub const FAMILIES: [&Family; 4] = [&mlx5::FAMILY, &irdma::FAMILY, &bnxt_re::FAMILY, &rxe::FAMILY];

/// The family of a driver, by its name in sysfs.
pub(super) fn of_driver(driver: &str) -> Option<&'static Family> {
    FAMILIES.into_iter().find(|family| family.drivers.contains(&driver))
}

/// The family of an RDMA device without a driver, by a file of its folder that `has` looks for.
pub(super) fn of_software(has: impl Fn(&str) -> bool) -> Option<&'static Family> {
    FAMILIES.into_iter().find(|family| family.own_file.is_some_and(&has))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use corpus::RoceSetting;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Analyzers {
        counter: Vec<Compared>,
    }

    #[derive(Deserialize)]
    struct Compared {
        name: String,
        cause: String,
    }

    /// Causes by which analyzers compare counters.
    fn compared() -> BTreeMap<String, String> {
        let text = include_str!("../../../../scoring/data/counters.toml");
        let table: Analyzers = toml::from_str(text).unwrap();
        table.counter.into_iter().map(|counter| (counter.name, counter.cause)).collect()
    }

    #[test]
    fn counters_mean_what_analyzers_take_them_for() {
        let compared = compared();
        for family in FAMILIES {
            for counter in family.counters {
                let cause = compared.get(counter.name).map(String::as_str);
                let expected = match counter.judged {
                    Judged::As(cause) => Some(cause),
                    _ => None,
                };
                assert_eq!(cause, expected, "{} of {}", counter.name, family.name);
            }
        }
        let known: BTreeSet<_> =
            FAMILIES.iter().flat_map(|family| family.counters).map(|counter| counter.name).collect();
        let unknown: Vec<_> = compared.keys().filter(|name| !known.contains(&name[..])).collect();
        assert!(unknown.is_empty(), "no family has {unknown:?}");
    }

    #[test]
    fn discards_and_pauses_have_names_by_which_analyzers_find_them() {
        for counter in FAMILIES.iter().flat_map(|family| family.counters) {
            let name = counter.name.to_ascii_lowercase();
            let discards =
                !name.starts_with("tx_") && (name.contains("discard") || name.contains("out_of_buffer"));
            let pauses = name.contains("pause") || name.contains("xoff");
            assert_eq!(counter.judged == Judged::Discards, discards, "{name}");
            assert_eq!(counter.judged == Judged::Pauses, pauses, "{name}");
        }
    }

    #[test]
    fn every_family_knows_each_parameter_and_cites_its_sources() {
        let keys = |family: &Family| family.settings.iter().map(|setting| setting.key).collect::<Vec<_>>();
        let numeric: Vec<_> = RoceSetting::ALL
            .into_iter()
            .filter(|key| key.value(&corpus::RoceParameters::default()).is_some())
            // No driver lets a user choose.
            .filter(|key| *key != RoceSetting::LossRecovery)
            .collect();
        for family in FAMILIES {
            let mut sorted = keys(family);
            sorted.sort_by_key(|key| numeric.iter().position(|one| one == key));
            assert_eq!(sorted, numeric, "{}", family.name);
            let sources = family.counters.iter().map(|counter| counter.source);
            let places = family.settings.iter().flat_map(|setting| setting.places);
            for source in sources.chain(places.map(|place| place.source)) {
                assert!(
                    source.contains("drivers/") || source.contains("out of tree"),
                    "{}: {source}",
                    family.name
                );
            }
            let mut names: Vec<_> = family.counters.iter().map(|one| (one.group.name(), one.name)).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), family.counters.len(), "{}", family.name);
        }
    }

    #[test]
    fn families_are_found_by_their_driver() {
        let name = |found: Option<&Family>| found.map(|family| family.name);
        assert_eq!(name(of_driver("mlx5_core")), Some("mlx5"));
        assert_eq!(name(of_driver("ice")), Some("irdma"));
        assert_eq!(name(of_driver("bnxt_en")), Some("bnxt_re"));
        assert_eq!(name(of_driver("qede")), None);
        assert_eq!(name(of_driver("")), None);
        assert_eq!(name(of_software(|file| file == "parent")), Some("rxe"));
        assert_eq!(name(of_software(|_| false)), None);
    }
}
