//! The loss that keeps a number of messages in time.

use serde::Serialize;

use super::links::Links;

/// Largest loss of full packets on the whole way for which the theory is good: beyond it QPs run out of retries.
pub const MOST: f64 = 0.125;

/// Losses below this one are none.
const LEAST: f64 = 1e-15;

/// Steps of the search, and how near its ends come to each other on a logarithmic scale. Some six are needed, as the share of late messages
/// is nearly a power of the loss.
const STEPS: u32 = 60;
const NEAR: f64 = 1e-6;

/// The largest loss with which few enough messages are late.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerated {
    /// Without any loss too many are.
    None,
    /// This loss of a link.
    UpTo(f64),
    /// This loss of a link, which is the largest that the theory is good for, and maybe a larger one.
    AtLeast(f64),
}

/// Looks for the largest loss of a link with which at most so many messages are late, by a function that gives their share and
/// grows with the loss.
#[must_use]
pub fn tolerated(at_most: f64, links: &Links, late: impl Fn(&Links) -> f64) -> Tolerated {
    let most = -((-MOST).ln_1p() / f64::from(links.links)).exp_m1();
    // The false position method on logarithmic scales, with the Illinois rule: an end that stays twice counts for half.
    let beyond = |loss: f64| {
        let late = late(&Links { loss: loss.exp(), ..*links });
        (late.max(f64::MIN_POSITIVE) / at_most.max(f64::MIN_POSITIVE)).ln()
    };
    let (mut low, mut high) = (LEAST.ln(), most.ln());
    let (mut at_low, mut at_high) = (beyond(low), beyond(high));
    if at_low > 0.0 {
        return Tolerated::None;
    }
    if at_high <= 0.0 {
        return Tolerated::AtLeast(most);
    }
    let mut was_late = None;
    for _ in 0..STEPS {
        if high - low < NEAR {
            break;
        }
        let part = (at_low / (at_low - at_high)).clamp(1e-3, 1.0 - 1e-3);
        let between = low + part * (high - low);
        let found = beyond(between);
        let is_late = found > 0.0;
        if is_late {
            (high, at_high) = (between, found);
        } else {
            (low, at_low) = (between, found);
        }
        if was_late == Some(is_late) {
            *if is_late { &mut at_low } else { &mut at_high } /= 2.0;
        }
        was_late = Some(is_late);
    }
    Tolerated::UpTo(low.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_loss_is_found_or_said_to_be_none() {
        let links = Links { loss: 0.0, of_bytes: 1086, links: 2, corrupted: 1.0 };
        let by = |at_most, late: fn(&Links) -> f64| tolerated(at_most, &links, late);
        let Tolerated::UpTo(loss) = by(1e-3, |links| 2.0 * links.loss) else { panic!("there is one") };
        assert!((loss / 5e-4 - 1.0).abs() < 1e-5, "{loss}");
        assert_eq!(by(1e-3, |links| 2e-3 + links.loss), Tolerated::None);
        let Tolerated::AtLeast(most) = by(0.5, |links| links.loss) else { panic!("any") };
        assert!((1.0 - (1.0 - most).powi(2) - MOST).abs() < 1e-12);
    }
}
