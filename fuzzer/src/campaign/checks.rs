//! Conditions under which a campaign does not begin or resume.

use std::path::Path;

use corpus::Role;
use corpus::store::Store;
use executor::Nic;
use mutators::Target;

use super::error::CampaignError;
use super::request::Request;
use super::settings::Settings;
use crate::finding::{self, Copied};
use crate::policy::Policy;
use crate::signature::check_signature;

/// Refuses one NIC where a target needs two.
pub(super) fn check_nics(target: &Target, names: &[String; 2], nics: &[Nic; 2]) -> Result<(), CampaignError> {
    let [requester, responder] = names;
    if let [Nic::Model(first), Nic::Model(second)] = nics
        && first.reorder.keeps_packets() != second.reorder.keeps_packets()
    {
        let (with, without) =
            if first.reorder.keeps_packets() { (requester, responder) } else { (responder, requester) };
        return Err(CampaignError::Usage(format!(
            "{with} has a reorder engine, and {without} has none: the two have no loss recovery in common, so that no test is \
             valid; name two NICs with an engine, or two without (reorder.engine of their profiles)"
        )));
    }
    // A file and its copy are one NIC.
    if !target.space.swaps_nics() || nics[0] != nics[1] {
        return Ok(());
    }
    let both = if requester == responder {
        format!("both hosts have {requester}")
    } else {
        format!("{requester} and {responder} are the same")
    };
    Err(CampaignError::Usage(format!(
        "{}: swaps the NICs of the two hosts, and {both}; name two different ones with --requester-nic and \
         --responder-nic (`lumina-fuzz nics list` has some)",
        target.name
    )))
}

/// Note that flow tables make no difference on these NICs, where each test has one.
pub(super) fn note_on_tables(target: &Target, nics: &[Nic; 2]) -> Option<String> {
    let is_plain = |nic: &Nic| matches!(nic, Nic::Model(profile) if !profile.eswitch.is_on());
    (target.space.always_offloads() && nics.iter().all(is_plain)).then(|| {
        "the profiles of these NICs have no switch of their own (section [eswitch]): look-ups take no time there, and tables \
         have no limit"
            .to_owned()
    })
}

/// Refuses a request that asks for another campaign than the one that is there.
pub(super) fn check_request(
    path: &Path,
    settings: &Settings,
    request: &Request,
) -> Result<(), CampaignError> {
    let differs = |what: &str, has: &dyn std::fmt::Display, wants: &dyn std::fmt::Display| {
        Err(CampaignError::Usage(format!(
            "{}: its {what} is {has}, not {wants}; a resumed campaign keeps what it began with",
            path.display()
        )))
    };
    fn other<'a, T: PartialEq>(wants: &'a Option<T>, has: &T) -> Option<&'a T> {
        wants.as_ref().filter(|wants| *wants != has)
    }
    if let Some(wants) = other(&request.target, &settings.target.given) {
        return differs("target", &settings.target.given, wants);
    }
    for (role, what, wants, has) in [
        (Role::Requester, "requester's NIC", &request.nics[0], &settings.requester_nic),
        (Role::Responder, "responder's NIC", &request.nics[1], &settings.responder_nic),
    ] {
        // The file may have been moved, as long as it equals the copy.
        if let Some(wants) = other(wants, &has.given)
            && !Nic::load(wants, Path::new("")).is_ok_and(|nic| has.is(&nic.text_on(&settings.testbed, role)))
        {
            return differs(what, &has.given, wants);
        }
    }
    if let Some(wants) = other(&request.seed, &settings.seed) {
        return differs("seed", &settings.seed, wants);
    }
    if let Some(wants) = other(&request.strategy, &settings.strategy) {
        return differs("strategy", &settings.strategy, wants);
    }
    if let Some(wants) = other(&request.testbed, &settings.testbed) {
        return differs("testbed", &settings.testbed, wants);
    }
    if !request.ignore.is_empty() && request.ignore != settings.ignore {
        return differs("list of ignored signatures", &listed(&settings.ignore), &listed(&request.ignore));
    }
    Ok(())
}

/// Refuses to resume where the original of a copy was changed; one that was moved away is harmless.
pub(super) fn unchanged(
    copy: &Copied,
    text: &str,
    notes: &mut Vec<String>,
    load: impl FnOnce(&str) -> Option<String>,
) -> Result<(), CampaignError> {
    let Some(path) = &copy.path else { return Ok(()) };
    if !path.exists() {
        notes.push(format!("{} is gone; the campaign's copy {} is used", path.display(), copy.file));
        return Ok(());
    }
    if load(&path.to_string_lossy()).is_some_and(|now| now == text) {
        return Ok(());
    }
    Err(CampaignError::Usage(format!(
        "{}: was changed since the campaign began; put it back, or begin a new campaign (`replay` uses the copy {})",
        path.display(),
        copy.file
    )))
}

/// Refuses a text that is not a signature: nothing would ever be ignored by it.
pub(super) fn check_signatures(signatures: &[String]) -> Result<(), CampaignError> {
    for signature in signatures {
        check_signature(signature)
            .map_err(|error| CampaignError::Usage(format!("--ignore {signature}: {error}")))?;
    }
    Ok(())
}

fn listed(signatures: &[String]) -> String {
    if signatures.is_empty() { "empty".into() } else { signatures.join(" ") }
}

/// Findings that a damaged corpus has lost and whose folders are whole. Those that the search has not come to
/// yet it will find again, if the testbed does the same with the same test.
pub(super) fn take_back_findings(
    path: &Path,
    store: &Store,
    policy: Policy,
    notes: &mut Vec<String>,
) -> Result<(), CampaignError> {
    let Ok(folders) = finding::find(path) else { return Ok(()) };
    let known = store.findings()?;
    let progress = store.progress()?;
    for folder in folders {
        let Ok(kept) = finding::read(&folder) else { continue };
        let record = kept.record();
        let is_known = known.iter().any(|known| known.signature == record.signature);
        let is_found_again = policy.replays_exactly() && record.first_seen_execution > progress.executions;
        if !is_known && !is_found_again {
            store.put_finding(&record, progress)?;
            notes.push(format!("the corpus had lost a finding; it is back from {}", folder.display()));
        }
    }
    Ok(())
}
