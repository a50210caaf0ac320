//! `lumina-fuzz testbed`.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use executor::vm::{self, Build, Cache, Event, Kernel, Manifest, VmError};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::output::{complain, print, print_json};
use super::{Exit, Format};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz testbed vm build
  lumina-fuzz testbed vm build --kernel 6.1 --agent target/release/lumina-agent";

/// Arguments of `testbed`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    testbed: TestbedArgs,
    /// How to print.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum TestbedArgs {
    /// Linux in two QEMU guests, whose RDMA is the kernel's soft-RoCE (rdma_rxe). Neither root nor KVM is needed.
    Vm {
        #[command(subcommand)]
        action: Action,
    },
}

#[derive(Subcommand)]
enum Action {
    /// Make the images: fetch kernels and userland from Debian's archive (checked by apt), put the agent in. Repeated,
    /// it does what is left to do: another agent needs no network.
    Build(BuildArgs),
}

#[derive(clap::Args)]
struct CacheArgs {
    /// Where images are kept [default: $XDG_CACHE_HOME/lumina-fuzz/vm].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

#[derive(clap::Args)]
struct BuildArgs {
    /// Only this kernel: 6.1 or 6.12 [default: both].
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

pub(super) fn run(args: &Args) -> Exit {
    let TestbedArgs::Vm { action } = &args.testbed;
    let done = match action {
        Action::Build(build) => self::build(build, args.format),
    };
    done.unwrap_or_else(|error| fail(&error, args.format))
}

/// Says what failed and how to mend it.
fn fail(error: &VmError, format: Format) -> Exit {
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

fn build(args: &BuildArgs, format: Format) -> Result<Exit, VmError> {
    let cache = Cache::open(args.cache.cache.as_deref())?;
    let agent = args.agent.clone().map_or_else(vm::default_agent, Ok)?;
    let steps = Steps::default();
    let mut images = Vec::new();
    for kernel in args.kernel.map_or_else(|| Kernel::ALL.to_vec(), |kernel| vec![kernel]) {
        let build = Build { kernel, agent: &agent, mirror: args.mirror.as_deref() };
        images.push(cache.build(build, &|event| steps.show(event))?);
    }
    steps.finish();
    Ok(match format {
        Format::Json => {
            let built = images.iter().map(|image| Built { folder: cache.folder(), manifest: &image.manifest });
            print_json(&built.collect::<Vec<_>>())
        }
        Format::Text => {
            let mut text = String::new();
            for image in &images {
                let Manifest { release, .. } = &image.manifest;
                let _ = writeln!(text, "Linux {release}: ready in {}", cache.folder().display());
            }
            print(&text)
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
