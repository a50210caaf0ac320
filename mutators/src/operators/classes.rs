//! Operators on traffic classes and their shares of the link.

use corpus::{Role, TrafficClass};
use rand::RngExt;

use super::traffic::operators;
use super::{Applied, Bench, Operator};
use crate::axis::Axis;
use crate::classes::{self, Share};

operators! {
    "classes" 0.5 "More or fewer traffic classes, with the connections spread over them again." |on| {
        let before = on.test.requester.ets.clone();
        classes::draw(on.space, on.test, on.rng);
        (on.test.requester.ets != before).into()
    };
    "classes-spread" 0.5 "Connections spread over the traffic classes in another way." |on| {
        classes::spread(on.test, on.rng);
        on.test.requester.ets.is_some().into()
    };
    "class-of-one" 0.5 "Another traffic class for one connection." |on| on.class_of_one();
    "ets-weight" 0.5 "Another weight of a traffic class." |on| on.shares(|on, shares| {
        let at = on.rng.random_range(0..shares.len());
        if let Some(weight) = &mut shares[at].weight
            && let Some(other) = on.space[Axis::EtsWeights].other((*weight).into(), on.rng)
        {
            *weight = other as u8;
        }
    });
    "ets-equal" 0.25 "The same weight for all traffic classes that have one." |on| on.shares(|_, shares| {
        let first = shares.iter().find_map(|share| share.weight);
        shares.iter_mut().for_each(|share| share.weight = share.weight.and(first));
    });
    "ets-strict" 0.25 "A traffic class with strict priority, or no more." |on| on.shares(|on, shares| {
        let at = on.rng.random_range(0..shares.len());
        let weight = on.space[Axis::EtsWeights].draw(on.rng) as u8;
        let share = &mut shares[at];
        share.weight = if share.weight.is_some() { None } else { Some(weight) };
    });
}

impl Bench<'_> {
    /// Changes the shares of the traffic classes.
    fn shares(&mut self, change: impl FnOnce(&mut Self, &mut Vec<Share>)) -> Applied {
        let before = classes::shares(self.test);
        if before.is_empty() {
            return Applied::NotApplicable;
        }
        let mut shares = before.clone();
        change(self, &mut shares);
        let changed = shares != before;
        if changed {
            classes::put(self.test, &shares);
        }
        changed.into()
    }

    fn class_of_one(&mut self) -> Applied {
        let shares = classes::shares(self.test);
        if shares.len() < 2 {
            return Applied::NotApplicable;
        }
        let at = self.rng.random_range(0..self.test.traffic.load.connections()) as usize;
        let class = shares[self.rng.random_range(0..shares.len())].class;
        // Where all have one class, each is given its own.
        classes::put(self.test, &shares);
        for role in Role::ALL {
            if let Some(TrafficClass::PerConnection(list)) = &mut self.test.host_mut(role).traffic_class {
                list[at] = class;
            }
        }
        Applied::Changed
    }
}
