//! What figures have in common.

use plotters::style::RGBColor;

/// Colours of series, told apart by people who see no red or green, too (Okabe and Ito).
pub const COLOURS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
