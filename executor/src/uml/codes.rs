//! The code of both hosts' kernels.

use std::path::PathBuf;
use std::sync::Arc;

use corpus::Role;
use dumper::observation::Coverage;
use serde::{Deserialize, Serialize};

use super::coverage::{Code, Shares};
use super::image::Image;
use crate::guests::Kernel;

/// The kernels of a testbed that count what runs of rdma_rxe, each with the hosts that have it; none elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Codes(Vec<KernelCode>);

/// A kernel that counts.
#[derive(Debug, Clone)]
pub struct KernelCode {
    /// Its name.
    pub kernel: Kernel,
    /// The folder of rdma_rxe's source.
    pub sources: PathBuf,
    /// Its code.
    pub code: Arc<Code>,
    hosts: Vec<Role>,
}

/// How much of a kernel's code has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelShares {
    /// The kernel.
    pub kernel: Kernel,
    /// How much.
    #[serde(flatten)]
    pub shares: Shares,
}

impl Codes {
    /// Of the images of the requester's and the responder's kernel.
    pub(super) fn of(images: &[Image; 2]) -> Self {
        let mut codes: Vec<KernelCode> = Vec::new();
        for (role, image) in Role::ALL.into_iter().zip(images) {
            let Some(code) = image.code() else { continue };
            let kernel = &image.manifest.kernel;
            match codes.iter_mut().find(|known| known.kernel == *kernel) {
                Some(known) => known.hosts.push(role),
                None => codes.push(KernelCode {
                    kernel: kernel.clone(),
                    sources: image.sources(),
                    code: Arc::clone(code),
                    hosts: vec![role],
                }),
            }
        }
        Self(codes)
    }

    /// Returns true if no kernel counts.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each kernel that counts.
    pub fn each(&self) -> impl Iterator<Item = &KernelCode> {
        self.0.iter()
    }

    /// How much of each kernel's code has run, by what ran on the requester's and the responder's host.
    #[must_use]
    pub fn shares(&self, coverage: &[Coverage; 2]) -> Vec<KernelShares> {
        let share = |one: &KernelCode| KernelShares {
            kernel: one.kernel.clone(),
            shares: one.code.shares(&one.ran(coverage)),
        };
        self.0.iter().map(share).collect()
    }
}

impl KernelCode {
    /// What ran of it, by what ran on the requester's and the responder's host.
    #[must_use]
    pub fn ran(&self, coverage: &[Coverage; 2]) -> Coverage {
        let mut ran = Coverage::default();
        for host in &self.hosts {
            ran.add(&coverage[*host as usize]);
        }
        ran
    }
}
