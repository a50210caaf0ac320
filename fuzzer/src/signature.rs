//! Signatures that a user names, compared with the kinds, roles and rules that there are.

use corpus::{clip, nearest};
use scoring::{Kind, Role, Rule};

/// The kind of a signature, by its name.
#[must_use]
pub fn kind_of(signature: &str) -> &str {
    signature.split_once('/').map_or(signature, |(kind, _)| kind)
}

/// Refuses a text that no signature begins with.
///
/// # Errors
/// The first part that is no kind, role or rule, with the nearest one or all that there are.
pub fn check_beginning(text: &str) -> Result<(), String> {
    let mut parts = text.split('/').peekable();
    let mut kind = "";
    for (place, what) in ["kind of anomaly", "role", "rule"].into_iter().enumerate() {
        let Some(part) = parts.next() else { break };
        let names = match place {
            0 => Kind::ALL.map(Kind::name).to_vec(),
            1 => Role::ALL.map(Role::name).to_vec(),
            _ => rules_of(kind),
        };
        let is_cut = parts.peek().is_none() && !text.is_empty();
        if !names.iter().any(|name| *name == part || (is_cut && name.starts_with(part))) {
            let of_kind = if place == 2 { format!(" of {kind}") } else { String::new() };
            return Err(unknown(part, &format!("{what}{of_kind}"), &names));
        }
        if place == 0 {
            kind = part;
        }
    }
    Ok(())
}

/// Refuses a text that is no signature: one has at least a kind, a role and a rule, each whole.
///
/// # Errors
/// As [`check_beginning`], or a part that is missing.
pub fn check_signature(text: &str) -> Result<(), String> {
    if text.split('/').count() < 3 {
        return Err("is no signature; one begins with kind, role and rule, as in \
                    gbn-violation/responder/nak-again"
            .to_owned());
    }
    // With a further part the rule is not the last one, and must be whole.
    check_beginning(&format!("{text}/"))
}

/// Refuses a kind of anomaly, or a rule of that kind, that there is not.
///
/// # Errors
/// The one that is unknown, with the nearest one or all that there are.
pub fn check_rule(kind: &str, rule: Option<&str>) -> Result<(), String> {
    let kinds = Kind::ALL.map(Kind::name);
    if !kinds.contains(&kind) {
        return Err(unknown(kind, "kind of anomaly", &kinds));
    }
    let rules = rules_of(kind);
    match rule.filter(|rule| !rules.contains(rule)) {
        Some(rule) => Err(unknown(rule, &format!("rule of {kind}"), &rules)),
        None => Ok(()),
    }
}

fn rules_of(kind: &str) -> Vec<&'static str> {
    Rule::ALL.iter().filter(|rule| rule.kind().name() == kind).map(|rule| rule.name()).collect()
}

fn unknown(part: &str, what: &str, names: &[&str]) -> String {
    format!("`{}` is no {what}; {}", clip(part), instead(part, names))
}

/// The known name nearest to an unknown one, or all names.
fn instead(part: &str, names: &[&str]) -> String {
    match nearest(part, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_those_of_signatures() {
        let error = serde_json::from_str::<Role>("\"nobody\"").unwrap_err().to_string();
        let roles = Role::ALL.map(|role| format!("`{}`", role.name())).join(", ");
        assert!(error.contains(&format!("expected one of {roles} at")), "{error}");
    }

    #[test]
    fn beginnings_of_signatures_are_taken() {
        for text in [
            "cnp",
            "cnp-generation",
            "cnp-generation/",
            "cnp-generation/notif",
            "gbn-violation/responder/nak",
            "gbn-violation/responder/nak-again",
            "gbn-violation/responder/nak-again/waiting",
        ] {
            assert_eq!(check_beginning(text), Ok(()), "{text}");
        }
        for rule in Rule::ALL {
            let signature = format!("{}/port/{}", rule.kind(), rule.name());
            assert_eq!(check_signature(&signature), Ok(()), "{signature}");
        }
    }

    #[test]
    fn other_texts_are_answered_with_the_nearest() {
        for (text, answer) in [
            ("", "`` is no kind of anomaly; there are gbn-violation, "),
            ("no-such-kind/xyz", "`no-such-kind` is no kind of anomaly; there are gbn-violation, "),
            ("gbn-violatoin", "did you mean `gbn-violation`?"),
            ("cnp/", "`cnp` is no kind of anomaly; did you mean `cnp-generation`?"),
            ("gbn-violation/responser", "`responser` is no role; did you mean `responder`?"),
            (
                "gbn-violation/responder/nak-agian",
                "`nak-agian` is no rule of gbn-violation; did you mean `nak-again`?",
            ),
            ("gbn-violation/responder/cnp-form", "`cnp-form` is no rule of gbn-violation; "),
            ("gbn-violation/responder/nak/x", "`nak` is no rule of gbn-violation; "),
        ] {
            let error = check_beginning(text).unwrap_err();
            assert!(error.contains(answer), "{text}: {error}");
        }
    }

    #[test]
    fn a_signature_has_a_whole_rule() {
        assert_eq!(check_signature("gbn-violation/responder/nak-again"), Ok(()));
        assert_eq!(check_signature("gbn-violation/responder/nak-again/waiting"), Ok(()));
        assert!(check_signature("gbn-violation/responder").unwrap_err().starts_with("is no signature"));
        assert!(check_signature("gbn-violation/responder/nak").unwrap_err().contains("is no rule"));
    }
}
