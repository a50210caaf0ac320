//! Reaction point of DCQCN: the rate at which one QP sends data (Zhu et al., "Congestion Control for Large-Scale RDMA
//! Deployments", SIGCOMM'15, §3.1 and figure 7).
//!
//! It is brought up to date when a packet is to be sent or a CNP comes: nothing else asks for its rate.

use dumper::Nanos;

use super::pacing::Pacer;
use crate::profile::Reaction;

/// The rate of a QP that has had a CNP.
#[derive(Clone, Debug)]
pub(in crate::sim::nic) struct ReactionPoint {
    constants: Reaction,
    /// The link's rate, which is the highest, in bit/s.
    link: u64,
    /// R_C, the current rate, in bit/s.
    rate: u64,
    /// R_T, the rate that it recovers to, in bit/s.
    target: u64,
    /// Rate reduction factor: a CNP lowers the rate by half of this part.
    alpha: f64,
    /// Time of the last CNP, which restarts both timers and the byte counter.
    cnp_at: Nanos,
    /// T: expiries of the rate timer since then.
    expiries: u64,
    /// Bytes sent since then.
    bytes: u64,
    /// BC: how often they have filled the byte counter.
    fills: u64,
    pacer: Pacer,
}

impl ReactionPoint {
    /// A QP that sends at the rate of its link, in Gb/s, when its first CNP comes.
    pub(in crate::sim::nic) fn new(constants: Reaction, link_gbps: u32, now: Nanos) -> Self {
        let link = u64::from(link_gbps) * 1_000_000_000;
        Self {
            constants,
            link,
            rate: link,
            target: link,
            alpha: 1.0,
            cnp_at: now,
            expiries: 0,
            bytes: 0,
            fills: 0,
            pacer: Pacer::default(),
        }
    }

    /// A CNP lowers the rate. Packets sent before keep their distance to the next one.
    pub(in crate::sim::nic) fn on_cnp(&mut self, now: Nanos) {
        self.run_rate_timer(now);
        let gain = 1.0 / f64::from(self.constants.g_inverse);
        let quiet = (now - self.cnp_at).0 / Nanos::from_micros(self.constants.alpha_timer_us).0;
        let alpha = self.alpha * power(1.0 - gain, quiet);
        self.target = self.rate;
        self.rate = ((self.rate as f64 * (1.0 - alpha / 2.0)) as u64).max(self.floor());
        self.alpha = (1.0 - gain) * alpha + gain;
        self.cnp_at = now;
        (self.expiries, self.bytes, self.fills) = (0, 0, 0);
    }

    /// A data packet of so many bytes on the cable is sent.
    pub(in crate::sim::nic) fn on_data(&mut self, now: Nanos, bytes: u32) {
        self.run_rate_timer(now);
        self.bytes += u64::from(bytes);
        while self.bytes >= (self.fills + 1).saturating_mul(self.constants.byte_counter) {
            self.raise();
            self.fills += 1;
        }
        if self.is_slowed() {
            self.pacer.sent(now, bytes, self.rate, self.link);
        }
    }

    /// Returns true if it sends more slowly than its link.
    pub(in crate::sim::nic) const fn is_slowed(&self) -> bool {
        self.rate < self.link
    }

    /// Until when no data may be sent, if it may not be sent now.
    pub(in crate::sim::nic) fn holds_until(&self, now: Nanos) -> Option<Nanos> {
        self.pacer.holds_until(now)
    }

    fn run_rate_timer(&mut self, now: Nanos) {
        let timer = Nanos::from_micros(self.constants.rate_timer_us).0;
        let since = (now - self.cnp_at).0;
        if since < (self.expiries + 1).saturating_mul(timer) {
            return;
        }
        let due = since / timer;
        // At the link's rate there is nothing to raise, however long that lasts.
        while self.expiries < due && self.is_slowed() {
            self.raise();
            self.expiries += 1;
        }
        self.expiries = due;
    }

    /// An event of the timer or the byte counter. The events before it say how far the recovery is, so that the first F are
    /// fast recovery ("F successive iterations"). Hyper increase grows from one round of both to the next, as in QCN (IEEE
    /// 802.1Qau), which the paper refers to.
    fn raise(&mut self) {
        let (most, least) = (self.expiries.max(self.fills), self.expiries.min(self.fills));
        let fast = u64::from(self.constants.fast_recovery);
        let increase = if most < fast {
            0
        } else if least > fast {
            (least - fast).saturating_mul(mbps(self.constants.hyper_increase_mbps))
        } else {
            mbps(self.constants.additive_increase_mbps)
        };
        self.target = self.target.saturating_add(increase).min(self.link);
        // Rounded up, to get there.
        self.rate = (self.target + self.rate).div_ceil(2);
    }

    fn floor(&self) -> u64 {
        mbps(self.constants.min_rate_mbps).min(self.link)
    }
}

fn mbps(rate: u32) -> u64 {
    u64::from(rate) * 1_000_000
}

/// A power by multiplication: those of the standard library differ from machine to machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= base;
        }
        base *= base;
        exponent /= 2;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK_GBPS: u32 = 100;

    const fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    /// A QP whose first CNP comes at 0.
    fn slowed(constants: Reaction) -> ReactionPoint {
        let mut point = ReactionPoint::new(constants, LINK_GBPS, Nanos::ZERO);
        point.on_cnp(Nanos::ZERO);
        point
    }

    /// The current rate in Mb/s is this, to the bit.
    #[track_caller]
    fn assert_rate(point: &ReactionPoint, mbps: f64) {
        let (rate, expected) = (point.rate as f64, mbps * 1e6);
        assert!((rate - expected).abs() <= 100.0, "{rate} bit/s, where {expected} is right");
    }

    /// The paper's constants: g = 1/256, both timers 55 µs, F = 5, R_AI = 40 Mb/s; a link of 100 000 Mb/s. Every rate is
    /// worked out by hand.
    #[test]
    fn cnps_timers_and_increases_by_hand() {
        let mut point = ReactionPoint::new(Reaction::default(), LINK_GBPS, us(1_000));
        // alpha = 1. R_T = 100 000, R_C = 100 000 (1 - 1/2); alpha = 255/256 x 1 + 1/256 = 1.
        point.on_cnp(us(1_000));
        assert_rate(&point, 50_000.0);
        // 50 µs later no timer has expired: alpha = 1 still. R_T = 50 000, R_C = 25 000; alpha = 1.
        point.on_cnp(us(1_050));
        assert_rate(&point, 25_000.0);
        // Both timers start with the CNP: after 54 µs nothing, after 55 µs (50 000 + 25 000) / 2.
        point.run_rate_timer(us(1_104));
        assert_rate(&point, 25_000.0);
        point.run_rate_timer(us(1_105));
        assert_rate(&point, 37_500.0);
        // At 110 µs both have expired twice: R_C = (50 000 + 37 500) / 2 = 43 750, alpha = (255/256)^2 = 65 025 / 65 536.
        // The CNP then: R_T = 43 750, R_C = 43 750 x (1 - 65 025 / 131 072) = 43 750 x 66 047 / 131 072 = 22 045.5646;
        // alpha = 255/256 x 65 025 / 65 536 + 1/256 = (16 581 375 + 65 536) / 16 777 216 = 0.992 233 217.
        point.on_cnp(us(1_160));
        assert_rate(&point, 22_045.564_7);
        assert!((point.alpha - 0.992_233_217).abs() < 1e-9, "{}", point.alpha);
        // Fast recovery, five times half way to 43 750: the distance 21 704.4354 is then a 32nd, 678.2636.
        point.run_rate_timer(us(1_160 + 5 * 55));
        assert_rate(&point, 43_071.736_4);
        // Additive increase: R_T = 43 790, R_C = (43 790 + 43 071.7364) / 2; R_T = 43 830, R_C = (43 830 + 43 430.8682) / 2.
        point.run_rate_timer(us(1_160 + 6 * 55));
        assert_rate(&point, 43_430.868_2);
        point.run_rate_timer(us(1_160 + 7 * 55));
        assert_rate(&point, 43_630.434_1);
    }

    /// With F = 1 and a byte counter of 10 000 bytes, timer and counter take turns: by hand, in Mb/s.
    #[test]
    fn hyper_increase_by_hand() {
        let mut point = slowed(Reaction { fast_recovery: 1, byte_counter: 10_000, ..Reaction::default() });
        // alpha = 1 twice: R_T = 50 000, R_C = 25 000.
        point.on_cnp(Nanos::ZERO);
        assert_rate(&point, 25_000.0);
        let rates = [
            // T = BC = 0: fast recovery, (50 000 + 25 000) / 2. Then T = 1: R_T + 40, (50 040 + 37 500) / 2.
            [37_500.0, 43_770.0],
            // T = BC = 1, not above F: R_T + 40, (50 080 + 43 770) / 2. The same again: (50 120 + 46 925) / 2.
            [46_925.0, 48_522.5],
            // T = BC = 2, above F by 1: R_T + 400, (50 520 + 48 522.5) / 2. Again: (50 920 + 49 521.25) / 2.
            [49_521.25, 50_220.625],
            // T = BC = 3, above F by 2: R_T + 800, (51 720 + 50 220.625) / 2. Again: (52 520 + 50 970.3125) / 2.
            [50_970.312_5, 51_745.156_25],
        ];
        for ([by_timer, by_counter], round) in rates.into_iter().zip(1..) {
            point.run_rate_timer(us(55 * round));
            assert_rate(&point, by_timer);
            point.on_data(us(55 * round), 9_999);
            assert_rate(&point, by_timer);
            point.on_data(us(55 * round), 1);
            assert_rate(&point, by_counter);
        }
    }

    #[test]
    fn rates_stay_between_the_lowest_and_the_links() {
        let mut point = slowed(Reaction { min_rate_mbps: 150, ..Reaction::default() });
        // 100 000 / 2^9 = 195.3, and half of it is below 150.
        (0..8).for_each(|_| point.on_cnp(Nanos::ZERO));
        assert_rate(&point, 195.312_5);
        point.on_cnp(Nanos::ZERO);
        assert_rate(&point, 150.0);
        // Additive increase alone takes 100 000 / 40 = 2 500 times 55 µs.
        point.run_rate_timer(us(2_400 * 55));
        assert!(point.is_slowed());
        point.run_rate_timer(us(2_600 * 55));
        assert!(!point.is_slowed());
        assert_rate(&point, 100_000.0);
    }

    #[test]
    fn alpha_falls_to_nothing_in_a_long_time_without_cnps() {
        let mut point = slowed(Reaction::default());
        point.on_cnp(us(10_000_000));
        assert_rate(&point, 100_000.0);
        // alpha = 0 + 1/256 now: R_C = 100 000 x (1 - 1/512).
        point.on_cnp(us(10_000_000));
        assert_rate(&point, 99_804.687_5);
    }

    /// 1 250 bytes are 10 000 bits: at 50 Gb/s 200 ns, at 25 Gb/s 400 ns; on the link they take 100 ns.
    #[test]
    fn a_packet_keeps_its_distance_at_the_rate_of_its_time() {
        let mut point = slowed(Reaction::default());
        assert_eq!(point.holds_until(Nanos(0)), None, "what was sent before the CNP holds nothing");
        point.on_data(Nanos(1_000), 1_250);
        point.on_cnp(Nanos(1_000));
        // 100 ns of the 200 may be made up for: the packet may have waited for another on the cable.
        assert_eq!(point.holds_until(Nanos(1_000)), Some(Nanos(1_100)));
        assert_eq!(point.holds_until(Nanos(1_100)), None);
        point.on_data(Nanos(1_100), 1_250);
        assert_eq!(point.holds_until(Nanos(1_100)), Some(Nanos(1_500)));
    }
}
