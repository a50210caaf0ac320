//! The form of a rule's row.

/// Circumstance in which a broken rule is no anomaly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excuse {
    /// The trace may lack packets without a sign, as a plain capture does.
    UnseenPackets,
    /// None: the packets that are there are enough.
    Nothing,
}

/// Declares the rules, a row each. Optional parts: `reported_as`, the rule that the same fault is reported as, where two rules
/// look at one thing from two sides; `consequences`, the further symptoms of the fault that breaks the rule.
macro_rules! rules {
    ($(
        $(#[$doc:meta])*
        $rule:ident {
            name: $name:literal,
            kind: $kind:ident,
            analyzer: $analyzer:ident,
            expected: $expected:literal,
            clauses: $clauses:expr,
            excuse: $excuse:ident,
            $(reported_as: $reported_as:ident,)?
            $(consequences: $consequences:expr,)?
        }
    )*) => {
        /// A rule that an analyzer holds a NIC to.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        use Rule::*;

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$rule),*];

            /// Name in signatures and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Kind of anomaly that breaking the rule is.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$rule => Kind::$kind,)* }
            }

            /// The analyzer that holds a NIC to it.
            pub const fn analyzer(self) -> Analyzer {
                match self { $(Self::$rule => Analyzer::$analyzer,)* }
            }

            /// Expected behaviour.
            pub const fn expected(self) -> &'static str {
                match self { $(Self::$rule => $expected,)* }
            }

            /// Clauses that the rule is written in.
            pub const fn clauses(self) -> &'static [Clause] {
                match self { $(Self::$rule => { const CLAUSES: &[Clause] = $clauses; CLAUSES })* }
            }

            /// Circumstance that excuses a NIC.
            pub const fn excuse(self) -> Excuse {
                match self { $(Self::$rule => Excuse::$excuse,)* }
            }

            /// The rule that the fault is reported as.
            pub const fn reported_as(self) -> Self {
                match self {
                    $($(Self::$rule => Self::$reported_as,)?)*
                    other => other,
                }
            }

            /// Further symptoms of the fault that breaks the rule.
            pub const fn consequences(self) -> &'static [Consequence] {
                match self {
                    $($(Self::$rule => { const SYMPTOMS: &[Consequence] = $consequences; SYMPTOMS })?)*
                    _ => &[],
                }
            }
        }
    };
}
pub(super) use rules;
