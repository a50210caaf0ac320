//! The paper's figures, drawn from our runs, with the published values beside them.

mod axis;
mod draw;
mod figures;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::TestConfig;
use dumper::observation::write_whole;

pub use draw::svg;
pub use figures::FIGURES;

use super::{Lab, Nics, Setup};
use crate::measure::{Points, Seen};

/// A figure of the paper.
#[derive(Debug)]
pub struct Figure {
    /// Its file.
    pub file: &'static str,
    /// Title.
    pub title: &'static str,
    /// Its parts, side by side.
    pub panels: &'static [Panel],
}

/// A part of a figure.
#[derive(Debug)]
pub struct Panel {
    /// Title.
    pub title: &'static str,
    /// Below the x axis.
    pub x: &'static str,
    /// Beside the y axis.
    pub y: &'static str,
    /// Labels below x = 1, 2, 3 ...; empty for numbers.
    pub names: &'static [&'static str],
    /// True if y is logarithmic.
    pub log: bool,
    /// Series in the panel.
    pub series: &'static [Series],
}

/// Something drawn in one colour and style.
#[derive(Debug)]
pub struct Series {
    /// Its name in the legend; published values are marked there.
    pub name: &'static str,
    /// Its colour, by number: the same for series that belong together.
    pub colour: usize,
    /// Style of its points.
    pub style: Style,
    /// Its points.
    pub points: Source,
}

/// Style of points: measured ones in full, the paper's dashed or hollow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Connected.
    Line,
    /// Each of its own.
    Dots,
    /// Columns from the ground, so many of a column's width right of their place.
    Columns(u8),
}

/// Reads points off runs; none from runs that do not show them.
pub type Read = fn(&[Seen<'_>]) -> Option<Points>;

/// Origin of points.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The paper.
    Published(&'static [(f64, f64)]),
    /// Our runs.
    Measured {
        /// On these NICs.
        nics: Nics,
        /// Of these tests.
        setup: Setup,
        /// By this; nothing is drawn of runs that do not show it.
        of: Read,
    },
}

impl Figure {
    /// The tests that it shows runs of.
    pub fn tests(&self) -> impl Iterator<Item = TestConfig> {
        let series = self.panels.iter().flat_map(|panel| panel.series);
        series.flat_map(|series| match series.points {
            Source::Published(_) => Vec::new(),
            Source::Measured { nics, setup, .. } => setup.tests(nics),
        })
    }
}

impl Source {
    fn of(self, lab: &Lab) -> Points {
        match self {
            Self::Published(points) => points.to_vec(),
            Self::Measured { nics, setup, of } => {
                lab.seen(&setup.tests(nics)).and_then(|seen| of(&seen)).unwrap_or_default()
            }
        }
    }

    const fn are_published(self) -> bool {
        matches!(self, Self::Published(_))
    }
}

/// Figures that could not be drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A file or folder cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The drawing library.
    #[error("{file}: cannot be drawn: {reason}")]
    Draw {
        /// The figure.
        file: &'static str,
        /// Reason.
        reason: String,
    },
}

/// Draws figures into a folder, which is made if it is not there; files of their names are replaced.
///
/// # Errors
/// A figure cannot be drawn or written.
pub fn write(figures: &[Figure], lab: &Lab, folder: &Path) -> Result<(), PlotError> {
    std::fs::create_dir_all(folder).map_err(|source| PlotError::Io { path: folder.into(), source })?;
    for figure in figures {
        let drawn = svg(figure, lab).map_err(|reason| PlotError::Draw { file: figure.file, reason })?;
        let path = folder.join(figure.file);
        write_whole(&path, |out| out.write_all(drawn.as_bytes()))
            .map_err(|source| PlotError::Io { path, source })?;
    }
    Ok(())
}
