//! Curves through measurements of a NIC with flow tables, as ScalaCN fits them (NSDI'25, §4.2), and its mechanism.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Matrix, OMatrix, Owned, U5, Vector5};

use crate::measure::mean;

/// A measurement: mean masks that packets are looked up in at the local egress and at the remote ingress, and the measured value.
pub(super) type Point = (f64, f64, f64);

/// Equation 1, with the parenthesis that it lacks as printed: goodput is a radial basis function of both means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Surface {
    /// Height above `w`.
    pub(super) u: f64,
    /// Width.
    pub(super) v: f64,
    /// Centre.
    pub(super) m: f64,
    /// Centre.
    pub(super) n: f64,
    /// Least goodput.
    pub(super) w: f64,
}

impl Surface {
    /// Goodput at two means.
    pub(super) fn at(&self, local: f64, remote: f64) -> f64 {
        self.u * self.bell(local, remote) + self.w
    }

    fn bell(&self, local: f64, remote: f64) -> f64 {
        let distance = (local - self.m).powi(2) + (remote - self.n).powi(2);
        (-distance / (2.0 * self.v.powi(2))).exp()
    }

    /// The function with the least squares, by Levenberg and Marquardt; none if they find none.
    pub(super) fn fit(points: &[Point]) -> Option<Self> {
        let values = points.iter().map(|point| point.2);
        let (least, most) =
            values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let start = Self { u: 2.0 * most, v: 30.0, m: -20.0, n: -20.0, w: least / 2.0 };
        let (fitted, report) = LevenbergMarquardt::new()
            .with_ftol(1e-10)
            .with_patience(1_000)
            .minimize(Squares { points, surface: start });
        report.termination.was_successful().then_some(fitted.surface)
    }

    const fn parameters(&self) -> [f64; 5] {
        [self.u, self.v, self.m, self.n, self.w]
    }

    /// Largest distance of a parameter from that of another function, of that.
    pub(super) fn away_from(&self, other: &Self) -> f64 {
        let pairs = self.parameters().into_iter().zip(other.parameters());
        pairs.map(|(own, other)| (own / other - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// The least squares of a [`Surface`].
struct Squares<'a> {
    points: &'a [Point],
    surface: Surface,
}

impl LeastSquaresProblem<f64, Dyn, U5> for Squares<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, U5>;
    type ParameterStorage = Owned<f64, U5>;

    fn set_params(&mut self, parameters: &Vector5<f64>) {
        let [u, v, m, n, w] = [0, 1, 2, 3, 4].map(|at| parameters[at]);
        self.surface = Surface { u, v, m, n, w };
    }

    fn params(&self) -> Vector5<f64> {
        Vector5::from(self.surface.parameters())
    }

    fn residuals(&self) -> Option<Matrix<f64, Dyn, nalgebra::U1, Self::ResidualStorage>> {
        let distance = |(local, remote, value): &Point| self.surface.at(*local, *remote) - value;
        Some(DVector::from_iterator(self.points.len(), self.points.iter().map(distance)))
    }

    fn jacobian(&self) -> Option<OMatrix<f64, Dyn, U5>> {
        let Surface { u, v, m, n, .. } = self.surface;
        let rows: Vec<f64> = self
            .points
            .iter()
            .flat_map(|(local, remote, _)| {
                let bell = self.surface.bell(*local, *remote);
                let (from_m, from_n) = (local - m, remote - n);
                let by_v = u * bell * (from_m.powi(2) + from_n.powi(2)) / v.powi(3);
                [bell, by_v, u * bell * from_m / v.powi(2), u * bell * from_n / v.powi(2), 1.0]
            })
            .collect();
        Some(OMatrix::<f64, Dyn, U5>::from_row_slice(&rows))
    }
}

/// Goodness of a fit: the share of the variance that it explains (R²).
pub(super) fn goodness(points: &[Point], fitted: impl Fn(f64, f64) -> f64) -> f64 {
    let mean = points.iter().map(|point| point.2).sum::<f64>() / points.len() as f64;
    let squares =
        |distance: &dyn Fn(&Point) -> f64| points.iter().map(|point| distance(point).powi(2)).sum::<f64>();
    1.0 - squares(&|point| point.2 - fitted(point.0, point.1)) / squares(&|point| point.2 - mean)
}

/// Mean and largest distance of a function from measurements, of these.
pub(super) fn distances(points: &[Point], fitted: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let of = |(local, remote, value): &Point| (fitted(*local, *remote) / value - 1.0).abs();
    let mean = points.iter().map(of).sum::<f64>() / points.len() as f64;
    (mean, points.iter().map(of).fold(0.0, f64::max))
}

/// Equation 2: latency is a plane over both means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Plane {
    /// Of each mask at the local egress.
    pub(super) a: f64,
    /// Of each mask at the remote ingress.
    pub(super) b: f64,
    /// Of all else.
    pub(super) c: f64,
}

impl Plane {
    /// Latency at two means.
    pub(super) fn at(&self, local: f64, remote: f64) -> f64 {
        self.a * local + self.b * remote + self.c
    }

    /// The plane with the least squares; none if the points are on a line.
    pub(super) fn fit(points: &[Point]) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let rows: Vec<f64> = points.iter().flat_map(|point| [point.0, point.1, 1.0]).collect();
        let values = DVector::from_iterator(points.len(), points.iter().map(|point| point.2));
        let svd = DMatrix::from_row_slice(points.len(), 3, &rows).svd(true, true);
        if svd.rank(1e-9) < 3 {
            return None;
        }
        let solved = svd.solve(&values, 1e-12).ok()?;
        Some(Self { a: solved[0], b: solved[1], c: solved[2] })
    }
}

/// A line over one number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Line {
    slope: f64,
    /// A point of it.
    through: (f64, f64),
}

impl Line {
    /// Value at a number.
    pub(super) fn at(&self, x: f64) -> f64 {
        self.through.1 + self.slope * (x - self.through.0)
    }

    /// The line with the least squares; none without points.
    pub(super) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let (x, y) = (mean(points.iter().map(|point| point.0))?, mean(points.iter().map(|point| point.1))?);
        let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / squares;
        Some(Self { slope, through: (x, y) })
    }
}

/// The mechanism behind goodput: so many bits in flight in each round trip, and so many packets that are looked up at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Mechanism {
    /// Time of a mask at the local egress and at the remote ingress.
    query: (f64, f64),
    /// Data in flight.
    window: f64,
    /// Round trip but for masks.
    round_trip: f64,
    /// Data of the packets that are looked up at a time.
    lookups: f64,
    /// Sharpness of the bend between both limits, which packets of unequal look-ups round off.
    bend: f64,
}

impl Mechanism {
    /// Most packets that are looked up at a time.
    const MOST_LOOKUPS: u32 = 64;

    /// Sharpnesses: one test in the middle of the bend has 0.71 to 0.99 of either limit.
    const BENDS: [f64; 6] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    /// Goodput at two means.
    pub(super) fn at(&self, local: f64, remote: f64) -> f64 {
        let (egress, ingress) = (self.query.0 * local, self.query.1 * remote);
        let times = [
            (self.round_trip + egress + ingress) / self.window,
            egress / self.lookups,
            ingress / self.lookups,
        ];
        let longest = times.into_iter().fold(0.0, f64::max);
        (longest
            * times.map(|time| (time / longest).powf(self.bend)).iter().sum::<f64>().powf(self.bend.recip()))
        .recip()
    }

    /// The mechanism that is nearest to measurements of packets of so much payload, where each mask takes the times of a plane.
    pub(super) fn fit(points: &[Point], plane: &Plane, payload: f64) -> Option<Self> {
        let of = |lookups: u32| Self::with(points, plane, f64::from(lookups) * payload);
        let all = (1..=Self::MOST_LOOKUPS).filter_map(of);
        let all = all.flat_map(|mechanism| Self::BENDS.map(|bend| Self { bend, ..mechanism }));
        let error = |mechanism: &Self| distances(points, |local, remote| mechanism.at(local, remote)).0;
        all.min_by(|one, other| error(one).total_cmp(&error(other)))
    }

    /// With so much data of packets that are looked up at a time: of the points beneath that, the reciprocal of goodput is a line over the
    /// time of the masks.
    fn with(points: &[Point], plane: &Plane, lookups: f64) -> Option<Self> {
        let bound = |point: &&Point| point.2 < 0.9 * lookups / (plane.a * point.0).max(plane.b * point.1);
        let below: Vec<(f64, f64)> = points
            .iter()
            .filter(bound)
            .map(|(local, remote, value)| (plane.a * local + plane.b * remote, value.recip()))
            .collect();
        let line = Line::fit(&below)?;
        let window = line.slope.recip();
        (below.len() > 2 && line.slope > 0.0).then_some(Self {
            query: (plane.a, plane.b),
            window,
            round_trip: line.at(0.0) * window,
            lookups,
            bend: f64::INFINITY,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURFACE: Surface = Surface { u: 324.47, v: 42.13, m: -26.92, n: -49.71, w: 26.28 };

    fn grid(value: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let places = [1.0, 5.0, 10.0, 20.0, 30.0];
        let pairs = places.iter().flat_map(|local| places.map(|remote| (*local, remote)));
        pairs.map(|(local, remote)| (local, remote, value(local, remote))).collect()
    }

    /// By hand: at its centre a surface is u + w, and at a distance of v it is u / √e + w.
    #[test]
    fn a_surface_is_a_bell() {
        let surface = Surface { u: 100.0, v: 10.0, m: 3.0, n: 4.0, w: 5.0 };
        assert!((surface.at(3.0, 4.0) - 105.0).abs() < 1e-9);
        assert!((surface.at(9.0, 12.0) - (100.0 / 1.0_f64.exp().sqrt() + 5.0)).abs() < 1e-9);
    }

    #[test]
    fn fits_find_what_was_there() {
        let fitted = Surface::fit(&grid(|local, remote| SURFACE.at(local, remote))).unwrap();
        assert!(fitted.away_from(&SURFACE) < 1e-3, "{fitted:?}");
        let plane = Plane { a: 0.047, b: 0.068, c: 2.69 };
        let fitted = Plane::fit(&grid(|local, remote| plane.at(local, remote))).unwrap();
        assert!(
            (fitted.a - plane.a).abs() < 1e-9
                && (fitted.b - plane.b).abs() < 1e-9
                && (fitted.c - plane.c).abs() < 1e-9
        );
        let mechanism = Mechanism {
            query: (plane.a, plane.b),
            window: 400.0,
            round_trip: 2.5,
            lookups: 4.0 * 32.768,
            bend: 64.0,
        };
        let points = grid(|local, remote| mechanism.at(local, remote));
        let fitted = Mechanism::fit(&points, &plane, 32.768).unwrap();
        assert!(distances(&points, |local, remote| fitted.at(local, remote)).1 < 1e-2, "{fitted:?}");
    }

    #[test]
    fn nothing_is_fitted_through_a_line() {
        let line: Vec<Point> = (1..9).map(|at| (f64::from(at), 2.0 * f64::from(at), 1.0)).collect();
        assert_eq!(Plane::fit(&line), None);
        assert_eq!(Plane::fit(&[]), None);
    }

    #[test]
    fn goodness_is_the_variance_that_is_explained() {
        let points = [(1.0, 0.0, 1.0), (2.0, 0.0, 3.0), (3.0, 0.0, 5.0)];
        assert!((goodness(&points, |local, _| 2.0 * local - 1.0) - 1.0).abs() < 1e-9);
        assert!(goodness(&points, |_, _| 3.0).abs() < 1e-9);
        let (mean, largest) = distances(&points, |_, _| 3.0);
        assert!((mean - (2.0 + 0.0 + 0.4) / 3.0).abs() < 1e-9 && (largest - 2.0).abs() < 1e-9);
    }
}
