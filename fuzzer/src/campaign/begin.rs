//! A campaign that begins or is resumed: what the user asked for, held against what is there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use corpus::store::Store;
use corpus::{FindingRecord, Host, Role, TestConfig};
use executor::sim::Sim;
use executor::{NicProfile, Testbed, profile};
use mutators::{Target, Vocabulary};
use scoring::Kind;
use scoring::score::Objective;

use super::engine::{Engine, Event, Setup, Status};
use super::error::CampaignError;
use super::folder::{self, CORPUS, INITIAL, NICS, TARGET};
use super::settings::{Copied, Limits, Settings, Strategy};
use super::stop::{End, Stop};
use super::summary::Summary;
use crate::finding;
use crate::run::TestbedName;

/// What the user asks for. What is absent has its default in a new campaign, and stays as it was in a resumed one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The target, by name or path.
    pub target: Option<String>,
    /// Profiles of the requester's and the responder's NIC, by name or path.
    pub nics: [Option<String>; 2],
    /// Seed of the search.
    pub seed: Option<u64>,
    /// How tests are chosen.
    pub strategy: Option<Strategy>,
    /// Where tests are run.
    pub testbed: Option<TestbedName>,
    /// When to end.
    pub limits: Limits,
    /// A folder of tests to start from.
    pub initial: Option<PathBuf>,
    /// Signatures that are known and no findings.
    pub ignore: Vec<String>,
}

/// A campaign that is ready to run.
pub struct Campaign {
    folder: PathBuf,
    settings: Settings,
    target: Target,
    profiles: [NicProfile; 2],
    initial: Vec<TestConfig>,
    store: Store,
    _lock: File,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What targets may name.
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
    const KINDS: [&str; Kind::ALL.len()] = {
        let mut names = [""; Kind::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Kind::ALL[at].name();
            at += 1;
        }
        names
    };
    Vocabulary { objectives: &OBJECTIVES, kinds: &KINDS }
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
        let nics = [0, 1].map(|at| request.nics[at].clone().unwrap_or_else(|| Host::DEFAULT_NIC.into()));
        let load = |nic: &str| profile::load(nic, here).map_err(|error| error.0);
        let profiles = [load(&nics[0])?, load(&nics[1])?];
        let mut notes = Vec::new();
        let initial = match &request.initial {
            Some(folder) => read_initial(folder, &target, &mut notes)?,
            None => Vec::new(),
        };

        let lock = folder::lock(path)?;
        folder::prepare(path, may_clear)?;
        let text = target.to_toml();
        folder::write_text(&path.join(TARGET), &text)?;
        let is_file = !mutators::is_shipped(target_name);
        let target_copy = Copied::new(target_name, is_file.then(|| whole(target_name)), TARGET, &text);
        let mut copies = Vec::new();
        for ((nic, profile), file) in nics.iter().zip(&profiles).zip(NICS) {
            let text = profile.to_toml();
            folder::write_text(&path.join(file), &text)?;
            let is_file = !profile::is_shipped(nic);
            copies.push(Copied::new(nic, is_file.then(|| whole(nic)), file, &text));
        }
        let initial_copies = write_initial(path, &initial)?;
        let store = Store::create(&path.join(CORPUS))?;
        let (batch, keep_probability, minimizer_budget) = Settings::constants();
        let mut copies = copies.into_iter();
        let mut nic = || copies.next().expect("there is one for each host");
        let settings = Settings {
            version: env!("CARGO_PKG_VERSION").into(),
            strategy: request.strategy.unwrap_or_default(),
            seed: request.seed.unwrap_or_else(rand::random),
            testbed: request.testbed.unwrap_or(TestbedName::Sim),
            batch,
            keep_probability,
            minimizer_budget,
            ignore: request.ignore.clone(),
            limits: request.limits,
            target: target_copy,
            requester_nic: nic(),
            responder_nic: nic(),
            initial: initial_copies,
            sha256: String::new(),
        }
        .sealed();
        folder::write_settings(path, &settings)?;
        folder::begun(path)?;
        let initial = initial.into_iter().map(|(_, config)| config).collect();
        Ok(Self { folder: path.into(), settings, target, profiles, initial, store, _lock: lock, notes }
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
        if settings.version != env!("CARGO_PKG_VERSION") {
            notes.push(format!(
                "the campaign was begun by version {}; this one may judge differently",
                settings.version
            ));
        }
        let text = folder::read_copy(path, &settings.target)?;
        let target = Target::from_toml(TARGET, &text, vocabulary()).map_err(|error| error.0)?;
        unchanged(&settings.target, &text, &mut notes, |given| {
            Target::load(given, Path::new(""), vocabulary()).map(|target| target.to_toml()).ok()
        })?;
        let mut profiles = Vec::new();
        for copy in [&settings.requester_nic, &settings.responder_nic] {
            let text = folder::read_copy(path, copy)?;
            unchanged(copy, &text, &mut notes, |given| {
                profile::load(given, Path::new("")).map(|profile| profile.to_toml()).ok()
            })?;
            profiles.push(profile::load(&copy.file, path).map_err(|error| error.0)?);
        }
        let profiles: [NicProfile; 2] = profiles.try_into().expect("there is one for each host");
        let mut initial = Vec::new();
        for copy in &settings.initial {
            let text = folder::read_copy(path, copy)?;
            initial.push(corpus::from_toml(&copy.file, &text)?);
        }
        let (store, mended) = Store::open(&path.join(CORPUS))?;
        notes.extend(mended);
        take_back_findings(path, &store, &mut notes)?;
        let limits = request.limits.or(settings.limits);
        if limits != settings.limits {
            settings.limits = limits;
            folder::write_settings(path, &settings)?;
        }
        Ok(Self { folder: path.into(), settings, target, profiles, initial, store, _lock: lock, notes }
            .with_hosts())
    }

    /// Puts the campaign's NICs into the tests to start from.
    fn with_hosts(mut self) -> Self {
        let names = self.nic_names();
        for config in &mut self.initial {
            for (role, name) in Role::ALL.into_iter().zip(&names) {
                config.host_mut(role).nic.clone_from(name);
            }
        }
        self
    }

    /// What the tests of the campaign call its NICs: names that come with the program, or else the copies.
    fn nic_names(&self) -> [String; 2] {
        [&self.settings.requester_nic, &self.settings.responder_nic]
            .map(|copy| if copy.path.is_none() { copy.given.clone() } else { copy.file.clone() })
    }

    /// What is run.
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
        let sim = self
            .nic_names()
            .iter()
            .zip(&self.profiles)
            .fold(Sim::new(&self.folder), |sim, (name, profile)| sim.with_profile(name, profile.clone()));
        self.run_on(&|| Box::new(sim.clone()), stop, watch)
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
        let [requester, responder] = self.nic_names();
        let defaults = TestConfig::default();
        let engine = Engine::new(Setup {
            settings: &self.settings,
            target: &self.target,
            hosts: [
                Host { nic: requester, ..defaults.requester },
                Host { nic: responder, ..defaults.responder },
            ],
            initial: &self.initial,
            store: &self.store,
            folder: &self.folder,
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

    /// The summary, as `summary.json` has it.
    pub fn summary<'a>(&'a self, status: &Status, findings: &'a [FindingRecord]) -> Summary<'a> {
        Summary::new(&self.settings, status.progress, status.corpus_size, findings)
    }
}

/// Findings that a damaged corpus has lost and whose folders are whole. Those that the search has not come to yet it will
/// find again.
fn take_back_findings(path: &Path, store: &Store, notes: &mut Vec<String>) -> Result<(), CampaignError> {
    let Ok(folders) = finding::find(path) else { return Ok(()) };
    let known = store.findings()?;
    let progress = store.progress()?;
    for folder in folders {
        let Ok(kept) = finding::read(&folder) else { continue };
        let record = kept.record();
        let is_known = known.iter().any(|known| known.signature == record.signature);
        if !is_known && record.first_seen_execution <= progress.executions {
            store.put_finding(&record, progress)?;
            notes.push(format!("the corpus had lost a finding; it is back from {}", folder.display()));
        }
    }
    Ok(())
}

/// Refuses what is no signature: nothing would ever be ignored by it.
fn check_signatures(signatures: &[String]) -> Result<(), CampaignError> {
    for signature in signatures {
        let mut parts = signature.split('/');
        let is_kind = parts.next().is_some_and(|kind| Kind::ALL.iter().any(|known| known.name() == kind));
        if !is_kind || parts.count() < 2 {
            return Err(CampaignError::Usage(format!(
                "--ignore {signature}: is no signature; one begins with kind, role and rule, as in \
                 gbn-violation/responder/nak-again"
            )));
        }
    }
    Ok(())
}

fn listed(signatures: &[String]) -> String {
    if signatures.is_empty() { "empty".into() } else { signatures.join(" ") }
}

/// A campaign that does not run, for work on its findings. Nobody else can run it meanwhile.
#[derive(Debug)]
pub struct Idle {
    folder: PathBuf,
    settings: Settings,
    store: Store,
    _lock: File,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Idle {
    /// The campaign in a folder.
    ///
    /// # Errors
    /// There is none, it runs, or its corpus cannot be opened.
    pub fn open(folder: &Path) -> Result<Self, CampaignError> {
        let settings = folder::read_settings(folder)?;
        let lock = folder::lock(folder)?;
        let (store, notes) = Store::open(&folder.join(CORPUS))?;
        Ok(Self { folder: folder.into(), settings, store, _lock: lock, notes })
    }

    /// Puts a finding back that was worked on; one that the campaign does not know is left out.
    ///
    /// # Errors
    /// The corpus or the summary cannot be written.
    pub fn replace(&self, finding: &FindingRecord) -> Result<(), CampaignError> {
        let mut findings = self.store.findings()?;
        let Some(known) = findings.iter_mut().find(|known| known.signature == finding.signature) else {
            return Ok(());
        };
        let mut progress = self.store.progress()?;
        progress.minimizer_executions = progress
            .minimizer_executions
            .saturating_add(finding.minimizer_executions.saturating_sub(known.minimizer_executions));
        *known =
            FindingRecord { config: known.config.clone(), sightings: known.sightings, ..finding.clone() };
        self.store.put_finding(known, progress)?;
        self.store.checkpoint()?;
        let corpus_size = self.store.kept().count() as u64;
        let summary = Summary::new(&self.settings, progress, corpus_size, &findings);
        folder::write_json(&self.folder.join(folder::SUMMARY), &summary)
    }
}

/// A path as it is from any folder.
fn whole(path: &str) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// Tests of a folder, by name, in order.
fn read_initial(
    folder: &Path,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, TestConfig)>, CampaignError> {
    let mut files = Vec::new();
    let unreadable = |error| CampaignError::Usage(format!("{}: cannot be read: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !["toml", "yaml", "yml"].contains(&extension) {
            continue;
        }
        if path.is_file() {
            files.push(path);
        } else {
            notes.push(format!("{}: is no file, and is left out", path.display()));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(CampaignError::Usage(format!(
            "{}: holds no tests to start from (.toml, or Lumina's .yaml or .yml)",
            folder.display()
        )));
    }
    let mut tests = Vec::new();
    for path in files {
        let loaded = corpus::load(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        notes.extend(loaded.notes.iter().map(|note| format!("{}: {note}", path.display())));
        if let Err(why) = target.admits(&loaded.config) {
            notes.push(format!("{}: is outside of the target's search space: {why}", path.display()));
        }
        tests.push((name, loaded.config));
    }
    Ok(tests)
}

fn write_initial(path: &Path, tests: &[(String, TestConfig)]) -> Result<Vec<Copied>, CampaignError> {
    if tests.is_empty() {
        return Ok(Vec::new());
    }
    let folder = path.join(INITIAL);
    fs::create_dir_all(&folder).map_err(folder::io_error(&folder, "cannot be made"))?;
    let mut copies = Vec::new();
    for ((name, config), number) in tests.iter().zip(1..) {
        let file = format!("{INITIAL}/{number:04}.toml");
        let text = config.to_toml();
        folder::write_text(&path.join(&file), &text)?;
        copies.push(Copied::new(name, None, file, &text));
    }
    Ok(copies)
}

/// Refuses a request that asks for another campaign than the one that is there.
fn check_request(path: &Path, settings: &Settings, request: &Request) -> Result<(), CampaignError> {
    let differs = |what: &str, has: &dyn std::fmt::Display, wants: &dyn std::fmt::Display| {
        Err(CampaignError::Usage(format!(
            "{}: its {what} is {has}, not {wants}; a resumed campaign keeps what it began with",
            path.display()
        )))
    };
    fn other<'a, T: PartialEq>(wants: &'a Option<T>, has: &T) -> Option<&'a T> {
        wants.as_ref().filter(|wants| *wants != has)
    }
    if let Some(wants) = other(&request.target, &settings.target.given) {
        return differs("target", &settings.target.given, wants);
    }
    for (what, wants, has) in [
        ("requester's NIC", &request.nics[0], &settings.requester_nic),
        ("responder's NIC", &request.nics[1], &settings.responder_nic),
    ] {
        // The file may have been moved, as long as it is what was copied.
        if let Some(wants) = other(wants, &has.given)
            && !profile::load(wants, Path::new("")).is_ok_and(|profile| has.is(&profile.to_toml()))
        {
            return differs(what, &has.given, wants);
        }
    }
    if let Some(wants) = other(&request.seed, &settings.seed) {
        return differs("seed", &settings.seed, wants);
    }
    if let Some(wants) = other(&request.strategy, &settings.strategy) {
        return differs("strategy", &settings.strategy, wants);
    }
    if let Some(wants) = other(&request.testbed, &settings.testbed) {
        return differs("testbed", &settings.testbed, wants);
    }
    if !request.ignore.is_empty() && request.ignore != settings.ignore {
        return differs("list of ignored signatures", &listed(&settings.ignore), &listed(&request.ignore));
    }
    Ok(())
}

/// Refuses to go on where the original of a copy was changed; one that was moved away is no harm.
fn unchanged(
    copy: &Copied,
    text: &str,
    notes: &mut Vec<String>,
    load: impl FnOnce(&str) -> Option<String>,
) -> Result<(), CampaignError> {
    let Some(path) = &copy.path else { return Ok(()) };
    if !path.exists() {
        notes.push(format!("{} is gone; the campaign's copy {} is used", path.display(), copy.file));
        return Ok(());
    }
    if load(&path.to_string_lossy()).is_some_and(|now| now == text) {
        return Ok(());
    }
    Err(CampaignError::Usage(format!(
        "{}: was changed since the campaign began; put it back, or begin a new campaign (`replay` uses the copy {})",
        path.display(),
        copy.file
    )))
}
