//! Marks without a CNP, though no CNP was sent to their QP within the configured interval (annex A17.9.3;
//! Lumina §6.3).

use dumper::{Nanos, Trace};

use super::limiter::{Bounds, Sent, Since, Window};
use crate::CnpScope;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::rules::Rule;
use crate::thresholds::{CNP_BEHIND_DATA, CNP_INTERVAL_PERCENT, CNP_WITHHELD_PERCENT};

/// Judge of a host's withheld CNPs.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) trace: &'a Trace,
    /// The configured interval.
    pub(super) configured: Nanos,
    pub(super) sent: &'a Sent<'a>,
    /// Marks with windows in which their answer certainly comes, if it does.
    pub(super) windows: &'a [Window],
    /// Bounds of the interval in each scope, as measured ways show them.
    pub(super) likely: &'a [Bounds; 3],
}

impl Judge<'_> {
    /// The anomaly, if there is one, and if the rest of the trace shows by which scope or interval the NIC
    /// goes; the connection is that of a flow.
    pub(super) fn anomaly(&self, connection: impl Fn(dumper::FlowId) -> Option<usize>) -> Option<Anomaly> {
        let first = self.windows.iter().find(|window| self.is_withheld(window))?;
        let certain = CnpScope::ALL
            .map(|scope| Bounds::of(scope, self.trace, self.sent, self.windows, CNP_BEHIND_DATA));
        // A NIC keeps the interval that it was given, or a longer one.
        let obeys = |bounds: &Bounds| {
            let shortest = bounds.apart.map(|apart| (apart + CNP_BEHIND_DATA).times(100));
            shortest.is_none_or(|apart| apart >= self.configured.times(CNP_INTERVAL_PERCENT))
        };
        let explains =
            |at: &usize| certain[*at].explain() && self.likely[*at].explain() && obeys(&certain[*at]);
        let mut explaining = (0..certain.len()).filter(explains);
        let (state, bounds, how) = match (explaining.next(), explaining.next()) {
            (Some(at), None) => {
                (CnpScope::ALL[at].withholds(), Some(self.likely[at]), CnpScope::ALL[at].shares())
            }
            // Nothing tells which of several it is; another test will.
            (Some(_), Some(_)) => return None,
            (None, _) if certain.iter().any(Bounds::explain) => return None,
            (None, _) => ("irregular", None, "no interval explains the CNPs that it sends"),
        };
        let flow = self.trace.flows()[first.mark.flow.index()];
        let before = self.sent.before(first);
        let since = match before {
            Some(cnp) => format!("{} after the last CNP of its QP", first.earliest - cnp.sent),
            None => "the first of its QP".to_owned(),
        };
        let mut evidence =
            Evidence::packets([first.mark.sequence].into_iter().chain(before.map(|cnp| cnp.sequence)))
                .with_time("configured", self.configured);
        if let Some(bounds) = bounds {
            evidence = evidence.with_time("longer-than", bounds.longer_than);
            if let Some(most) = bounds.at_most() {
                evidence = evidence.with_time("at-most", most);
            }
        }
        Some(Anomaly {
            rule: Rule::CnpWithheld,
            who: Who {
                role: Role::NotificationPoint,
                address: Some(flow.destination),
                connection: connection(first.mark.flow),
            },
            state: state.into(),
            what: format!(
                "sends no CNP for an ECN-marked packet, {since}, where the configured interval is {}: {how}",
                self.configured
            ),
            evidence,
        })
    }

    /// Returns true if a mark has no answer although the configured interval allows one.
    fn is_withheld(&self, window: &Window) -> bool {
        let last = match (self.sent.before(window), self.sent.since) {
            (Some(cnp), _) => cnp.sent,
            (None, Since::Start(start)) => start,
            (None, Since::Ever) => return self.sent.unanswered(window),
        };
        (window.earliest - last).times(100) > self.configured.times(CNP_WITHHELD_PERCENT)
            && self.sent.unanswered(window)
    }
}

impl CnpScope {
    /// The state of a finding.
    const fn withholds(self) -> &'static str {
        match self {
            Self::Qp => "interval",
            Self::DestinationIp => "per-destination-ip",
            Self::Port => "per-port",
        }
    }

    /// Explanation of withheld CNPs.
    const fn shares(self) -> &'static str {
        match self {
            Self::Qp => "it keeps a longer interval",
            Self::DestinationIp => "all QPs of an address share one interval",
            Self::Port => "all QPs of the port share one interval",
        }
    }
}
