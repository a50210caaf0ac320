//! Accelerators of QEMU.

/// Execution of the guests' instructions: by the processor or by translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accelerator {
    /// The processor, through the kernel.
    Kvm,
    /// QEMU's translator; works everywhere.
    Tcg,
}

impl Accelerator {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG",
        }
    }

    pub(super) const fn option(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg,thread=multi",
        }
    }

    /// Processor features of a guest: all. To the translator a string instruction is a loop over bytes:
    /// without the flags of fast ones, kernels clear and copy memory by words.
    pub(super) const fn processor(self) -> &'static str {
        match self {
            Self::Kvm => "max",
            Self::Tcg => "max,-erms,-fsrm",
        }
    }
}
