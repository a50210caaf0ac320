//! Counts of a function's blocks from those of its counted arcs: what flows into a block flows out of it.

use super::notes::{Arc, Function};

/// The blocks that begin and end a function.
pub(super) const ENTRY: usize = 0;
const EXIT: usize = 1;

/// The order in which counts follow from each other.
#[derive(Debug)]
pub(super) struct Flow {
    arcs: Vec<Arc>,
    pub(super) blocks: usize,
    steps: Vec<Step>,
}

/// A count that follows.
#[derive(Debug)]
enum Step {
    /// A block runs as often as all its arcs of one direction.
    Block { block: usize, arcs: Vec<usize> },
    /// An arc is taken as often as its block runs, but for the other arcs of that direction.
    Arc { arc: usize, block: usize, others: Vec<usize> },
}

impl Flow {
    /// The flow of a function.
    ///
    /// # Errors
    /// The counted arcs do not determine it, in words.
    pub(super) fn of(function: &Function) -> Result<Self, String> {
        let arcs = function.arcs.clone();
        let ends = |end: fn(&Arc) -> usize| -> Vec<Vec<usize>> {
            let mut of_block = vec![Vec::new(); function.blocks];
            (0..).zip(&arcs).for_each(|(number, arc)| of_block[end(arc)].push(number));
            of_block
        };
        let (into, out) = (ends(|arc| arc.to), ends(|arc| arc.from));
        let mut is_arc_known: Vec<bool> = arcs.iter().map(|arc| arc.is_counted).collect();
        let mut is_block_known = vec![false; function.blocks];
        let mut steps = Vec::new();
        loop {
            let before = steps.len();
            for block in 0..function.blocks {
                let sides = [(&out[block], EXIT), (&into[block], ENTRY)];
                for (side, not_of) in sides {
                    let mut unknown = side.iter().copied().filter(|arc| !is_arc_known[*arc]);
                    let (first, second) = (unknown.next(), unknown.next());
                    if first.is_none() && block != not_of && !is_block_known[block] {
                        is_block_known[block] = true;
                        steps.push(Step::Block { block, arcs: side.clone() });
                    }
                    if let (Some(arc), None, true) = (first, second, is_block_known[block]) {
                        is_arc_known[arc] = true;
                        let others = side.iter().copied().filter(|other| *other != arc).collect();
                        steps.push(Step::Arc { arc, block, others });
                    }
                }
            }
            if steps.len() == before {
                break;
            }
        }
        if is_block_known.contains(&false) {
            return Err(format!("its arcs of {} do not say how often each block runs", function.name));
        }
        Ok(Self { arcs, blocks: function.blocks, steps })
    }

    /// How often each block ran, by the counters in their order. A function that has not ended yet, because its task
    /// sleeps, may count less than nothing.
    pub(super) fn blocks(&self, counters: impl IntoIterator<Item = u64>) -> Vec<i64> {
        let mut counters = counters.into_iter();
        let mut of_arc: Vec<i64> = self
            .arcs
            .iter()
            .map(|arc| if arc.is_counted { counters.next().unwrap_or(0).cast_signed() } else { 0 })
            .collect();
        let mut of_block = vec![0_i64; self.blocks];
        for step in &self.steps {
            match step {
                Step::Block { block, arcs } => of_block[*block] = sum(&of_arc, arcs),
                Step::Arc { arc, block, others } => {
                    of_arc[*arc] = of_block[*block].wrapping_sub(sum(&of_arc, others));
                }
            }
        }
        of_block
    }
}

/// Sum of the counts of some arcs; they are those of a process that may be damaged.
fn sum(counts: &[i64], arcs: &[usize]) -> i64 {
    arcs.iter().fold(0, |sum, arc| sum.wrapping_add(counts[*arc]))
}
