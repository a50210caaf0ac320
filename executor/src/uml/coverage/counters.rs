//! The counters of arcs, in the memory of a kernel's process.

use std::collections::HashMap;
use std::io::{self, IoSliceMut};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// What the name of a function's counters begins with; they are in an array of 64-bit words.
const NAME: &str = "__gcov0.";

/// Bytes of a counter.
const WORD: usize = 8;

/// Most bytes between the first counter and the last.
const SPAN: u64 = 16 << 20;

/// The places of the counters of a program that is at the addresses that its file says.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By file and function: the address and the number.
    places: HashMap<(String, String), (u64, usize)>,
}

impl Places {
    /// Those of a program.
    ///
    /// # Errors
    /// It is none, in words.
    pub(super) fn of(program: &[u8]) -> Result<Self, String> {
        let file = object::File::parse(program).map_err(|error| error.to_string())?;
        let mut places = HashMap::new();
        let mut source = String::new();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.kind() == SymbolKind::File {
                // Those of the file follow, which are its own.
                name.clone_into(&mut source);
            } else if let Some(function) = name.strip_prefix(NAME) {
                let counters = symbol.size() as usize / WORD;
                places.insert((source.clone(), function.to_owned()), (symbol.address(), counters));
            }
        }
        Ok(Self { places })
    }

    /// The address of a function's counters, and their number.
    pub(super) fn of_function(&self, source: &str, function: &str) -> Option<(u64, usize)> {
        self.places.get(&(source.to_owned(), function.to_owned())).copied()
    }
}

/// The part of a program's memory that has the counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    begin: u64,
    end: u64,
}

impl Span {
    /// The part that has these places.
    ///
    /// # Errors
    /// It is larger than that of any kernel, in words.
    pub(super) fn of(places: impl Iterator<Item = (u64, usize)> + Clone) -> Result<Self, String> {
        let begin = places.clone().map(|(at, _)| at).min().unwrap_or(0);
        let end = places.map(|(at, number)| at.saturating_add((number * WORD) as u64)).max().unwrap_or(0);
        if end - begin > SPAN {
            return Err("its counters are not near each other".into());
        }
        Ok(Self { begin, end })
    }

    /// Reads it from a process.
    pub(super) fn read(&self, process: i32) -> io::Result<Counters> {
        let mut bytes = vec![0; (self.end - self.begin) as usize];
        let remote = [RemoteIoVec { base: self.begin as usize, len: bytes.len() }];
        let read = process_vm_readv(Pid::from_raw(process), &mut [IoSliceMut::new(&mut bytes)], &remote)?;
        if read != bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Counters { begin: self.begin, bytes })
    }
}

/// The counters of a process at a time.
#[derive(Debug, Default)]
pub(in crate::uml) struct Counters {
    begin: u64,
    /// None of a kernel that has not begun.
    bytes: Vec<u8>,
}

impl Counters {
    /// The counters at a place.
    pub(super) fn at(&self, (address, number): (u64, usize)) -> impl Iterator<Item = u64> {
        let begin = address.saturating_sub(self.begin) as usize;
        (0..number).map(move |counter| {
            let at = begin + counter * WORD;
            let word = self.bytes.get(at..at + WORD).and_then(|word| word.try_into().ok());
            word.map_or(0, u64::from_le_bytes)
        })
    }
}
