//! A figure as SVG. Text is SVG text, in whatever sans-serif the reader has.

use plotters::prelude::*;

use super::axis::Axis;
use super::{Figure, Panel, Series, Style};
use crate::measure::digits;
use crate::paper::Lab;
use crate::plot::COLOURS;

/// Pixels of a panel with its legend, of the legend alone and its lines, and of the figure's title above.
const PANEL: (u32, u32) = (560, 470);
const LEGEND: u32 = 76;
const LEGEND_LINE: i32 = 18;
const TITLE: u32 = 30;
/// Panels beside each other.
const PER_LINE: usize = 2;
/// Width of a column; places are 1 apart.
const COLUMN: f64 = 0.2;
/// Dashes and the spaces between them, in pixels.
const DASH: (u32, u32) = (6, 4);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Draws a figure.
///
/// # Errors
/// The drawing library's.
pub fn svg(figure: &Figure, lab: &Lab) -> Result<String, String> {
    let columns = figure.panels.len().min(PER_LINE);
    let lines = figure.panels.len().div_ceil(PER_LINE);
    let size = (PANEL.0 * columns as u32, PANEL.1 * lines as u32 + TITLE);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let failed = |error: Failed| error.to_string();
        root.fill(&WHITE).map_err(failed)?;
        let root = root.titled(figure.title, ("sans-serif", 18)).map_err(failed)?;
        for (panel, area) in figure.panels.iter().zip(root.split_evenly((lines, columns))) {
            draw(panel, lab, &area).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

type Failed = DrawingAreaErrorKind<std::io::Error>;
type Drawn = Result<(), Failed>;

fn draw(panel: &Panel, lab: &Lab, area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Drawn {
    let series: Vec<(&Series, Vec<(f64, f64)>)> =
        panel.series.iter().map(|series| (series, series.points.of(lab))).collect();
    let all = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let x_axis = match panel.names.len() {
        0 => Axis::around(all().map(|point| point.0)),
        names => Axis::of_places(names),
    };
    let y = all().map(|point| point.1);
    let y_axis = if panel.log { Axis::logarithmic(y) } else { Axis::from_zero(y) };
    let ground = y_axis.low();
    let (above, below) = area.split_vertically(PANEL.1 - LEGEND);
    let mut chart = ChartBuilder::on(&above)
        .caption(panel.title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(x_axis, y_axis)?;
    let name_of = |x: &f64| match panel.names.get((*x as usize).wrapping_sub(1)) {
        Some(name) => (*name).to_owned(),
        None => digits(*x),
    };
    chart
        .configure_mesh()
        .x_desc(panel.x)
        .y_desc(panel.y)
        .x_label_formatter(&name_of)
        .y_label_formatter(&|y| digits(*y))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (series, points) in &series {
        draw_series(series, points, ground, &mut chart)?;
    }
    legend(panel, &below)?;
    Ok(())
}

/// Names of the series, two beside each other; those of one name are one.
fn legend(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Drawn {
    let mut names: Vec<(String, ShapeStyle)> = Vec::new();
    for series in panel.series {
        let name = match (series.points.are_published(), series.style) {
            (false, _) => series.name.to_owned(),
            (true, Style::Line) => format!("{} (paper, dashed)", series.name),
            (true, Style::Dots) => format!("{} (paper, circles)", series.name),
            (true, Style::Columns(_)) => format!("{} (paper, frames)", series.name),
        };
        if names.iter().all(|(known, _)| *known != name) {
            names.push((name, style_of(series)));
        }
    }
    let column = (PANEL.0 - TITLE) as i32 / 2;
    for (at, (name, style)) in (0..).zip(names) {
        let (x, y) = (TITLE as i32 + at % 2 * column, at / 2 * LEGEND_LINE);
        area.draw(&Rectangle::new([(x, y), (x + 14, y + 10)], style))?;
        area.draw(&Text::new(name, (x + 22, y), ("sans-serif", 12)))?;
    }
    Ok(())
}

fn style_of(series: &Series) -> ShapeStyle {
    let colour = COLOURS[series.colour % COLOURS.len()];
    if series.points.are_published() { colour.stroke_width(2) } else { colour.filled().stroke_width(2) }
}

fn draw_series(series: &Series, points: &[(f64, f64)], ground: f64, chart: &mut Chart<'_, '_>) -> Drawn {
    let (style, published) = (style_of(series), series.points.are_published());
    let points = points.iter().copied();
    match (series.style, published) {
        (Style::Line, true) => chart.draw_series(DashedLineSeries::new(points, DASH.0, DASH.1, style))?,
        (Style::Line, false) => chart.draw_series(LineSeries::new(points, style))?,
        (Style::Dots, _) => {
            let size = if published { 6 } else { 3 };
            chart.draw_series(points.map(|point| Circle::new(point, size, style)))?
        }
        (Style::Columns(offset), _) => chart.draw_series(points.map(|(x, y)| {
            let left = x - COLUMN + f64::from(offset) * COLUMN;
            Rectangle::new([(left, ground), (left + COLUMN * 0.9, y)], style)
        }))?,
    };
    Ok(())
}
