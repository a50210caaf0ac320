//! Figures of a page: SVG that takes its colours from the page, with a title and axes that name their units.

use dumper::Nanos;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::plot::COLOURS;

/// Pixels of a figure.
const SIZE: (u32, u32) = (720, 300);
/// Room below for the legend and the axis.
const X_LABELS: u32 = 40;
const Y_LABELS: u32 = 56;

/// Times whose distribution is drawn.
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) times: Vec<Nanos>,
}

type Failed = DrawingAreaErrorKind<std::io::Error>;

/// The part of each curve's times that are not longer than x, on a logarithmic axis.
///
/// # Errors
/// The drawing library's.
pub(super) fn cumulative(title: &str, x: &str, curves: &[Curve]) -> Result<String, String> {
    let nanos = |time: &Nanos| time.0.max(1) as f64;
    let all = || curves.iter().flat_map(|curve| &curve.times).map(nanos);
    let (low, high) = (all().fold(f64::INFINITY, f64::min) / 1.3, all().fold(1.0, f64::max) * 1.3);
    let series = curves.iter().map(|curve| {
        let mut times: Vec<f64> = curve.times.iter().map(nanos).collect();
        times.sort_by(f64::total_cmp);
        let mut points = vec![(low, 0.0)];
        let count = times.len() as f64;
        for (at, time) in times.into_iter().enumerate() {
            points.extend([(time, points[points.len() - 1].1), (time, (at + 1) as f64 / count * 100.0)]);
        }
        points.push((high, 100.0));
        (curve.name, points)
    });
    let series: Vec<_> = series.collect();
    let mut text = String::new();
    draw(&mut text, (low, high), x, series).map_err(|error| error.to_string())?;
    Ok(inline(&text, title))
}

/// Points of a curve, under its name.
pub(crate) type Named = (&'static str, Vec<(f64, f64)>);

fn draw(text: &mut String, (low, high): (f64, f64), x: &str, series: Vec<Named>) -> Result<(), Failed> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(8)
        .x_label_area_size(X_LABELS)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d((low..high).log_scale(), 0.0..105.0)?;
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc("% of messages")
        .x_labels(8)
        .x_label_formatter(&|ns| Nanos(*ns as u64).to_string())
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .light_line_style(TRANSPARENT)
        .draw()?;
    add_curves(&mut chart, series)?;
    add_legend(&mut chart, SeriesLabelPosition::LowerRight)?;
    root.present()
}

/// Values over the executions of a campaign.
///
/// # Errors
/// The drawing library's.
pub(crate) fn over_executions(
    title: &str,
    y: &str,
    executions: u64,
    series: Vec<Named>,
) -> Result<String, String> {
    let most = series.iter().flat_map(|(_, points)| points).map(|point| point.1).fold(0.0, f64::max);
    let mut text = String::new();
    draw_over(&mut text, (executions.max(1) as f64, most.max(1e-3) * 1.05), y, series)
        .map_err(|error| error.to_string())?;
    Ok(format!("{}<figcaption>{title}</figcaption>", inline(&text, title)))
}

fn draw_over(text: &mut String, (right, top): (f64, f64), y: &str, series: Vec<Named>) -> Result<(), Failed> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(8)
        .x_label_area_size(X_LABELS)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("executions")
        .y_desc(y)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| if top >= 10.0 { format!("{y:.0}") } else { format!("{y:.1}") })
        .light_line_style(TRANSPARENT)
        .draw()?;
    let several = series.len() > 1;
    add_curves(&mut chart, series)?;
    if several {
        add_legend(&mut chart, SeriesLabelPosition::MiddleRight)?;
    }
    root.present()
}

/// A chart whose axes both have numbers.
type Chart<'a, 'b, X> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, RangedCoordf64>>;

/// Draws the curves, each in a colour of its own.
fn add_curves<X: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, X>,
    series: Vec<Named>,
) -> Result<(), Failed> {
    for ((name, points), colour) in series.into_iter().zip(COLOURS) {
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    Ok(())
}

/// Draws the names of the curves.
fn add_legend<'a, 'b: 'a, X: Ranged<ValueType = f64>>(
    chart: &mut Chart<'a, 'b, X>,
    position: SeriesLabelPosition,
) -> Result<(), Failed> {
    chart.configure_series_labels().position(position).border_style(BLACK).draw()
}

/// A figure as part of a page: as wide as there is room, with a name for those who do not see it.
pub(super) fn inline(svg: &str, title: &str) -> String {
    let (width, height) = SIZE;
    let size = format!("<svg width=\"{width}\" height=\"{height}\" ");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let svg = svg.replacen(&size, "<svg class=\"figure\" role=\"img\" ", 1);
    match svg.split_once('>') {
        Some((head, rest)) => format!("{head}><title>{title}</title>{rest}"),
        None => svg,
    }
}
