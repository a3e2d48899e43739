//! Which memories come together: topics, sizes, kinds.

use super::*;

#[test]
fn three_topics_bridged_by_mixed_notes_are_three_summaries() {
    let mut random = Seeded(3);
    let mut items: Vec<Item> = Vec::new();
    for axis in 0..3_u32 {
        items.extend(topic(&mut random, axis * 10, 6, axis as usize, 0.1));
    }
    // Notes on all three lie at a cosine of 0.58 from each, and make one cluster of all.
    let mut bridge = vec![0.0; 16];
    bridge[..3].fill(1.0);
    items.extend((100..105).map(|number| event(number, 0, &bridge)));
    let labels = labels(&items, &Policy::default());
    assert!(labels.iter().all(|label| *label == Some(0)), "they are not chained: {labels:?}");

    let mut world = World::with(items);
    let plan = world.run(MODEL);
    for axis in 0..3 {
        let topic: BTreeSet<u32> = (axis * 10..axis * 10 + 6).collect();
        let holds: Vec<BTreeSet<u32>> = world
            .sources()
            .iter()
            .map(|sources| sources.iter().copied().filter(|number| *number < 100).collect())
            .filter(|sources: &BTreeSet<u32>| !sources.is_disjoint(&topic))
            .collect();
        assert_eq!(holds, [topic], "{:?}", world.sources());
    }
    assert_eq!(plan.counts.n_clusters, 1);
}

#[test]
fn a_single_mixed_note_bridges_nothing() {
    let mut random = Seeded(4);
    let mut items: Vec<Item> =
        (0..3_u32).flat_map(|axis| topic(&mut random, axis * 10, 5, axis as usize, 0.05)).collect();
    let mut bridge = vec![0.0; 16];
    bridge[..3].fill(1.0);
    items.push(event(100, 0, &bridge));
    let mut world = World::with(items);
    world.run(MODEL);
    assert_eq!(world.sources().len(), 3);
    assert!(world.sources().iter().all(|sources| sources.len() <= 6));
}

#[test]
fn fewer_than_the_least_size_wait_for_more() {
    let mut random = Seeded(5);
    let mut world = World::with(topic(&mut random, 0, 4, 0, 0.05));
    let plan = world.run(MODEL);
    assert_eq!((plan.tasks.len(), plan.noise.len()), (0, 4));
    world.items.extend(topic(&mut random, 10, 1, 0, 0.05));
    let plan = world.run(MODEL);
    assert_eq!((plan.tasks[0].why, plan.noise.len()), (Why::New, 0));
    assert_eq!(world.sources(), [[0, 1, 2, 3, 10]]);
}

#[test]
fn kinds_and_namespaces_stay_apart_whatever_the_labels() {
    let mut random = Seeded(6);
    let mut items = topic(&mut random, 0, 20, 0, 0.05);
    for (at, item) in items.iter_mut().enumerate() {
        item.kind = [Kind::Event, Kind::Preference][at % 2];
        if at >= 10 {
            item.namespace = "agent/a".parse().unwrap();
        }
    }
    // Labelled all together, as a careless caller might.
    let all_in_one = plan(&items, &[Some(0); 20], &[], &Policy::default(), MODEL);
    World::with(items).check(&all_in_one);
    let parts: Vec<(&str, Kind, usize)> = all_in_one
        .tasks
        .iter()
        .map(|task| (task.namespace.as_str(), task.kind, task.sources().len()))
        .collect();
    let expected = [
        ("agent/a", Kind::Preference, 5),
        ("agent/a", Kind::Event, 5),
        ("user", Kind::Preference, 5),
        ("user", Kind::Event, 5),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn summaries_profiles_and_standing_orders_are_not_summarised() {
    let mut random = Seeded(7);
    for kind in [Kind::Summary, Kind::Profile, Kind::Instruction] {
        let mut items = topic(&mut random, 0, 6, 0, 0.05);
        for item in &mut items {
            item.kind = kind;
        }
        assert_eq!(World::with(items).run(MODEL).tasks, []);
    }
}

#[test]
fn what_is_too_large_is_divided_where_there_was_a_pause() {
    let mut random = Seeded(8);
    let mut items = topic(&mut random, 0, 14, 0, 0.2);
    let spread = Policy { restated: 0.0, ..Policy::default() };
    for item in &mut items[6..] {
        item.event_time = at(90 * DAY + i64::try_from(item.id.as_u128()).unwrap());
    }
    let mut world = World::new(spread, items);
    world.run(MODEL);
    assert_eq!(world.sources(), [(0..6).collect::<Vec<_>>(), (6..14).collect()]);
}

#[test]
fn without_a_pause_it_is_divided_by_sub_topic() {
    let mut random = Seeded(9);
    // Two sub-topics in turns, at a cosine of about 0.5 from each other.
    let items: Vec<Item> = (0..12)
        .map(|number| {
            let mut vector = random.near_axis(0, 16, 0.1).to_vec();
            vector[1 + number as usize % 2] += 0.8;
            event(number, i64::from(number) * 3_600, &vector)
        })
        .collect();
    let policy = Policy { restated: 0.0, ..Policy::default() };
    let mut world = World::new(policy, items);
    world.run(MODEL);
    let (even, odd) = ((0..12).step_by(2).collect(), (1..12).step_by(2).collect());
    assert_eq!(world.sources(), [even, odd] as [Vec<u32>; 2]);
}

#[test]
fn a_topic_larger_than_a_hierarchy_is_taken_in_windows() {
    let n = u32::try_from(crate::domain::limits::LINKAGE_POINTS_MAX).unwrap() + 40;
    let mut random = Seeded(10);
    let mut items = topic(&mut random, 0, n, 0, 0.05);
    for item in &mut items {
        item.event_time = at(i64::try_from(item.id.as_u128()).unwrap());
    }
    let n_items = items.len();
    let plan = plan(&items, &vec![Some(0); n_items], &[], &Policy::default(), MODEL);
    // All say the same, so it takes as few summaries as their sources allow.
    assert!((2..=4).contains(&plan.tasks.len()), "{}", plan.tasks.len());
    assert_eq!(plan.tasks.iter().map(|task| task.sources().len()).sum::<usize>(), n_items);
    assert_eq!(plan.noise, []);
}

#[test]
fn numbers_dates_and_denials_make_other_statements_of_near_vectors() {
    let day = at(0);
    let values = |text: &str| Said::of(text, day).values;
    assert_eq!(values("Mara is allergic to peanuts."), values("Peanuts make Mara ill."));
    for other in [
        "Mara is not allergic to peanuts.",
        "Mara is allergic to 2 nuts.",
        "Mara was allergic to peanuts on 2025-01-02.",
    ] {
        assert_ne!(values("Mara is allergic to peanuts."), values(other), "{other}");
    }
    assert_ne!(values("她对花生过敏。"), values("她对花生不过敏。"));
    assert_ne!(Said::of("a", day).digest, Said::of("b", day).digest);
    assert_ne!(Said::of("a", day).digest, Said::of("a", at(1)).digest);
}

#[test]
fn distances_of_another_model_are_put_on_its_scale() {
    let policy = Policy::default();
    assert_eq!(policy.for_model(Spread::REFERENCE).min_points, policy.min_points);
    let narrow = policy.for_model(Spread { unrelated: 0.75, related: 0.9 });
    assert!(narrow.restated < narrow.eps && narrow.eps < narrow.diameter, "{narrow:?}");
    assert!(narrow.diameter < 0.25, "{narrow:?}");
    let same = policy.for_model(Spread::REFERENCE);
    assert!((same.eps - policy.eps).abs() < 1e-9 && (same.diameter - policy.diameter).abs() < 1e-9);
}
