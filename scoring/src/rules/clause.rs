//! Clauses of the specifications, as data.

use std::fmt;

/// Document that a clause is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Document {
    /// InfiniBand Architecture Specification, volume 1, with annexes A16 and A17 (RoCE and RoCEv2).
    Iba,
    /// IEEE 802.1Qaz, enhanced transmission selection.
    Ieee8021Qaz,
    /// Lumina, SIGCOMM'23.
    Lumina,
    /// Gao et al., "Analyzing and Optimizing Packet Corruption in RDMA Network", JCST 2022.
    Gao,
    /// LEFT, APNET'24.
    Left,
    /// ScalaCN (NSDI'25).
    ScalaCn,
    /// The log of the host's kernel.
    KernelLog,
}

/// A clause of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clause {
    /// The document.
    pub document: Document,
    /// Number of the section; empty where the document has none.
    pub section: &'static str,
    /// Subject of the clause in a few words; may be empty.
    pub note: &'static str,
    /// True if conforming NICs and faults of one kind do not lead there: two things have to come together, so that no test is
    /// obliged to show it.
    pub rare: bool,
}

impl Clause {
    const fn of(document: Document, section: &'static str, note: &'static str) -> Self {
        Self { document, section, note, rare: false }
    }

    /// With its subject in a few words.
    pub(crate) const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// For circumstances that are rare.
    pub(crate) const fn rare(self, note: &'static str) -> Self {
        Self { note, rare: true, ..self }
    }

    /// Clauses in one line: those of a document together.
    pub fn list(clauses: &[Self]) -> String {
        let mut line = String::new();
        let mut before: Option<Document> = None;
        for clause in clauses {
            match before {
                Some(document) if document == clause.document => {
                    line.push_str(" and ");
                    line.push_str(clause.section);
                }
                _ => {
                    line.push_str(if before.is_some() { "; " } else { "" });
                    line.push_str(&clause.cited());
                }
            }
            match (clause.document, clause.note) {
                (Document::KernelLog, _) | (_, "") => {}
                (Document::Lumina, figure) => line.push_str(&format!(", {figure}")),
                (_, note) => line.push_str(&format!(" ({note})")),
            }
            before = Some(clause.document);
        }
        line
    }

    /// Document and section.
    fn cited(&self) -> String {
        let section = self.section;
        match self.document {
            Document::Iba if section.starts_with('A') => format!("annex {section}"),
            Document::Iba => format!("IBA vol. 1, {section}"),
            Document::Ieee8021Qaz => format!("IEEE 802.1Qaz, {section}"),
            Document::Lumina => format!("Lumina {section}"),
            Document::Gao => format!("Gao et al., {section}"),
            Document::Left => format!("LEFT {section}"),
            Document::ScalaCn => format!("ScalaCN {section}"),
            Document::KernelLog => format!("{} of the kernel's log", self.note),
        }
    }
}

impl fmt::Display for Clause {
    /// Section and subject, as tables show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rare = if self.rare { "rare: " } else { "" };
        match (self.section, self.note) {
            (section, "") => write!(f, "{section}"),
            ("", note) => write!(f, "{rare}{note}"),
            (section, note) => write!(f, "{section}: {rare}{note}"),
        }
    }
}

/// Clauses of the InfiniBand specification, volume 1, about the reliable connection, and its annexes for RoCE: the section
/// and its subject.
pub const CLAUSES: &[(&str, &str)] = &[
    ("9.2", "base transport header: pad count, path MTU"),
    ("9.3.5", "headers of acknowledgements"),
    ("9.4", "packets of each operation: FIRST, MIDDLE, LAST, ONLY"),
    ("9.4.4", "Reads and atomics outstanding at the responder"),
    ("9.6.1.1", "checks of a packet before any QP sees it"),
    ("9.6.1.1.1", "partition key of a packet"),
    ("9.7.2", "PSNs of requests and responses"),
    ("9.7.3.2.1", "order of packets within a message"),
    ("9.7.4", "PSNs at the responder: expected, duplicate, out of sequence"),
    ("9.7.4.1", "validity of a request"),
    ("9.7.4.1.5", "R_Key of a request"),
    ("9.7.4.1.6", "length of a request"),
    ("9.7.5", "acknowledgements, and go-back-N"),
    ("9.7.5.1", "ACKs, Read responses, and answers to duplicates"),
    ("9.7.5.1.1", "Reads: responses, and retransmission of the rest"),
    ("9.7.5.1.2", "coalesced ACKs, and their order with responses"),
    ("9.7.5.2", "NAKs, and the requester's reaction to them"),
    ("9.7.5.2.8", "RNR NAKs and their timer"),
    ("9.7.6.1.3", "ACK timer and retry count"),
    ("9.7.7", "message sequence numbers"),
    ("9.9.2", "requester after an error"),
    ("9.9.2.1", "retries exhausted"),
    ("9.9.3", "responder after an error"),
    ("10.8.5", "completions"),
    ("10.8.5.1", "order of completions"),
    ("10.9.3", "packets that are dropped for their partition key"),
    ("A17.9.2", "UDP source port"),
    ("A17.9.3", "congestion notification"),
];

/// A clause of the InfiniBand specification, volume 1.
pub(crate) const fn iba(section: &'static str) -> Clause {
    Clause::of(Document::Iba, section, "")
}

/// A clause of IEEE 802.1Qaz.
pub(super) const fn ieee_802_1qaz(section: &'static str) -> Clause {
    Clause::of(Document::Ieee8021Qaz, section, "")
}

/// A section of the Lumina paper.
pub(super) const fn lumina(section: &'static str) -> Clause {
    Clause::of(Document::Lumina, section, "")
}

/// A section of the paper of Gao et al.
pub(super) const fn gao(section: &'static str) -> Clause {
    Clause::of(Document::Gao, section, "")
}

/// A section of LEFT.
pub(crate) const fn left(section: &'static str) -> Clause {
    Clause::of(Document::Left, section, "")
}

/// A section of ScalaCN.
pub(crate) const fn scalacn(section: &'static str) -> Clause {
    Clause::of(Document::ScalaCn, section, "")
}

/// An entry of the kernel's log.
pub(super) const fn kernel_log(entry: &'static str) -> Clause {
    Clause::of(Document::KernelLog, "", entry)
}

/// No clause, but the reason why something cannot happen.
pub(crate) const fn remark(reason: &'static str) -> Clause {
    Clause::of(Document::Iba, "", reason)
}
