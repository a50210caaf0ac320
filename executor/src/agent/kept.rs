//! What an agent keeps from one test to the next, where one thread runs them all: to find it again takes as long as the life of
//! a QP.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use dumper::observation::Counters;

use super::sysfs::CounterFiles;
use crate::verbs::DeviceList;

/// Things that are looked for again if they are not what they were.
#[derive(Default)]
pub(super) struct Kept {
    /// The devices that tests may use, and their names.
    pub(super) devices: Option<(DeviceList, Vec<String>)>,
    counters: Option<(PathBuf, Rc<CounterFiles>)>,
}

impl Kept {
    /// The files of the counters of a port's folder and of a network device, and their values.
    pub(super) fn counters(
        &mut self,
        port: &Path,
        interface: Option<String>,
    ) -> (Rc<CounterFiles>, Counters) {
        if let Some((of, files)) = &self.counters
            && of == port
            && let Some(counters) = files.read_all(interface.as_deref())
        {
            return (Rc::clone(files), counters);
        }
        super::sysfs::read_afresh(port);
        let (files, counters) = CounterFiles::open(port, interface);
        let files = Rc::new(files);
        self.counters = Some((port.to_owned(), Rc::clone(&files)));
        (files, counters)
    }
}
