//! Transition tables: the transition of each machine on each event, and its clause.

use std::fmt::{Debug, Write as _};

use crate::rules::{Clause, Rule};

/// Transition of a machine on an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<S> {
    /// Stays as it is.
    Stay,
    /// Goes to another state.
    Go(S),
    /// Breaks a rule, and stays.
    Wrong(Rule),
    /// Breaks a rule, and is taken to be in another state.
    WrongGo(Rule, S),
    /// Cannot happen: the tracker never says this event in this state, and the clause says why.
    Never,
}

impl<S: Copy> Next<S> {
    /// The state after the event, given the state before.
    #[inline]
    pub const fn state(self, before: S) -> S {
        match self {
            Self::Stay | Self::Wrong(_) | Self::Never => before,
            Self::Go(state) | Self::WrongGo(_, state) => state,
        }
    }

    /// The rule that the event breaks.
    #[inline]
    pub const fn broken(self) -> Option<Rule> {
        match self {
            Self::Wrong(rule) | Self::WrongGo(rule, _) => Some(rule),
            Self::Stay | Self::Go(_) | Self::Never => None,
        }
    }
}

/// One line of a table: the transition of several states on an event.
pub struct Row<S: 'static, E> {
    /// States that the line is about.
    pub from: &'static [S],
    /// The event.
    pub event: E,
    /// Their transition.
    pub next: Next<S>,
    /// Clause of the specification.
    pub clause: Clause,
}

/// Declares a machine: its states, its events, and a line for every pair of them. A pair without a line does
/// not compile, and the lines are kept for the snapshot and the diagram.
macro_rules! machine {
    (
        first $first:expr;
        $(#[$state_doc:meta])* states $state:ident { $($(#[$sdoc:meta])* $sname:ident = $stext:literal,)* }
        $(#[$event_doc:meta])* events $event:ident { $($(#[$edoc:meta])* $ename:ident,)* }
        $( [$($from:ident)|+] $on:ident => $next:expr, $clause:expr; )*
    ) => {
        $(#[$state_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum $state { $($(#[$sdoc])* $sname,)* }

        $(#[$event_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum $event { $($(#[$edoc])* $ename,)* }

        impl $state {
            /// Every state.
            pub const ALL: &'static [Self] = &[$(Self::$sname),*];

            /// Name in signatures.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$sname => $stext,)* }
            }

            /// Transition of the machine on an event in this state.
            #[inline]
            pub const fn on(self, event: $event) -> $crate::machines::table::Next<$state> {
                match (self, event) {
                    $( ($($state::$from)|+, $event::$on) => $next, )*
                }
            }
        }

        impl $state {
            /// The same as [`Self::on`] for the tracker, which counts the transition. It is also recorded in debug builds for the
            /// test that every transition happens in some trace, be its analysis dropped for another one or not.
            #[inline]
            pub(crate) fn step(
                self,
                event: $event,
                transitions: &mut $crate::machines::Transitions,
            ) -> $crate::machines::table::Next<$state> {
                transitions.count(self.transition(event));
                #[cfg(debug_assertions)]
                STEPPED.with(|stepped| {
                    let (state, bit) = (self as usize, 1u64 << event as u32);
                    stepped[state].set(stepped[state].get() | bit);
                });
                self.on(event)
            }

            /// Transitions that this thread's trackers have made, ever; only in debug builds.
            #[cfg(debug_assertions)]
            #[doc(hidden)]
            pub fn stepped(self, event: $event) -> bool {
                STEPPED.with(|stepped| stepped[self as usize].get() & (1 << event as u32) != 0)
            }
        }

        #[cfg(debug_assertions)]
        thread_local! {
            static STEPPED: [std::cell::Cell<u64>; $state::ALL.len()] =
                const { [const { std::cell::Cell::new(0) }; $state::ALL.len()] };
        }

        /// One past the number of the machine's last transition, those included that cannot happen.
        pub const END: usize = $first + $state::ALL.len() * $event::ALL.len();

        impl $state {
            /// Number of the transition on an event, which no other machine has.
            #[inline]
            pub(crate) const fn transition(self, event: $event) -> usize {
                $first + self as usize * $event::ALL.len() + event as usize
            }
        }

        impl $event {
            /// Every event.
            pub const ALL: &'static [Self] = &[$(Self::$ename),*];
        }

        /// The table, line by line.
        pub const ROWS: &[$crate::machines::table::Row<$state, $event>] = &[
            $( $crate::machines::table::Row {
                from: &[$($state::$from),+], event: $event::$on, next: $next, clause: $clause,
            }, )*
        ];
    };
}
pub(crate) use machine;

/// A table as text, one line a row: the contents of the snapshot and of `analyzers show`.
pub fn describe<S: Debug, E: Debug>(rows: &[Row<S, E>]) -> String {
    let mut text = String::new();
    for row in rows {
        let from = row.from.iter().map(|state| format!("{state:?}")).collect::<Vec<_>>().join(" | ");
        let next = match &row.next {
            Next::Stay => "stays".to_owned(),
            Next::Go(state) => format!("-> {state:?}"),
            Next::Wrong(rule) => format!("BREAKS {}", rule.name()),
            Next::WrongGo(rule, state) => format!("BREAKS {} -> {state:?}", rule.name()),
            Next::Never => "cannot happen".to_owned(),
        };
        let _ = writeln!(text, "{:<18} {from:<44} {next:<40} {}", format!("{:?}", row.event), row.clause);
    }
    text
}

/// A table as a Mermaid state diagram: the legal transitions to another state. Events that keep the state,
/// and those that break a rule, are in the table.
pub fn diagram<S: Debug + PartialEq, E: Debug>(rows: &[Row<S, E>]) -> String {
    let mut arrows: Vec<(&S, &S, Vec<String>)> = Vec::new();
    for row in rows {
        let Next::Go(to) = &row.next else { continue };
        for from in row.from.iter().filter(|from| *from != to) {
            let event = format!("{:?}", row.event);
            match arrows.iter_mut().find(|(a, b, _)| *a == from && *b == to) {
                Some((_, _, events)) => events.push(event),
                None => arrows.push((from, to, vec![event])),
            }
        }
    }
    let mut text = String::from("stateDiagram-v2\n");
    for (from, to, events) in arrows {
        let _ = writeln!(text, "    {from:?} --> {to:?}: {}", events.join(", "));
    }
    text
}
