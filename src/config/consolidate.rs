//! `[consolidate]`: how memories are grouped into summaries.

use super::problem::Problem;
use super::reader::Reader;
use crate::domain::consolidation::Policy;

/// Grouping memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConsolidateConfig {
    /// What belongs together, on the scale of the bundled model.
    pub grouping: Policy,
    /// Memories of one namespace and kind up to which linfa looks for the clusters.
    pub exact_max: usize,
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> ConsolidateConfig {
    let grouping = Policy {
        eps: reader.number("consolidate.eps", &(0.01..=1.0)),
        min_points: reader.count("consolidate.min_points", &(2..=100)),
        size_min: reader.count("consolidate.size_min", &(2..=100)),
        size_max: reader.count("consolidate.size_max", &(3..=200)),
        diameter: reader.number("consolidate.diameter", &(0.01..=1.5)),
        ..Policy::default()
    };
    let (least, most) = (grouping.size_min, grouping.size_max);
    let parts = 2 * least.max(1) - 1;
    if most < parts
        && let Some(place) = reader.place("consolidate.size_max")
    {
        reader.problems.push(Problem::value(
            place,
            "consolidate.size_max",
            "at least 2 * consolidate.size_min - 1: what is too large must divide into two parts",
            format!("{most}, with consolidate.size_min = {least}"),
        ));
    }
    ConsolidateConfig { grouping, exact_max: reader.count("consolidate.exact_max", &(0..=20_000)) }
}
