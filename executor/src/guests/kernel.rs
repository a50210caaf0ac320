//! The kernels that guests can run.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name.
const LONGEST: usize = 40;

/// A Linux kernel, as its image is called: a series that Debian has (`6.12`), one of its versions (`6.12.107`), or a source
/// tree (`net-next`); behind it what its build has beside (`6.12-kasan`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Kernel(Cow<'static, str>);

/// What a kernel's build has beside, which is the end of its name.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// It watches accesses to its memory (KASAN).
    pub kasan: bool,
    /// It counts how often each part of rdma_rxe runs.
    pub coverage: bool,
}

impl Options {
    /// Each by its name, in the order in which the names of kernels have them.
    const fn by_name(&mut self) -> [(&'static str, &mut bool); 2] {
        [("kasan", &mut self.kasan), ("coverage", &mut self.coverage)]
    }

    /// The end of the names of kernels with these.
    pub(crate) fn suffix(self) -> String {
        self.each(|name| format!("-{name}"))
    }

    /// The flags of `testbed uml build` that ask for them.
    pub(crate) fn flags(self) -> String {
        self.each(|name| format!(" --{name}"))
    }

    fn each(mut self, text: impl Fn(&str) -> String) -> String {
        self.by_name().into_iter().filter(|(_, is_on)| **is_on).map(|(name, _)| text(name)).collect()
    }
}

/// A series of Debian's kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Series {
    /// That of Debian 12.
    V6_1,
    /// That of its backports, which its security archive has too.
    V6_12,
}

impl Kernel {
    /// Linux 6.1, of Debian 12.
    pub const V6_1: Self = Self(Cow::Borrowed("6.1"));
    /// Linux 6.12, of Debian 13, for Debian 12.
    pub const V6_12: Self = Self(Cow::Borrowed("6.12"));

    /// The newest of each of Debian's series.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// Its name, as in `--kernel`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The kernel built with options (`6.12-kasan`).
    #[must_use]
    pub fn with(&self, options: Options) -> Self {
        Self(Cow::Owned(format!("{self}{}", options.suffix())))
    }

    /// The kernel without the options of its build, and these.
    #[must_use]
    pub fn without_options(&self) -> (Self, Options) {
        let (mut name, mut options) = (self.name(), Options::default());
        for (option, is_on) in options.by_name().into_iter().rev() {
            if let Some(rest) = name.strip_suffix(option).and_then(|rest| rest.strip_suffix('-')) {
                (name, *is_on) = (rest, true);
            }
        }
        (Self(Cow::Owned(name.to_owned())), options)
    }

    /// Returns true if Debian has it, or had it.
    #[must_use]
    pub fn is_of_debian(&self) -> bool {
        self.of_debian().is_some()
    }

    /// The series of Debian's that it is of, and its version if it is not the newest (`6.12.107`); none of a source tree.
    pub(crate) fn of_debian(&self) -> Option<(Series, Option<&str>)> {
        let series = Series::ALL.into_iter();
        series.filter_map(|series| Some((series, self.0.strip_prefix(series.name())?))).find_map(
            |(series, rest)| match rest.strip_prefix('.') {
                None if rest.is_empty() => Some((series, None)),
                Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some((series, Some(self.name())))
                }
                _ => None,
            },
        )
    }
}

impl Series {
    const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    /// The Debian suite that has it, beside the security suite and independent of the host's release.
    pub(crate) const fn suite(self) -> &'static str {
        match self {
            Self::V6_1 => "bookworm",
            Self::V6_12 => "bookworm-backports",
        }
    }

    /// The package that stands for the kernel's, which the security suite has too, and that of a suite without it.
    pub(crate) const fn metapackages(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::V6_1 => ("linux-image-amd64", None),
            Self::V6_12 => ("linux-image-6.12-amd64", Some("linux-image-amd64")),
        }
    }

    /// Returns true if a release (`6.1.0-50-amd64`) is one of this series.
    pub(crate) fn has(self, release: &str) -> bool {
        release.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('.'))
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self::V6_1
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if !begins || name.len() > LONGEST || !name.bytes().all(is_name) {
            return Err(format!(
                "not the name of a kernel: at most {LONGEST} letters, digits and .+_-, as 6.1, 6.12.107 or net-next"
            ));
        }
        Ok(Self(Cow::Owned(name.to_owned())))
    }
}

impl TryFrom<String> for Kernel {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<Kernel> for String {
    fn from(kernel: Kernel) -> Self {
        kernel.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_kernel_it_is() {
        let of = |name: &str| {
            name.parse::<Kernel>()
                .unwrap()
                .of_debian()
                .map(|(series, version)| (series, version.map(str::to_owned)))
        };
        assert_eq!(of("6.1"), Some((Series::V6_1, None)));
        assert_eq!(of("6.12"), Some((Series::V6_12, None)));
        assert_eq!(of("6.12.107"), Some((Series::V6_12, Some("6.12.107".into()))));
        assert_eq!(of("6.1.192"), Some((Series::V6_1, Some("6.1.192".into()))));
        for tree in ["6.13", "6.1-kasan", "6.12.", "6.1.x", "net-next"] {
            assert_eq!(of(tree), None, "{tree}");
        }
        for (kasan, coverage, name) in [
            (false, false, "6.12"),
            (true, false, "6.12-kasan"),
            (false, true, "6.12-coverage"),
            (true, true, "6.12-kasan-coverage"),
        ] {
            let options = Options { kasan, coverage };
            assert_eq!(Kernel::V6_12.with(options).name(), name);
            assert_eq!(name.parse::<Kernel>().unwrap().without_options(), (Kernel::V6_12, options));
        }
        for wrong in ["", "..", "a/b", "-x", " 6.1", &"x".repeat(41)] {
            assert!(wrong.parse::<Kernel>().is_err(), "{wrong}");
        }
    }
}
