//! `lumina-fuzz testbed keys`.

use std::path::Path;

use dumper::serve::tls::{Authority, Made, MakeError};
use executor::physical::TestbedFile;
use serde::Serialize;

use super::output::{bad_message, complain, print, print_json};
use super::{Exit, Format};

/// Folder of the keys beside the testbed's file.
const KEYS: &str = "keys";

/// Folder of the authority within.
const AUTHORITY: &str = "authority";

/// Keys of a machine, as JSON.
#[derive(Serialize)]
struct Document {
    machine: String,
    role: &'static str,
    folder: String,
    renewed: bool,
}

/// Makes the keys of all machines of a testbed, valid for so many days.
pub(super) fn run(file: &Path, out: Option<&Path>, days: u16, format: Format) -> Exit {
    let testbed = match TestbedFile::read_for_keys(file) {
        Ok(testbed) => testbed,
        Err(error) => return bad_message("bad testbed", &error, format),
    };
    let folder = out.map_or_else(|| testbed.beside(Path::new(KEYS)), Path::to_owned);
    match make(&testbed, &folder, days) {
        Ok(made) => tell(&made, &folder, file, format),
        Err(error) => {
            complain(&format!("error: the keys cannot be made: {error}"));
            Exit::Failed
        }
    }
}

fn make(testbed: &TestbedFile, folder: &Path, days: u16) -> Result<Vec<Document>, MakeError> {
    let authority = Authority::open(&folder.join(AUTHORITY))?;
    let machine = |machine: dumper::serve::tls::Machine| {
        let folder = folder.join(&machine.name);
        let made = authority.certify(&machine, days.into(), &folder)?;
        Ok(Document {
            role: machine.role.name(),
            machine: machine.name,
            folder: folder.display().to_string(),
            renewed: made == Made::Renewed,
        })
    };
    testbed.machines().into_iter().map(machine).collect()
}

fn tell(made: &[Document], folder: &Path, file: &Path, format: Format) -> Exit {
    if format == Format::Json {
        return print_json(&made);
    }
    let mut text = String::new();
    for Document { machine, role, folder, renewed } in made {
        let how = if *renewed { "renewed" } else { "new" };
        text += &format!("{machine:<14}{role:<14}{folder} ({how})\n");
    }
    let beside = file.parent().unwrap_or(Path::new(""));
    let own = folder.strip_prefix(beside).unwrap_or(folder).join("orchestrator");
    text += &format!(
        "\nCopy the folder of each machine there, with its permissions, and start its program with --keys; the testbed's file has\n\
         keys = {:?}. {} stays here: whoever has its key makes machines of the testbed.\n",
        own.display().to_string(),
        folder.join(AUTHORITY).display()
    );
    print(&text)
}
