//! Run after run: new evidence, changes, restatements, and nothing new.

use super::*;

fn seven() -> World {
    let mut random = Seeded(20);
    let mut world = World::with(topic(&mut random, 0, 7, 0, 0.1));
    assert_eq!(world.run(EXTRACT).tasks[0].why, Why::New);
    world
}

#[test]
fn without_news_a_run_does_nothing() {
    let mut world = seven();
    let plan = world.run(EXTRACT);
    assert_eq!((plan.tasks.len(), plan.counts.n_settled, plan.noise.len()), (0, 1, 0));
}

#[test]
fn new_evidence_extends_the_summary_that_it_fits_even_if_it_comes_alone() {
    let mut world = seven();
    let before = world.summaries[0].id;
    let mut random = Seeded(21);
    world.items.extend(topic(&mut random, 50, 1, 0, 0.1));
    world.items.extend(topic(&mut random, 60, 1, 5, 0.1));
    let plan = world.run(EXTRACT);
    assert_eq!(plan.tasks.len(), 1);
    assert_eq!((plan.tasks[0].why, &plan.tasks[0].replaces), (Why::Extended, &vec![before]));
    assert_eq!(plan.tasks[0].new_sources, [id(50)]);
    assert_eq!((plan.counts.n_joined, plan.noise), (1, vec![id(60)]));
    assert_eq!(world.summaries.len(), 1);
    assert_eq!(world.run(EXTRACT).tasks, []);
}

#[test]
fn a_full_summary_takes_no_other_statement_but_any_restatement() {
    let mut random = Seeded(22);
    let policy = Policy { restated: 0.001, ..Policy::default() };
    let mut world = World::new(policy, topic(&mut random, 0, 10, 0, 0.15));
    world.run(EXTRACT);
    assert_eq!(world.summaries[0].sources.len(), 10);
    world.items.extend(topic(&mut random, 20, 1, 0, 0.15));
    let again = event(30, 40 * 3_600, &world.items[3].vector);
    world.items.push(again);
    let plan = world.run(EXTRACT);
    assert_eq!(plan.tasks[0].new_sources, [id(30)]);
    assert_eq!(plan.tasks[0].statements.len(), 10);
    assert!(plan.tasks[0].statements.contains(&vec![id(30), id(3)]), "{:?}", plan.tasks[0]);
    assert_eq!(plan.noise, [id(20)]);
}

#[test]
fn one_fact_reworded_thirty_times_over_ten_runs_has_one_live_summary() {
    let mut random = Seeded(23);
    let mut world = World::with(Vec::new());
    for run in 0..10 {
        world.items.extend(topic(&mut random, run * 3, 3, 0, 0.25));
        world.run(MODEL);
        assert!(world.summaries.len() <= 1, "run {run}: {:?}", world.sources());
        assert_eq!(world.run(MODEL).tasks, [], "run {run}");
    }
    assert_eq!(world.sources(), [(0..30).collect::<Vec<_>>()]);
}

#[test]
fn a_changed_source_is_summarised_anew_and_a_marked_one_is_not() {
    let mut world = seven();
    // Tags, importance and marks change the version of a memory and nothing here.
    assert_eq!(world.run(EXTRACT).tasks, []);
    let changed = Said::of("another text", at(0));
    world.items[2].said = changed;
    world.summaries[0].sources[2].said = changed;
    assert_eq!(world.run(EXTRACT).tasks[0].why, Why::Changed);
    assert_eq!(world.run(EXTRACT).tasks, []);
    // A source that is gone or superseded is not given any more.
    world.items.remove(0);
    world.summaries[0].sources.remove(0);
    let plan = world.run(EXTRACT);
    assert_eq!((plan.tasks[0].why, plan.tasks[0].sources().len()), (Why::Changed, 6));
}

#[test]
fn a_source_whose_kind_was_changed_leaves_its_summary() {
    let mut world = seven();
    world.items[2].kind = Kind::Fact;
    world.summaries[0].sources[2].kind = Kind::Fact;
    let plan = world.plan(EXTRACT);
    assert_eq!((plan.tasks[0].why, plan.tasks[0].sources().len()), (Why::Changed, 6));
}

#[test]
fn a_summary_without_sources_is_withdrawn() {
    let mut world = seven();
    world.summaries[0].sources.clear();
    world.items.clear();
    let gone = world.summaries[0].id;
    let plan = world.run(EXTRACT);
    assert_eq!((plan.withdrawn, plan.tasks.len()), (vec![gone], 0));
    assert_eq!(world.run(EXTRACT).withdrawn, []);
}

#[test]
fn a_model_redoes_what_another_maker_wrote_and_an_extract_redoes_nothing() {
    let mut world = seven();
    assert_eq!(world.run(MODEL).tasks[0].why, Why::Redone);
    assert_eq!(world.run(MODEL).tasks, []);
    assert_eq!(world.run(EXTRACT).tasks, []);
    let newer = Maker { name: "prompt 2, model a", is_model: true };
    assert_eq!(world.run(newer).tasks[0].why, Why::Redone);
}

#[test]
fn summaries_that_share_a_source_become_one() {
    let mut random = Seeded(24);
    let items = topic(&mut random, 0, 12, 0, 0.1);
    let mut world = World::with(items.clone());
    for (number, sources) in [(0, &items[..5]), (1, &items[4..9]), (2, &items[8..])] {
        world.summaries.push(Summary {
            id: id(900 + number),
            namespace: Namespace::user(),
            kind: Kind::Event,
            sources: sources.to_vec(),
            fingerprint: Some(fingerprint(sources)),
            made_by: Some(MODEL.name.to_owned()),
        });
    }
    let plan = world.run(MODEL);
    assert_eq!(plan.tasks.len(), 1);
    assert_eq!((plan.tasks[0].why, plan.tasks[0].replaces.len()), (Why::Merged, 3));
    assert_eq!(world.sources(), [(0..12).collect::<Vec<_>>()]);
    assert_eq!(world.run(MODEL).tasks, []);
}

#[test]
fn two_small_summaries_of_one_topic_become_one() {
    let mut random = Seeded(25);
    let items = topic(&mut random, 0, 8, 0, 0.1);
    let mut world = World::with(items.clone());
    for (number, sources) in [(0, &items[..4]), (1, &items[4..])] {
        world.summaries.push(Summary {
            id: id(900 + number),
            namespace: Namespace::user(),
            kind: Kind::Event,
            sources: sources.to_vec(),
            fingerprint: Some(fingerprint(sources)),
            made_by: None,
        });
    }
    assert_eq!(world.run(EXTRACT).tasks[0].why, Why::Merged);
    assert_eq!(world.summaries.len(), 1);
}
