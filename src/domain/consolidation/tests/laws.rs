//! What holds of every plan over any data.

use proptest::prelude::*;

use super::*;

fn world(seed: u64, n: u32) -> World {
    let mut random = Seeded(seed);
    let policy = Policy {
        restated: [0.0, 0.1, 0.35][usize::try_from(random.below(3)).unwrap()],
        ..Policy::default()
    };
    let items = (0..n)
        .map(|number| {
            let axis = usize::try_from(random.below(4)).unwrap();
            let noise = [0.2, 0.6, 1.0][usize::try_from(random.below(3)).unwrap()];
            let vector = random.near_axis(axis, 6, noise);
            let second = i64::try_from(random.below(400)).unwrap() * 3_600;
            let mut item = event(number, second, &vector);
            item.kind = if random.below(3) == 0 { Kind::Fact } else { Kind::Event };
            item.said.values = random.below(4) / 3;
            item
        })
        .collect();
    World::new(policy, items)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_plan_carried_out_leaves_nothing_to_do(seed in any::<u64>(), n in 0..70_u32) {
        let mut world = world(seed, n);
        let loose = world.loose().len();
        let first = world.run(MODEL);
        let n_summarised: usize = first.tasks.iter().map(|task| task.sources().len()).sum();
        prop_assert_eq!(n_summarised + first.noise.len(), loose);
        let second = world.run(MODEL);
        prop_assert_eq!(second.tasks, vec![]);
        prop_assert_eq!(second.withdrawn, vec![]);
        prop_assert_eq!(second.noise, first.noise);
    }

    #[test]
    fn whatever_comes_in_parts_every_memory_has_at_most_one_summary(
        seed in any::<u64>(),
        n in 20..70_u32,
        n_runs in 2..6_usize,
    ) {
        let whole = world(seed, n);
        let mut world = World::new(whole.policy, Vec::new());
        for part in whole.items.chunks(whole.items.len().div_ceil(n_runs)) {
            world.items.extend_from_slice(part);
            world.run(EXTRACT);
            let sources: Vec<MemoryId> =
                world.summaries.iter().flat_map(|s| &s.sources).map(|item| item.id).collect();
            prop_assert_eq!(sources.iter().collect::<BTreeSet<_>>().len(), sources.len());
            prop_assert_eq!(world.run(EXTRACT).tasks, vec![]);
        }
    }

    #[test]
    fn the_order_of_what_is_given_does_not_matter(seed in any::<u64>(), n in 0..60_u32) {
        let mut world = world(seed, n);
        let half = world.items.split_off(world.items.len() / 2);
        world.run(EXTRACT);
        world.items.extend(half);
        let expected = world.plan(MODEL);
        let mut random = Seeded(seed ^ 1);
        let items = &mut world.items;
        for at in (1..items.len()).rev() {
            items.swap(at, usize::try_from(random.below(at as u64 + 1)).unwrap());
        }
        world.summaries.reverse();
        for summary in &mut world.summaries {
            summary.sources.reverse();
        }
        prop_assert_eq!(world.plan(MODEL), expected);
    }
}
