//! Traffic classes of connections, and how classes share a link (ETS). Both hosts of a test have the same:
//! which of them sends the data, the verbs decide.

use corpus::config::fields;
use corpus::{Ets, Role, TestConfig, TrafficClass};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::axis::Axis;
use crate::show::allowed;
use crate::space::Space;

/// Share of a class in the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// 0 to 7.
    pub(crate) class: u8,
    /// None of one that has strict priority.
    pub(crate) weight: Option<u8>,
}

/// The classes that the hosts serve, ascending; none of a test without ETS.
pub(crate) fn shares(test: &TestConfig) -> Vec<Share> {
    let Some(Ets { weights, strict }) = &test.requester.ets else { return Vec::new() };
    (0..=fields::TRAFFIC_CLASS.max as u8)
        .filter_map(|class| match weights.get(usize::from(class)) {
            Some(weight) if *weight > 0 => Some(Share { class, weight: Some(*weight) }),
            _ => strict.contains(&class).then_some(Share { class, weight: None }),
        })
        .collect()
}

/// Number of classes that the hosts serve.
pub(crate) fn count(test: &TestConfig) -> usize {
    shares(test).len()
}

/// Gives both hosts these classes, ascending, and leaves each connection in its own as far as it is served.
pub(crate) fn put(test: &mut TestConfig, shares: &[Share]) {
    let (mut ets, mut class_of) = (None, None);
    if let Some(last) = shares.last() {
        let mut weights = vec![0; usize::from(last.class) + 1];
        let mut strict = Vec::new();
        for Share { class, weight } in shares {
            match weight {
                Some(weight) => weights[usize::from(*class)] = *weight,
                None => strict.push(*class),
            }
        }
        let weighted = weights.iter().rposition(|weight| *weight > 0).map_or(0, |last| last + 1);
        weights.truncate(weighted);
        let before = test.requester.traffic_class.as_ref();
        let classes = (0..test.traffic.load.connections()).map(|at| {
            let own = before.and_then(|classes| classes.of(at + 1));
            let served = own.filter(|own| shares.iter().any(|share| share.class == *own));
            served.unwrap_or_else(|| shares[at as usize % shares.len()].class)
        });
        class_of = Some(TrafficClass::PerConnection(classes.collect()));
        ets = Some(Ets { weights, strict });
    }
    for role in Role::ALL {
        let host = test.host_mut(role);
        host.ets.clone_from(&ets);
        host.traffic_class.clone_from(&class_of);
    }
}

/// Reason why the classes of a valid test are outside of a space, if they are.
pub(crate) fn admit(space: &Space, test: &TestConfig) -> Result<(), String> {
    let (requester, responder) = (&test.requester, &test.responder);
    if requester.traffic_class.is_some() != requester.ets.is_some() {
        return Err("requester.traffic-class has no `ets`; give both hosts both, or none".into());
    }
    if requester.traffic_class != responder.traffic_class {
        return Err(
            "responder.traffic-class is not the requester's; in a target both hosts have the same".into()
        );
    }
    if requester.ets != responder.ets {
        return Err("responder.ets is not the requester's; in a target both hosts have the same".into());
    }
    let shares = shares(test);
    let strict = shares.iter().filter(|share| share.weight.is_none()).count();
    let outside = |what: String, axis: Axis| {
        let allowed = allowed(axis.entry().kind, &space[axis]);
        Err(format!("requester.ets: {what} is outside of the space; allowed: {allowed}"))
    };
    if !space[Axis::Classes].contains(shares.len() as u64) {
        return outside(format!("{} as the number of classes", shares.len()), Axis::Classes);
    }
    if !shares.is_empty() && !space[Axis::StrictClasses].contains(strict as u64) {
        return outside(format!("{strict} as the number of strict classes"), Axis::StrictClasses);
    }
    match shares
        .iter()
        .filter_map(|share| share.weight)
        .find(|one| !space[Axis::EtsWeights].contains((*one).into()))
    {
        Some(weight) => outside(format!("weight {weight}"), Axis::EtsWeights),
        None => Ok(()),
    }
}

/// Brings the classes of a test inside of a space, with one for each connection.
pub(crate) fn fit(space: &Space, test: &mut TestConfig) {
    let connections = test.traffic.load.connections() as usize;
    let is_whole = match &test.requester.traffic_class {
        Some(TrafficClass::PerConnection(list)) => list.len() == connections,
        Some(TrafficClass::Same(_)) | None => true,
    };
    if is_whole && admit(space, test).is_ok() {
        return;
    }
    let mut shares = shares(test);
    resize(space, &mut shares);
    put(test, &shares);
}

/// So many classes, so many of them strict, and with the weights nearest to those in a space.
fn resize(space: &Space, shares: &mut Vec<Share>) {
    let (classes, stricts) = (&space[Axis::Classes], &space[Axis::StrictClasses]);
    let mut count = classes.nearest(shares.len() as u64);
    if count > 0 && stricts.smallest() > count {
        // A target's strict classes are never more than its most classes: it would contradict itself.
        count = classes.at_least(stricts.smallest()).unwrap_or_default();
    }
    let weights = &space[Axis::EtsWeights];
    let weight = |near: u8| Some(weights.nearest(near.into()) as u8);
    let usual =
        shares.iter().find_map(|share| share.weight).unwrap_or(Axis::EtsWeights.entry().default as u8);
    shares.truncate(count as usize);
    let free: Vec<u8> = (0..=fields::TRAFFIC_CLASS.max as u8)
        .filter(|class| shares.iter().all(|share| share.class != *class))
        .collect();
    let missing = count as usize - shares.len();
    shares.extend(free.into_iter().take(missing).map(|class| Share { class, weight: weight(usual) }));
    shares.sort_unstable_by_key(|share| share.class);

    let strict = shares.iter().filter(|share| share.weight.is_none()).count();
    let wanted = stricts.at_most(stricts.nearest(strict as u64).min(count)).unwrap_or_default() as usize;
    // The highest classes are strict, as they go first.
    let too_many =
        shares.iter_mut().filter(|share| share.weight.is_none()).take(strict.saturating_sub(wanted));
    too_many.for_each(|share| share.weight = weight(usual));
    let too_few = shares.iter_mut().rev().filter(|share| share.weight.is_some());
    too_few.take(wanted.saturating_sub(strict)).for_each(|share| share.weight = None);
    for share in shares {
        share.weight = share.weight.and_then(weight);
    }
}

/// Random classes of a space for a test, which has its connections already.
pub(crate) fn draw(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let count = space[Axis::Classes].draw(rng);
    if count == 0 {
        return put(test, &[]);
    }
    let strict = space[Axis::StrictClasses].draw(rng).min(count);
    let weights = &space[Axis::EtsWeights];
    // Whether a class gets its share is clearest where all shares are equal.
    let equal = rng.random_ratio(1, 2).then(|| weights.draw(rng));
    let mut shares: Vec<Share> = (0..count as u8)
        .map(|class| {
            let weight = equal.unwrap_or_else(|| weights.draw(rng)) as u8;
            Share { class, weight: (u64::from(class) < count - strict).then_some(weight) }
        })
        .collect();
    resize(space, &mut shares);
    put(test, &shares);
    spread(test, rng);
}

/// Spreads the connections of a test over its classes: in turns, in blocks, or each as it comes.
pub(crate) fn spread(test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let shares = shares(test);
    if shares.is_empty() {
        return;
    }
    let (connections, count) = (test.traffic.load.connections() as usize, shares.len());
    let form = rng.random_range(0..3);
    let list: Vec<u8> = (0..connections)
        .map(|at| match form {
            0 => shares[at % count].class,
            1 => shares[at * count / connections].class,
            _ => shares[rng.random_range(0..count)].class,
        })
        .collect();
    for role in Role::ALL {
        test.host_mut(role).traffic_class = Some(TrafficClass::PerConnection(list.clone()));
    }
}
