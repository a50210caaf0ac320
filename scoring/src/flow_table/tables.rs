//! The machine of an entry of a flow table: ScalaCN's automaton (appendix A, figure 21), and the deletion of entries.

/// Machine of an entry.
pub mod entry {
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, scalacn};
    use Next::{Go, Stay, Wrong, WrongGo};
    use State::{Absent, Asked, Created};

    machine! {
        first crate::selective_repeat::tables::receiver::END;
        /// State of the entry of a flow.
        states State {
            /// There is none, and the host has not asked for it.
            Absent = "absent",
            /// The host has asked for it.
            Asked = "asked",
            /// The NIC has created it.
            Created = "created",
        }
        /// What the host and its NIC log.
        events Event {
            /// The host offloads the flow (`FL_OFFLD`).
            Offload,
            /// The NIC creates the entry (`FE_CREATE`).
            Create,
            /// The NIC cannot create it.
            Refuse,
            /// The NIC deletes it.
            Delete,
        }

        [Absent] Offload => Go(Asked), scalacn("appendix A").note("a flow is offloaded");
        [Asked | Created] Offload => Wrong(Rule::OffloadedTwice), scalacn("appendix A").note("offloaded twice is an error");
        [Asked] Create => Go(Created), scalacn("appendix A").note("an offloaded flow gets its entry");
        [Absent] Create => WrongGo(Rule::EntryUnasked, Created), scalacn("appendix A").note("no entry before its flow is offloaded");
        [Created] Create => Wrong(Rule::EntryUnasked), scalacn("appendix A").note("one entry a flow");
        [Asked] Refuse => WrongGo(Rule::EntryNotCreated, Absent), scalacn("appendix A").note("an offloaded flow gets its entry");
        [Absent] Refuse => Stay, scalacn("appendix A").note("nothing was asked for");
        [Created] Refuse => Go(Absent), scalacn("appendix A").note("an entry before the test that was not created");
        [Created] Delete => Go(Absent), scalacn("§2").note("an idle entry is deleted");
        [Absent | Asked] Delete => Stay, scalacn("§2").note("there is none to delete");
    }
}
