//! The requests that a requester keeps: in the order of their PSNs, none of them complete, with the cursor in the one
//! that is sent next, and no more Reads before it than may be outstanding.

use crate::sim::nic::Nic;

/// Checks the requests of one of a NIC's QPs, of another one in each step: a request out of its place stays there.
pub(super) fn check(nic: &Nic, step: usize) {
    if let Some(qp) = nic.qps().get(step % nic.qps().len().max(1)) {
        let requester = &qp.requester;
        let (oldest, cursor) = (requester.recovery.oldest(), requester.recovery.cursor());
        let work = &requester.work;
        assert!(work.front().is_none_or(|first| first.end() > oldest), "a complete request is kept");
        let mut pairs = work.iter().zip(work.iter().skip(1));
        assert!(pairs.all(|(one, next)| one.end() <= next.first), "two requests have one PSN: {work:?}");
        assert!(requester.at <= work.len(), "request {} of {} is next", requester.at, work.len());
        let before = || work.iter().take(requester.at);
        assert!(before().all(|sent| sent.end() <= cursor), "the cursor is before a request that was sent");
        assert!(
            work.get(requester.at).is_none_or(|next| next.end() > cursor),
            "the cursor is beyond the next"
        );
        let reads = before().filter(|sent| sent.verb == corpus::Verb::Read).count();
        assert_eq!(requester.reads_out as usize, reads, "Reads outstanding");
        assert!(reads <= usize::from(nic.attributes().max_rd_atomic), "{reads} Reads outstanding");
    }
}
