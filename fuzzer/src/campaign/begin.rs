//! A campaign that begins or is resumed: the user's request, compared with the existing folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use corpus::store::Store;
use corpus::{FindingRecord, Host, Role, TestConfig};
use executor::uml::Codes;
use executor::{Nic, Testbed, TestbedName, Testbeds, WrongTestbed};
use mutators::{Target, Vocabulary};
use scoring::Kind;
use scoring::score::Objective;

use super::checks::{
    check_nics, check_request, check_signatures, note_on_tables, take_back_findings, unchanged,
};
use super::engine::{Engine, Event, Setup, Status};
use super::error::CampaignError;
use super::folder::{self, CORPUS, NICS, TARGET};
use super::initial;
use super::request::Request;
use super::settings::{Limits, Settings};
use super::starts;
use super::stop::{End, Stop};
use crate::finding::Copied;
use crate::policy::Policy;
use crate::version::VERSION;

/// A campaign that is ready to run.
pub struct Campaign {
    folder: PathBuf,
    settings: Settings,
    target: Target,
    testbeds: Testbeds,
    initial: Vec<TestConfig>,
    store: Store,
    _lock: File,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The target of a campaign and its text, as the campaign's folder keeps them.
///
/// # Errors
/// The copy is gone, was changed, or is no target to this version.
pub fn read_target(path: &Path, settings: &Settings) -> Result<(Target, String), CampaignError> {
    let text = folder::read_copy(path, &settings.target)?;
    let target = Target::from_toml(TARGET, &text, vocabulary()).map_err(|error| error.0)?;
    Ok((target, text))
}

/// Words that targets may name.
#[must_use]
pub fn vocabulary() -> Vocabulary<'static> {
    const OBJECTIVES: [&str; Objective::ALL.len()] = {
        let mut names = [""; Objective::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Objective::ALL[at].name();
            at += 1;
        }
        names
    };
    const fn names<const N: usize>(kinds: [Kind; N]) -> [&'static str; N] {
        let mut names = [""; N];
        let mut at = 0;
        while at < N {
            names[at] = kinds[at].name();
            at += 1;
        }
        names
    }
    const KINDS: [&str; Kind::ALL.len()] = names(Kind::ALL);
    const NAMED_ONLY: [&str; Kind::NAMED_ONLY.len()] = names(Kind::NAMED_ONLY);
    Vocabulary { objectives: &OBJECTIVES, kinds: &KINDS, named_only: &NAMED_ONLY }
}

impl Campaign {
    /// Begins a campaign in a folder that does not exist or is empty.
    ///
    /// # Errors
    /// The folder holds something, a file that the request names is wrong, or nothing can be written.
    pub fn begin(path: &Path, request: &Request) -> Result<Self, CampaignError> {
        Self::begin_in(path, request, false)
    }

    fn begin_in(path: &Path, request: &Request, may_clear: bool) -> Result<Self, CampaignError> {
        let Some(target_name) = &request.target else {
            return Err(CampaignError::Usage(format!(
                "{}: there is no campaign in it, and a new one needs a target",
                path.display()
            )));
        };
        check_signatures(&request.ignore)?;
        // Everything that the user gave is read before anything is made.
        let here = Path::new("");
        let target = Target::load(target_name, here, vocabulary()).map_err(|error| error.0)?;
        let testbed = request.testbed.clone().unwrap_or_default().from_anywhere();
        let mut names = testbed.default_nics().map_err(|error| CampaignError::Usage(error.to_string()))?;
        for (name, asked) in names.iter_mut().zip(&request.nics) {
            asked.as_ref().unwrap_or(name).clone().clone_into(name);
        }
        let load = |nic: &str| Nic::load(nic, here).map_err(|error| error.0);
        let nics = [load(&names[0])?, load(&names[1])?];
        check_nics(&target, &names, &nics)?;
        let nic_texts = Role::ALL.map(|role| nics[role as usize].text_on(&testbed, role));
        let nic_copies = [0, 1].map(|at| {
            let is_file = !Nic::is_shipped(&names[at]);
            let from = is_file.then(|| whole(&names[at]));
            Copied::new(&names[at], from, NICS[at], &nic_texts[at])
        });
        let testbeds = testbeds(&testbed, path, nic_copies.each_ref(), &nics)?;
        let mut notes: Vec<String> = note_on_tables(&target, &nics).into_iter().collect();
        let initial = match &request.initial {
            Some(folder) => initial::read(folder, &target, &mut notes)?,
            None => Vec::new(),
        };

        let lock = folder::lock(path)?;
        folder::prepare(path, may_clear)?;
        let text = target.to_toml();
        folder::write_text(&path.join(TARGET), &text)?;
        let is_file = !mutators::is_shipped(target_name);
        let target_copy = Copied::new(target_name, is_file.then(|| whole(target_name)), TARGET, &text);
        for (text, file) in nic_texts.iter().zip(NICS) {
            folder::write_text(&path.join(file), text)?;
        }
        let initial_copies = initial::write(path, &initial)?;
        let store = Store::create(&path.join(CORPUS))?;
        let (batch, keep_probability, minimizer_budget) = Settings::constants();
        let [requester_nic, responder_nic] = nic_copies;
        let settings = Settings {
            version: VERSION.into(),
            strategy: request.strategy.unwrap_or_default(),
            seed: request.seed.unwrap_or_else(random_seed),
            testbed,
            batch,
            keep_probability,
            minimizer_budget: request.minimizer_budget.unwrap_or(minimizer_budget),
            ignore: request.ignore.clone(),
            limits: request.limits.or(Limits::first()).without(request.lifted),
            target: target_copy,
            requester_nic,
            responder_nic,
            initial: initial_copies,
            sha256: String::new(),
        }
        .sealed();
        folder::write_settings(path, &settings)?;
        folder::begun(path)?;
        let initial = initial.into_iter().map(|(_, config)| config).collect();
        starts::note(path)?;
        Ok(Self { folder: path.into(), settings, target, testbeds, initial, store, _lock: lock, notes }
            .with_hosts())
    }

    /// Goes on with a campaign exactly where it was left; with one that was interrupted before it began, from its
    /// beginning.
    ///
    /// # Errors
    /// There is no campaign, the request asks for another one, something that the campaign rests on was changed, or the
    /// corpus cannot be opened.
    pub fn resume(path: &Path, request: &Request) -> Result<Self, CampaignError> {
        if !folder::holds_campaign(path) {
            let mut campaign = Self::begin_in(path, request, true)?;
            campaign.notes.push("there was nothing to resume: the campaign begins".into());
            return Ok(campaign);
        }
        let lock = folder::lock(path)?;
        folder::begun(path)?;
        let mut settings = folder::read_settings(path)?;
        check_request(path, &settings, request)?;
        let mut notes = Vec::new();
        if request.initial.is_some() {
            notes.push(
                "--initial is for a campaign that begins; this one has the tests that it began with".into(),
            );
        }
        if settings.version != VERSION {
            notes.push(format!(
                "the campaign was begun by version {}; this one may judge differently",
                settings.version
            ));
        }
        let (target, text) = read_target(path, &settings)?;
        unchanged(&settings.target, &text, &mut notes, |given| {
            Target::load(given, Path::new(""), vocabulary()).map(|target| target.to_toml()).ok()
        })?;
        let (mut nics, mut changed) = (Vec::new(), None);
        for (role, copy) in Role::ALL.into_iter().zip([&settings.requester_nic, &settings.responder_nic]) {
            let (text, nic, is_same) = copied_nic(path, &settings, copy, role)?;
            unchanged(copy, &text, &mut notes, |given| {
                Nic::load(given, Path::new("")).map(|nic| nic.text_on(&settings.testbed, role)).ok()
            })?;
            if let Nic::Guest(kernel) = &nic
                && !is_same
            {
                if kernel.without_options().1.coverage {
                    return Err(CampaignError::Usage(format!(
                        "{}: {} is another kernel than when the campaign began: what has run of the two cannot be added up; \
                         begin a new campaign (--initial takes the tests that `corpus export` writes)",
                        path.display(),
                        nic.name()
                    )));
                }
                notes.push(format!(
                    "{} is another kernel than when the campaign began ({}); its tests may differ",
                    nic.name(),
                    copy.file
                ));
            }
            if matches!(nic, Nic::Real(_)) && !is_same {
                changed = changed.or(Some(copy));
            }
            nics.push(nic);
        }
        let nics: [Nic; 2] = nics.try_into().expect("there is one for each host");
        let copies = [&settings.requester_nic, &settings.responder_nic];
        let testbeds = testbeds(&settings.testbed, path, copies, &nics)?;
        if let Some(copy) = changed {
            return Err(CampaignError::Usage(format!(
                "{} has another device, driver, firmware or kernel than when the campaign began ({}): a campaign is of one; begin a \
                 new one (--initial takes the tests that `corpus export` writes)",
                copy.given,
                path.join(&copy.file).display()
            )));
        }
        let mut initial = Vec::new();
        for copy in &settings.initial {
            let text = folder::read_copy(path, copy)?;
            initial.push(corpus::from_toml(&copy.file, &text)?);
        }
        let (store, mended) = Store::open(&path.join(CORPUS))?;
        notes.extend(mended);
        let policy = Policy::of(&settings.testbed.capabilities());
        take_back_findings(path, &store, policy, &mut notes)?;
        let limits = request.limits.or(settings.limits).without(request.lifted);
        if limits != settings.limits {
            settings.limits = limits;
            folder::write_settings(path, &settings)?;
        }
        starts::note(path)?;
        Ok(Self { folder: path.into(), settings, target, testbeds, initial, store, _lock: lock, notes }
            .with_hosts())
    }

    /// Puts the campaign's NICs into the tests to start from.
    fn with_hosts(mut self) -> Self {
        let names = self.settings.nic_names();
        for config in &mut self.initial {
            for (role, name) in Role::ALL.into_iter().zip(names) {
                name.clone_into(&mut config.host_mut(role).nic);
            }
        }
        self
    }

    /// Settings of the campaign.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The campaign's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the campaign until it ends. Tests run in the current thread pool.
    ///
    /// # Errors
    /// See [`Engine::run`].
    pub fn run(
        &self,
        stop: &Stop,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<(End, Status), CampaignError> {
        self.run_with(&self.testbeds.codes(), &|| self.testbeds.testbed(), stop, watch)
    }

    /// [`Self::run`] on testbeds of one's own; each job has one.
    ///
    /// # Errors
    /// See [`Engine::run`].
    pub fn run_on(
        &self,
        testbed: &(dyn Fn() -> Box<dyn Testbed> + Sync),
        stop: &Stop,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<(End, Status), CampaignError> {
        self.run_with(&Codes::default(), testbed, stop, watch)
    }

    fn run_with(
        &self,
        codes: &Codes,
        testbed: &(dyn Fn() -> Box<dyn Testbed> + Sync),
        stop: &Stop,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<(End, Status), CampaignError> {
        let [requester, responder] = self.settings.nic_names().map(str::to_owned);
        let target = self.target.within(&testbed().capabilities()).map_err(CampaignError::Usage)?;
        let defaults = TestConfig::default();
        let hosts =
            [Host { nic: requester, ..defaults.requester }, Host { nic: responder, ..defaults.responder }];
        let engine = Engine::new(Setup {
            settings: &self.settings,
            target: &target,
            hosts: &hosts,
            initial: &self.initial,
            store: &self.store,
            folder: &self.folder,
            codes,
            testbed,
            stop,
            watch,
        })?;
        engine.run()
    }

    /// The findings so far.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn findings(&self) -> Result<Vec<FindingRecord>, CampaignError> {
        Ok(self.store.findings()?)
    }
}

/// A NIC of a campaign in a folder: the text and the NIC of its copy, and true if that is what the NIC is now. The kernel of a
/// guest may be another one than when the campaign began.
pub(super) fn copied_nic(
    path: &Path,
    settings: &Settings,
    copy: &Copied,
    role: Role,
) -> Result<(String, Nic, bool), CampaignError> {
    let text = folder::read_copy(path, copy)?;
    let nic = Nic::load(&copy.file, path).map_err(|error| error.0)?;
    let is_same = copy.is(&nic.text_on(&settings.testbed, role));
    Ok((text, nic, is_same))
}

/// The testbeds of a campaign in a folder, for NICs of which these are the copies.
pub(super) fn testbeds(
    testbed: &TestbedName,
    folder: &Path,
    copies: [&Copied; 2],
    nics: &[Nic; 2],
) -> Result<Testbeds, CampaignError> {
    let [first, second] = copies.map(Copied::name_in_tests);
    let testbeds = Testbeds::new(testbed, folder, [(first, &nics[0]), (second, &nics[1])]);
    let testbeds = testbeds.map_err(|error| {
        // By the name that the user knows.
        let nic = copies[error.role as usize].given.clone();
        CampaignError::Usage(WrongTestbed { nic, ..error }.to_string())
    })?;
    testbeds.look().map_err(|error| CampaignError::Usage(error.with_mend()))?;
    Ok(testbeds)
}

/// A seed for a campaign that was given none: short enough to be written down, and one that may be given again.
#[must_use]
pub fn random_seed() -> u64 {
    rand::random::<u32>().into()
}

/// A path as it is from any folder.
fn whole(path: &str) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}
