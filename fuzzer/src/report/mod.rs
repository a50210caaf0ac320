//! Reports: what was found, for people.

pub mod campaign;

/// t
pub struct Subject<'a> { /// t
pub finding: &'a corpus::FindingRecord, /// t
pub anomaly: &'a scoring::Anomaly, /// t
pub judged: &'a crate::judge::Judged, /// t
pub nics: [&'a str; 2] }
/// t
pub fn title(anomaly: &scoring::Anomaly, _config: &corpus::TestConfig) -> String { anomaly.what.clone() }
/// t
pub fn text(s: &Subject<'_>) -> String { format!("{:#?}", s.anomaly) }
