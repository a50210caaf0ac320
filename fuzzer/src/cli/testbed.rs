//! `lumina-fuzz testbed`.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::Subcommand;
use corpus::{Role, plural};
use executor::guests::{
    AGENT, Event, GuestError, Kernel, Manifest, Options, RunFolder, Step, beside_this, run_folder,
};
use executor::physical::DeviceName;
use executor::vm::{Pair, Qemu, Wiring};
use executor::{physical, uml, vm};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::coverage::{CoverageArgs, coverage};
use super::keys;
use super::output::{complain, print, print_json};
use super::progress::with_spinner;
use super::{Exit, Format};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz testbed vm build
  lumina-fuzz testbed vm build --kernel 6.1 --agent target/release/lumina-agent
  lumina-fuzz testbed vm check
  lumina-fuzz testbed vm check --responder-kernel 6.12 --format json
  lumina-fuzz testbed vm up            until Ctrl-C, or `down` from elsewhere
  lumina-fuzz testbed vm up --requester-tap tap1 --responder-tap tap2 --keys keys
  lumina-fuzz testbed uml build --kernel 6.12
  lumina-fuzz testbed uml build --kernel 6.12 --kasan
  lumina-fuzz testbed uml build --kernel 6.12 --coverage
  lumina-fuzz testbed uml coverage night
  lumina-fuzz testbed uml build --tree ~/linux --name next
  lumina-fuzz testbed uml check --requester-kernel 6.12 --responder-kernel 6.12
  lumina-fuzz testbed keys lab.toml
  lumina-fuzz testbed check lab.toml

Run `build` once, and `check` when a test fails unexpectedly. `up` is for inspection by hand; tests start and end their \
own guests. Guests never outlive the program that started them, even if it is killed.";

/// Arguments of `testbed`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    testbed: TestbedArgs,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum TestbedArgs {
    /// Look at every machine of a testbed of real NICs, which a file names, and at the connections to them: keys, agents, NICs, links,
    /// dumpers, switch. Each step that fails says how to fix it. Exit code 1 if one does. A campaign that uses the switch is
    /// disturbed.
    Check {
        /// The testbed's file (docs/physical.md).
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Make the keys of all machines of a testbed of real NICs: an authority, and for each machine a folder with its certificate, which
    /// names its role and its address, and its private key. Repeated, it renews the certificates and keeps the authority.
    Keys {
        /// The testbed's file (docs/physical.md).
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Folder of the keys [default: `keys` beside the file].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Days for which the certificates are valid.
        #[arg(long, value_name = "N", default_value_t = 397, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
    },
    /// Linux in two QEMU guests, whose RDMA is the kernel's soft-RoCE (rdma_rxe). Neither root nor KVM is needed.
    Vm {
        #[command(subcommand)]
        action: Action,
    },
    /// Linux in two user-mode kernels in virtual time: the same soft-RoCE as in guests, the same test always with the same
    /// packets, and time-outs that cost nothing. Neither root nor KVM is needed.
    Uml {
        #[command(subcommand)]
        action: UmlAction,
    },
}

#[derive(Subcommand)]
enum UmlAction {
    /// Make the images: build the kernels from Debian's source packages (checked by apt; minutes each), put userland and
    /// the agent in. Repeated, it does the remaining steps: another agent builds no kernel.
    Build(UmlBuildArgs),
    /// Boot a pair of guests and hold them, their time standing still, until Ctrl-C: print their processes, for a debugger.
    Up(PairArgs),
    /// Check that the testbed works on this machine, step by step: tools, images, guests, a test between them. Each step
    /// that fails says how to fix it. Exit code 1 if one does.
    Check(PairArgs),
    /// Say how much of rdma_rxe the tests of a campaign have run, on a kernel that counts, and write it as a tracefile of lcov.
    Coverage(CoverageArgs),
    /// Stop every pair that `up` has started, and remove the files that guests of killed programs have left.
    Down,
}

#[derive(Subcommand)]
enum Action {
    /// Make the images: fetch kernels and userland from Debian's archive (checked by apt), put the agent in.
    /// Repeated, it does the remaining steps: another agent needs no network.
    Build(BuildArgs),
    /// Start a pair of guests, connected back to back, print the addresses of their agents, and keep them until Ctrl-C. At tap
    /// devices, and with keys, they stand for the hosts of a testbed of real NICs (docs/physical.md).
    Up(UpArgs),
    /// Check that the testbed works on this machine, step by step: QEMU, KVM, apt, images, a pair of guests
    /// and a ping between them. Each step that fails says how to fix it. Exit code 1 if one does.
    Check(PairArgs),
    /// Stop every pair that `up` has started, and remove the files that guests of killed programs have left.
    Down,
}

#[derive(clap::Args)]
struct PairArgs {
    /// Kernel of the requester's guest: 6.1 or 6.12.
    #[arg(long, value_name = "KERNEL", default_value_t = Kernel::V6_1)]
    requester_kernel: Kernel,
    /// Kernel of the responder's guest.
    #[arg(long, value_name = "KERNEL", default_value_t = Kernel::V6_1)]
    responder_kernel: Kernel,
    #[command(flatten)]
    cache: CacheArgs,
}

#[derive(clap::Args)]
struct UpArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// Connect the NIC of the requester's guest to this tap device, in place of the other guest.
    #[arg(long, value_name = "NAME", requires = "responder_tap")]
    requester_tap: Option<DeviceName>,
    /// The same for the responder's guest.
    #[arg(long, value_name = "NAME", requires = "requester_tap")]
    responder_tap: Option<DeviceName>,
    /// Give the agents the keys in the folders `requester` and `responder` of this one, as `testbed keys` makes them.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

impl UpArgs {
    fn wiring(&self) -> Wiring {
        match (&self.requester_tap, &self.responder_tap) {
            (Some(first), Some(second)) => Wiring::Taps([first.to_string(), second.to_string()]),
            _ => Wiring::Direct,
        }
    }
}

impl PairArgs {
    fn kernels(&self) -> [Kernel; 2] {
        [self.requester_kernel.clone(), self.responder_kernel.clone()]
    }
}

#[derive(clap::Args)]
struct CacheArgs {
    /// Folder of the images [default: that of the testbed in $XDG_CACHE_HOME/lumina-fuzz].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

#[derive(clap::Args)]
struct BuildArgs {
    /// Only this kernel: 6.1, 6.12, or a version of them that Debian has, as 6.12.107 [default: the newest of both].
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<Kernel>,
    #[command(flatten)]
    cache: CacheArgs,
    /// The Debian archive to fetch from [default: the one that this machine's apt uses].
    #[arg(long, value_name = "URI")]
    mirror: Option<String>,
    /// The agent's program [default: lumina-agent beside this program].
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
}

#[derive(clap::Args)]
struct UmlBuildArgs {
    #[command(flatten)]
    common: BuildArgs,
    /// Build a source tree of Linux instead of Debian's: yours, a maintainer's, with a patch. It is not written to.
    #[arg(long, value_name = "DIR", conflicts_with = "kernel")]
    tree: Option<PathBuf>,
    /// Name of the tree: --nic rxe-NAME then names it [default: that of its folder].
    #[arg(long, value_name = "NAME", requires = "tree")]
    name: Option<Kernel>,
    /// Have the kernel watch accesses to its memory (KASAN): --nic rxe-6.12-kasan then names it.
    #[arg(long)]
    kasan: bool,
    /// Have the kernel count how often each part of rdma_rxe runs: --nic rxe-6.12-coverage then names it, and campaigns on it
    /// say how much of the code they have run.
    #[arg(long)]
    coverage: bool,
    /// Build the newest version in the archive, if that is not the one that is there.
    #[arg(long)]
    update: bool,
}

impl UmlBuildArgs {
    /// The sources to build.
    fn sources(&self) -> Result<Vec<uml::Source>, GuestError> {
        let Some(folder) = self.tree.clone() else {
            return Ok(self.common.kernels().into_iter().map(uml::Source::Debian).collect());
        };
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&folder)?,
        };
        Ok(vec![uml::Source::Tree { folder, name }])
    }
}

/// The name of a source tree: that of its folder.
pub(super) fn name_of(folder: &Path) -> Result<Kernel, GuestError> {
    let wrong = |why| GuestError::Source { folder: folder.to_owned(), why };
    let absolute = std::fs::canonicalize(folder).map_err(|error| wrong(error.to_string()))?;
    let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.parse().map_err(|why| wrong(format!("its name is {why}; --name gives it another")))
}

impl BuildArgs {
    fn kernels(&self) -> Vec<Kernel> {
        self.kernel.as_ref().map_or_else(|| Kernel::ALL.to_vec(), |kernel| vec![kernel.clone()])
    }
}

pub(super) fn run(args: &Args) -> Exit {
    let format = args.format;
    let done = match &args.testbed {
        TestbedArgs::Check { file } => Ok(steps(|tell| physical::check::check(file, tell), format)),
        TestbedArgs::Keys { file, out, days } => Ok(keys::run(file, out.as_deref(), *days, format)),
        TestbedArgs::Vm { action: Action::Build(args) } => build_vm(args, format),
        TestbedArgs::Vm { action: Action::Up(pair) } => up(pair, format),
        TestbedArgs::Vm { action: Action::Check(pair) } => Ok(check(pair, vm::check::check, format)),
        TestbedArgs::Vm { action: Action::Down } => down(format),
        TestbedArgs::Uml { action: UmlAction::Build(args) } => build_uml(args, format),
        TestbedArgs::Uml { action: UmlAction::Up(pair) } => up_uml(pair, format),
        TestbedArgs::Uml { action: UmlAction::Coverage(args) } => Ok(coverage(args, format)),
        TestbedArgs::Uml { action: UmlAction::Down } => down(format),
        TestbedArgs::Uml { action: UmlAction::Check(pair) } => Ok(check(pair, uml::check::check, format)),
    };
    done.unwrap_or_else(|error| fail(&error, format))
}

/// Prints the error and its remedy.
fn fail(error: &GuestError, format: Format) -> Exit {
    complain(&format!("error: {error}"));
    let mend = error.mend();
    if let Some(mend) = &mend {
        complain(&format!("help: {mend}"));
    }
    if format == Format::Json {
        print_json(
            &serde_json::json!({ "error": "testbed failed", "message": error.to_string(), "help": mend }),
        );
    }
    Exit::Failed
}

/// An image, as JSON.
#[derive(Serialize)]
struct Built<'a> {
    folder: &'a Path,
    manifest: &'a Manifest,
}

fn build_vm(args: &BuildArgs, format: Format) -> Result<Exit, GuestError> {
    let cache = vm::Cache::open(args.cache.cache.as_deref())?;
    build(args, cache.folder(), format, &args.kernels(), |kernel, agent, tell| {
        let build = vm::Build { kernel, agent, mirror: args.mirror.as_deref() };
        cache.build(build, tell).map(|image| image.manifest)
    })
}

fn build_uml(args: &UmlBuildArgs, format: Format) -> Result<Exit, GuestError> {
    let common = &args.common;
    let cache = uml::Cache::open(common.cache.cache.as_deref())?;
    build(common, cache.folder(), format, &args.sources()?, |source, agent, tell| {
        let options = Options { kasan: args.kasan, coverage: args.coverage };
        let mirror = common.mirror.as_deref();
        let build = uml::Build { source: source.clone(), options, agent, mirror, update: args.update };
        cache.build(&build, tell).map(|image| image.manifest)
    })
}

/// Builds the image of a kernel in virtual time in the cache that tests use, with the agent beside this program.
pub(super) fn build_image(source: uml::Source, options: Options) -> Result<Manifest, GuestError> {
    let (agent, steps) = (beside_this(AGENT)?, Steps::default());
    let build = uml::Build { source, options, agent: &agent, mirror: None, update: false };
    let built = uml::Cache::open(None)?.build(&build, &|event| steps.show(event));
    steps.finish();
    Ok(built?.manifest)
}

/// Builds the images that are asked for, each by `image` from a source and an agent.
fn build<S>(
    args: &BuildArgs,
    folder: &Path,
    format: Format,
    sources: &[S],
    image: impl Fn(&S, &Path, &dyn Fn(Event<'_>)) -> Result<Manifest, GuestError>,
) -> Result<Exit, GuestError> {
    let agent = args.agent.clone().map_or_else(|| beside_this(AGENT), Ok)?;
    let steps = Steps::default();
    let mut manifests = Vec::new();
    for source in sources {
        manifests.push(image(source, &agent, &|event| steps.show(event))?);
    }
    steps.finish();
    Ok(match format {
        Format::Json => {
            let built = manifests.iter().map(|manifest| Built { folder, manifest });
            print_json(&built.collect::<Vec<_>>())
        }
        Format::Text => {
            let mut text = String::new();
            for Manifest { kernel, release, .. } in &manifests {
                let _ = writeln!(
                    text,
                    "Linux {release}: ready in {}; --nic rxe-{kernel} names it",
                    folder.display()
                );
            }
            print(&text)
        }
    })
}

/// Checks of a testbed with the kernels of both guests, which tell each step.
type Checks = fn(Option<&Path>, &[Kernel; 2], &mut dyn FnMut(&Step)) -> bool;

fn check(args: &PairArgs, checks: Checks, format: Format) -> Exit {
    steps(|tell| checks(args.cache.cache.as_deref(), &args.kernels(), tell), format)
}

/// Prints the steps of a check.
fn steps(check: impl FnOnce(&mut dyn FnMut(&Step)) -> bool, format: Format) -> Exit {
    let mut steps = Vec::new();
    let well = check(&mut |step| {
        match format {
            // As they come: the last ones take their time.
            Format::Text => drop(print(&line(step))),
            Format::Json => steps.push(serde_json::json!(step)),
        }
    });
    let printed = match format {
        Format::Text => Exit::Done,
        Format::Json => print_json(&serde_json::json!({ "well": well, "steps": steps })),
    };
    if well { printed } else { Exit::Failed }
}

/// A step of `check`.
fn line(step: &Step) -> String {
    let verdict = match step.ok {
        Some(true) => "ok",
        Some(false) => "FAILED",
        None => "-",
    };
    let mut text = format!("{verdict:<8}{:<22}{}\n", step.name, step.seen);
    if let Some(mend) = &step.mend {
        let _ = writeln!(text, "{:<8}{:<22}mend: {mend}", "", "");
    }
    text
}

/// A guest that is up, as JSON.
#[derive(Serialize)]
struct Up {
    host: u8,
    kernel: Kernel,
    agent: SocketAddr,
    pid: i32,
}

/// Waits for Ctrl-C, once there is something to hold.
struct Interrupts {
    asked: mpsc::Receiver<()>,
    is_up: Arc<AtomicBool>,
}

impl Interrupts {
    /// Listens from now on; Ctrl-C ends this process until something is held.
    fn new() -> Option<Self> {
        let (stop, asked) = mpsc::channel::<()>();
        let is_up = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&is_up);
        let hears = ctrlc::set_handler(move || {
            if !heard.load(Ordering::SeqCst) || stop.send(()).is_err() {
                // Guests that are only starting end with this process.
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
        });
        if let Err(error) = hears {
            complain(&format!("error: cannot listen to Ctrl-C: {error}"));
            return None;
        }
        Some(Self { asked, is_up })
    }

    /// Something is held.
    fn hold(&self) {
        self.is_up.store(true, Ordering::SeqCst);
    }

    /// Waits for Ctrl-C, and looks now and then.
    fn wait(&self, mut look: impl FnMut() -> Result<(), GuestError>) -> Result<Exit, GuestError> {
        complain(&"Ctrl-C ends them");
        loop {
            match self.asked.recv_timeout(Duration::from_millis(200)) {
                Err(RecvTimeoutError::Timeout) => look()?,
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
            }
        }
    }
}

fn up_uml(args: &PairArgs, format: Format) -> Result<Exit, GuestError> {
    let site = uml::Site::find(&uml::Cache::open(args.cache.cache.as_deref())?, &args.kernels())?;
    let Some(interrupts) = Interrupts::new() else { return Ok(Exit::Failed) };
    let held = site.hold()?;
    interrupts.hold();
    let guests = (1..).zip(held.pids()).zip(site.images());
    let printed = match format {
        Format::Json => print_json(
            &guests
                .map(|((host, pid), image)| {
                    serde_json::json!({ "host": host, "kernel": image.manifest.release, "pid": pid, "linux": image.linux() })
                })
                .collect::<Vec<_>>(),
        ),
        Format::Text => {
            let mut text = String::new();
            for ((host, pid), image) in guests {
                let (release, linux) = (&image.manifest.release, image.linux());
                let _ = writeln!(text, "host {host}: Linux {release}, process {pid}: gdb -p {pid} {}", linux.display());
            }
            print(&text)
        }
    };
    if printed != Exit::Done {
        return Ok(printed);
    }
    interrupts.wait(|| Ok(()))
}

fn up(args: &UpArgs, format: Format) -> Result<Exit, GuestError> {
    let wiring = args.wiring();
    let UpArgs { pair: args, keys, .. } = args;
    let cache = vm::Cache::open(args.cache.cache.as_deref())?;
    let [of_requester, of_responder] = args.kernels().map(|kernel| cache.image(&kernel));
    let (of_requester, of_responder) = (of_requester?, of_responder?);
    let Some(interrupts) = Interrupts::new() else { return Ok(Exit::Failed) };
    let qemu = Qemu::find(&of_requester)?;
    let folder = RunFolder::make()?;
    folder.make_stoppable()?;
    complain(&format!("starting two guests with {}; the first time takes longest", qemu.accelerator.name()));
    let pair = with_spinner("starting", || {
        let mut pair = Pair::start(&qemu, [&of_requester, &of_responder], &folder, &wiring)?;
        if let Some(keys) = keys {
            pair.requester.give_keys(&keys.join(Role::Requester.name()))?;
            pair.responder.give_keys(&keys.join(Role::Responder.name()))?;
        }
        Ok::<_, GuestError>(pair)
    })?;
    interrupts.hold();
    let guests: Vec<Up> = [(1, &pair.requester), (2, &pair.responder)]
        .into_iter()
        .zip(args.kernels())
        .map(|((host, guest), kernel)| Up { host, kernel, agent: guest.agent(), pid: guest.pid() })
        .collect();
    let printed = match format {
        Format::Json => print_json(&guests),
        Format::Text => {
            let mut text = String::new();
            for Up { host, kernel, agent, pid } in &guests {
                let _ = writeln!(text, "host {host}: Linux {kernel}, agent at {agent}, process {pid}");
            }
            print(&text)
        }
    };
    if printed != Exit::Done {
        return Ok(printed);
    }
    interrupts.wait(|| pair.requester.alive().and_then(|()| pair.responder.alive()))
}

fn down(format: Format) -> Result<Exit, GuestError> {
    let stopped = run_folder::stop_all()?;
    let removed = run_folder::remove_left_over()?;
    Ok(match format {
        Format::Json => print_json(&serde_json::json!({ "stopped": stopped, "removed": removed })),
        Format::Text => {
            let (pairs, folders) = (plural(stopped.len() as u64, "pair"), plural(removed as u64, "folder"));
            print(&format!("{pairs} stopped, {folders} of killed programs removed\n"))
        }
    })
}

/// Steps on stderr, each on a line; how much of one is done below it, on a terminal.
#[derive(Default)]
struct Steps(RefCell<Option<ProgressBar>>);

impl Steps {
    fn show(&self, event: Event<'_>) {
        match event {
            Event::Step(step) => {
                self.finish();
                complain(&step);
            }
            Event::Percent(percent) if std::io::stderr().is_terminal() => {
                let mut bar = self.0.borrow_mut();
                let bar = bar.get_or_insert_with(|| {
                    let style = ProgressStyle::with_template("{bar:30} {percent} % ({eta} left)")
                        .expect("the template is constant and tested by use");
                    ProgressBar::new(100).with_style(style)
                });
                bar.set_position(percent.into());
            }
            Event::Percent(_) => {}
        }
    }

    /// Takes the bar away.
    fn finish(&self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}
