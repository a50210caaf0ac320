//! The compiler's notes on a file (`.gcno`): the flow graph of each function, and the lines of its blocks.
//!
//! The form is that of gcc 12 and later (`gcc/gcov-io.h` of its source): a header, then records of a tag, a length in bytes and
//! a content of 32-bit words and strings.

use std::str;

const MAGIC: u32 = u32::from_be_bytes(*b"gcno");

/// Tags of records.
const FUNCTION: u32 = 0x0100_0000;
const BLOCKS: u32 = 0x0141_0000;
const ARCS: u32 = 0x0143_0000;
const LINES: u32 = 0x0145_0000;

/// Flags of an arc: it is on the spanning tree, so that its count follows from those of the others.
const ON_TREE: u32 = 1;

/// Most blocks of a function that is taken for one.
const MOST_BLOCKS: u32 = 1 << 20;

/// Notes on a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// Version, time of the compilation and checksum, as the compiler's data files have them too.
    #[cfg(all(test, feature = "uml"))]
    pub(super) header: [u32; 3],
    /// The functions.
    pub(super) functions: Vec<Function>,
}

/// A function.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Function {
    /// Its number, and checksums of its place and of its graph, as the compiler's data files have them too.
    #[cfg(all(test, feature = "uml"))]
    pub(super) ident: [u32; 3],
    /// Its name.
    pub(super) name: String,
    /// The file that it is in.
    pub(super) source: String,
    /// Its first line.
    pub(super) line: u32,
    /// Number of its blocks; the first is its entry, the second its exit.
    pub(super) blocks: usize,
    /// Arcs between them, in the order of their counters.
    pub(super) arcs: Vec<Arc>,
    /// Lines of its blocks.
    pub(super) lines: Vec<Line>,
}

/// A line of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) block: usize,
    pub(super) source: String,
    pub(super) line: u32,
    /// It is the last line of the block.
    pub(super) is_last: bool,
}

/// An arc of a flow graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    /// It has a counter.
    pub(super) is_counted: bool,
}

impl Notes {
    /// Reads a file of notes.
    ///
    /// # Errors
    /// It is none, or of another compiler, in words.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut words = Words(bytes);
        if words.word()? != MAGIC {
            return Err("it does not begin as notes of the compiler do".into());
        }
        let version = words.word()?;
        // `B2*\0` is 12: a letter for the tens, a digit.
        let [tens, ones, ..] = version.to_be_bytes();
        let major = u32::from(tens.saturating_sub(b'A')) * 10 + u32::from(ones.saturating_sub(b'0'));
        if major < 12 {
            return Err(format!("it is of gcc {major}; 12 or a later one is needed"));
        }
        let _header = [version, words.word()?, words.word()?];
        let _folder = words.string()?;
        let _has_unexecuted_blocks = words.word()?;
        let mut notes = Self {
            #[cfg(all(test, feature = "uml"))]
            header: _header,
            functions: Vec::new(),
        };
        // The end is a tag of 0, or none.
        while let Ok(tag) = words.word() {
            if tag == 0 {
                break;
            }
            let length = words.word()? as usize;
            let content = words.bytes(length)?;
            let mut content = Words(content);
            if tag == FUNCTION {
                notes.functions.push(Function::read(&mut content)?);
            } else if let Some(function) = notes.functions.last_mut() {
                match tag {
                    BLOCKS => function.blocks = content.word()?.min(MOST_BLOCKS) as usize,
                    ARCS => function.read_arcs(&mut content)?,
                    LINES => function.read_lines(&mut content)?,
                    _ => {}
                }
            }
        }
        match notes.functions.iter().find(|function| !function.is_sound()) {
            Some(function) => {
                Err(format!("its graph of {} has arcs to blocks that it has not", function.name))
            }
            None => Ok(notes),
        }
    }
}

impl Function {
    fn read(words: &mut Words<'_>) -> Result<Self, String> {
        let _ident = [words.word()?, words.word()?, words.word()?];
        let name = words.string()?;
        let _is_artificial = words.word()?;
        let source = words.string()?;
        Ok(Self {
            #[cfg(all(test, feature = "uml"))]
            ident: _ident,
            name,
            source,
            line: words.word()?,
            ..Self::default()
        })
    }

    /// The arcs from a block.
    fn read_arcs(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let from = words.word()? as usize;
        while !words.0.is_empty() {
            let (to, flags) = (words.word()? as usize, words.word()?);
            self.arcs.push(Arc { from, to, is_counted: flags & ON_TREE == 0 });
        }
        Ok(())
    }

    /// The lines of a block.
    fn read_lines(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let block = words.word()? as usize;
        let mut source = String::new();
        loop {
            match words.word()? {
                0 => {
                    source = words.string()?;
                    if source.is_empty() {
                        // A line of the function's own file before those of functions that were put into it.
                        let of_block = self.lines.iter_mut().rev().take_while(|line| line.block == block);
                        let last = of_block.max_by_key(|line| (line.source == self.source, line.line));
                        last.into_iter().for_each(|line| line.is_last = true);
                        return Ok(());
                    }
                }
                line => self.lines.push(Line { block, source: source.clone(), line, is_last: false }),
            }
        }
    }

    fn is_sound(&self) -> bool {
        let is_block = |block: usize| block < self.blocks;
        self.arcs.iter().all(|arc| is_block(arc.from) && is_block(arc.to))
            && self.lines.iter().all(|line| is_block(line.block))
    }

    /// Number of its counters.
    pub(super) fn counters(&self) -> usize {
        self.arcs.iter().filter(|arc| arc.is_counted).count()
    }
}

/// What is left of a content.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, String> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A string: its length with the zero behind it, then both.
    fn string(&mut self) -> Result<String, String> {
        let length = self.word()? as usize;
        let bytes = self.bytes(length)?;
        let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        Ok(str::from_utf8(text).map_err(|_| "a name in it is no text")?.to_owned())
    }
}
