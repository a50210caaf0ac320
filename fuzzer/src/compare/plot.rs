//! Survival curves as SVG: the part of the runs that have not found an anomaly yet.

use plotters::prelude::*;

use super::Evaluation;
use crate::plot::COLOURS;
use crate::statistics::curve;

/// Pixels of a panel, of the line above all.
const PANEL: (u32, u32) = (460, 300);
const TITLE: u32 = 30;
/// Panels beside each other.
const PER_LINE: usize = 3;

/// Draws a panel for each anomaly of each NIC.
///
/// # Errors
/// The drawing library's.
pub fn svg(evaluation: &Evaluation) -> Result<String, String> {
    let rows = &evaluation.rows;
    let columns = rows.len().clamp(1, PER_LINE);
    let lines = rows.len().div_ceil(PER_LINE).max(1);
    let size = (PANEL.0 * columns as u32, PANEL.1 * lines as u32 + TITLE);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let failed = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
        root.fill(&WHITE).map_err(failed)?;
        let title = format!("{}: part of the runs that have not found it", evaluation.target);
        let root = root.titled(&title, ("sans-serif", 18)).map_err(failed)?;
        let limit = evaluation.executions as f64;
        for (row, area) in rows.iter().zip(root.split_evenly((lines, columns))) {
            let mut chart = ChartBuilder::on(&area)
                .caption(format!("{}: {}", row.nic, row.anomaly), ("sans-serif", 13))
                .margin(8)
                .x_label_area_size(36)
                .y_label_area_size(40)
                .build_cartesian_2d((1.0..limit).log_scale(), 0.0..1.0)
                .map_err(failed)?;
            chart
                .configure_mesh()
                .x_desc("executions")
                .x_label_formatter(&|x| format!("{x:.0}"))
                .light_line_style(TRANSPARENT)
                .draw()
                .map_err(failed)?;
            for (at, sample) in row.samples.iter().enumerate().filter(|(_, sample)| sample.runs > 0) {
                let colour = COLOURS[at % COLOURS.len()];
                let mut points = vec![(1.0, 1.0)];
                for (when, left) in curve(&sample.times) {
                    points.extend([(when, points[points.len() - 1].1), (when, left)]);
                }
                points.push((limit, points[points.len() - 1].1));
                chart
                    .draw_series(LineSeries::new(points, colour.stroke_width(2)))
                    .map_err(failed)?
                    .label(sample.strategy.to_string())
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerLeft)
                .background_style(WHITE.mix(0.8))
                .label_font(("sans-serif", 11))
                .draw()
                .map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}
