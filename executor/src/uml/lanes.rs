//! Testbeds of a campaign: its tests run in lanes, in each of which one follows the other on the same guests, so that a boot
//! serves many of them. What a test finds on its guests is the same whenever it runs: the tests of its lane before it, since a
//! boot at a fixed place.

use std::sync::{Arc, Mutex};

use corpus::store::REMEMBERED;
use corpus::{Capabilities, TestConfig};
use dumper::Observation;

use super::capabilities::{LANES, capabilities};
use super::codes::Codes;
use super::core::Core;
use super::image::{Cache, Image};
use super::mode::Mode;
use super::pair::Pair;
use super::site::Site;
use crate::guests::{GuestError, Kernel, Outcome, Pairs, broken};
use crate::lock::locked;
use crate::{History, Testbed, TestbedError};

/// Tests of a lane between boots. A boot takes as long as six small tests; as many tests are run again when a campaign is
/// resumed.
const TESTS: u64 = 32;

const _: () = assert!(LANES as u64 * TESTS <= REMEMBERED, "a campaign remembers too few tests");

/// The testbeds of a campaign, or of single tests.
#[derive(Debug, Clone)]
pub struct Campaigns {
    kernels: [Kernel; 2],
    mode: Mode,
    single: Pairs<Site>,
    lanes: Arc<Lanes>,
}

#[derive(Debug)]
struct Lanes {
    /// Of the guests of all lanes, once a test has needed them.
    images: Mutex<Option<[Image; 2]>>,
    all: [Mutex<Lane>; LANES as usize],
}

/// A lane.
#[derive(Debug)]
struct Lane {
    core: Option<Core>,
    /// The last test, and the guests if it left them well.
    last: Option<(u64, Option<Pair>)>,
}

impl Campaigns {
    /// Testbeds with the kernels of the requester's and the responder's guest. Nothing is started yet. In fast mode are only the
    /// tests of lanes: whatever they find is looked at exactly.
    #[must_use]
    pub fn new(kernels: [Kernel; 2], mode: Mode) -> Self {
        // Lanes that are next to each other are work of the same job.
        let lane = |number| Mutex::new(Lane { core: Core::share(number, LANES.into()), last: None });
        Self {
            single: Pairs::new(kernels.clone()),
            kernels,
            mode,
            lanes: Arc::new(Lanes { images: Mutex::default(), all: std::array::from_fn(lane) }),
        }
    }

    /// The kernels that count what runs of rdma_rxe.
    ///
    /// # Errors
    /// An image is missing or damaged.
    pub fn codes(&self) -> Result<Codes, GuestError> {
        Ok(Codes::of(&self.lanes.images(&self.kernels)?))
    }

    /// A testbed for the caller alone.
    #[must_use]
    pub fn testbed(&self) -> Box<dyn Testbed> {
        Box::new(InLanes { campaigns: self.clone(), single: self.single.lease() })
    }
}

/// A job's testbed.
struct InLanes {
    campaigns: Campaigns,
    single: Box<dyn Testbed>,
}

impl Testbed for InLanes {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.single.run(config)
    }

    fn run_after(&mut self, history: &History<'_>, config: &TestConfig) -> Result<Observation, TestbedError> {
        TestbedError::unless_capable(&capabilities(), config)?;
        let Campaigns { kernels, mode, lanes, .. } = &self.campaigns;
        let images = lanes.images(kernels).map_err(|error| broken::<Site>(&error))?;
        let mut lane = locked(&lanes.all[(history.number % u64::from(LANES)) as usize]);
        let _held = lane.core.map(|core| core.hold());
        let boot = Boot { images: images.each_ref(), mode: *mode, core: lane.core };
        // Another cause on this machine may have ended a guest.
        for _ in 0..2 {
            if let Some(observation) = lane.run(history, config, &boot)? {
                return Ok(observation);
            }
        }
        self.single.run(config)
    }
}

/// How the guests of a lane boot.
struct Boot<'a> {
    images: [&'a Image; 2],
    mode: Mode,
    core: Option<Core>,
}

impl Boot<'_> {
    fn pair(&self) -> Result<Pair, GuestError> {
        Pair::boot(self.images, self.mode, self.core.as_ref())
    }
}

impl Lanes {
    /// The images of the guests.
    fn images(&self, kernels: &[Kernel; 2]) -> Result<[Image; 2], GuestError> {
        let mut images = locked(&self.images);
        if let Some(found) = &*images {
            return Ok(found.clone());
        }
        Ok(images.insert(Cache::open(None)?.images(kernels)?).clone())
    }
}

impl Lane {
    /// Runs a test of the lane after those before it, which are run again if they were not the last ones; none if it does not
    /// run to its end, and the guests are gone.
    ///
    /// # Errors
    /// A test before it is not known: without it this one might find another state.
    fn run(
        &mut self,
        history: &History<'_>,
        config: &TestConfig,
        boot: &Boot<'_>,
    ) -> Result<Option<Observation>, TestbedError> {
        let lanes = u64::from(LANES);
        let first = history.number - (history.number / lanes % TESTS) * lanes;
        let before = (first < history.number).then(|| history.number - lanes);
        if before.is_none() || before != self.last.as_ref().map(|(last, _)| *last) {
            self.last = None;
            // Executions count from 1.
            for number in (first..history.number).step_by(LANES.into()).filter(|number| *number > 0) {
                let config = (history.test_of)(number).ok_or_else(|| forgotten(number, history.number))?;
                if capabilities().violations(&config).is_empty() {
                    self.next(number, &config, boot);
                } else {
                    // It leaves nothing behind.
                    self.last = Some((number, self.last.take().and_then(|(_, pair)| pair)));
                }
            }
        }
        Ok(self.next(history.number, config, boot))
    }

    /// Runs a test on the guests of the one before, or on new ones.
    fn next(&mut self, number: u64, config: &TestConfig, boot: &Boot<'_>) -> Option<Observation> {
        let kept = self.last.take().and_then(|(_, pair)| pair);
        let pair = kept.map_or_else(|| boot.pair(), Ok);
        let (observation, pair) = match pair.map(|mut pair| (pair.run(config), pair)) {
            Ok((Outcome::Ran(observed), pair)) => (Some(*observed), Some(pair)),
            Ok((Outcome::KernelTrouble(observed), _)) => (Some(*observed), None),
            Ok((Outcome::Failed(_), _)) | Err(_) => (None, None),
        };
        self.last = Some((number, pair));
        observation
    }
}

/// The error of a test whose lane cannot be run again.
fn forgotten(before: u64, number: u64) -> TestbedError {
    TestbedError::Broken(format!(
        "execution {number} runs on the guests of execution {before}, whose test cannot be read from the corpus; start the campaign anew"
    ))
}
