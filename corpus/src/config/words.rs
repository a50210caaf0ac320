//! Settings that are one of some words, each with its name in files.

macro_rules! words {
    ($($(#[$doc:meta])* $type:ident: $($(#[$word_doc:meta])* $variant:ident $name:literal),*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            pub enum $type {
                $($(#[$word_doc])* $variant,)*
            }

            impl $type {
                /// Names in files.
                pub const NAMES: &[(&str, Self)] = &[$(($name, Self::$variant)),*];

                /// The names alone, in the same order.
                pub const WORDS: &[&str] = &[$($name),*];

                /// Name in files.
                #[must_use]
                pub const fn name(self) -> &'static str {
                    match self {
                        $(Self::$variant => $name,)*
                    }
                }
            }
        )*
    };
}

pub(super) use words;
