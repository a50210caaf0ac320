//! A line through points, by least squares.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// A line, with what is known of its slope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) intercept: f64,
    /// Half of the 99 % interval of the slope.
    pub(super) margin: f64,
    /// Share of the variance that the line explains.
    pub(super) r_squared: f64,
}

impl Line {
    /// Through at least three points, whose errors are taken for independent and equally large.
    pub(super) fn through(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| of(x - x_mean, y - y_mean)).sum()
        };
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        let slope = xy / xx;
        let rest = sum(&|x, y| (y - slope * x).powi(2));
        let freedom = count - 2.0;
        let quantile = StudentsT::new(0.0, 1.0, freedom).unwrap().inverse_cdf(0.995);
        let margin = quantile * (rest / freedom / xx).sqrt();
        Self { slope, intercept: y_mean - slope * x_mean, margin, r_squared: 1.0 - rest / yy }
    }
}

#[test]
fn the_line_of_anscombe_s_first_set() {
    let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
    let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    let points: Vec<_> = x.into_iter().zip(y).collect();
    let line = Line::through(&points);
    // Anscombe, "Graphs in statistical analysis" (1973): 3.00 + 0.500 x, R² 0.67, standard error of the slope 0.118.
    let near = |value: f64, expected: f64, by: f64| assert!((value - expected).abs() < by, "{value}");
    near(line.slope, 0.500, 0.0005);
    near(line.intercept, 3.00, 0.005);
    near(line.r_squared, 0.667, 0.0005);
    // Student's t of 9 degrees of freedom at 99.5 %: 3.250.
    near(line.margin, 3.250 * 0.1179, 0.0005);
}
