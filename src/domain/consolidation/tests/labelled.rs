//! Texts with known topics, through the bundled model and through their words.

use super::*;
use crate::domain::measure::purity;
use crate::embed::bundled;

/// One fact in thirty wordings.
const ALLERGY: [&str; 30] = [
    "Mara is allergic to peanuts.",
    "Mara has a peanut allergy.",
    "Peanuts make Mara ill.",
    "Mara must not eat peanuts because of her allergy.",
    "Remember that Mara is allergic to peanuts.",
    "Mara cannot have peanuts.",
    "Mara told me she is allergic to peanuts.",
    "Mara's peanut allergy is serious.",
    "There is a peanut allergy: Mara has it.",
    "Do not give Mara peanuts, she is allergic.",
    "Mara reacts badly to peanuts.",
    "Mara suffers from an allergy to peanuts.",
    "Mara has always been allergic to peanuts.",
    "Mara avoids peanuts because she is allergic to them.",
    "Note: Mara, allergic to peanuts.",
    "Peanuts are dangerous for Mara.",
    "Mara gets sick when she eats peanuts.",
    "The allergy that Mara has is to peanuts.",
    "Mara mentioned again that she has a peanut allergy.",
    "As Mara said, peanuts are something she is allergic to.",
    "Mara is severely allergic to peanuts.",
    "Food for Mara has to be free of peanuts.",
    "Mara can't eat peanuts.",
    "Mara's allergy is to peanuts.",
    "Even a few peanuts make Mara sick.",
    "Mara is a peanut allergy sufferer.",
    "Mara needs meals without peanuts since she is allergic.",
    "Watch out for peanuts when cooking for Mara, she is allergic.",
    "Mara says that she is allergic to peanuts.",
    "Allergic to peanuts: Mara.",
];

/// Another in Chinese.
const CAT: [&str; 30] = [
    "小李的猫叫豆包。",
    "小李养了一只猫，名叫豆包。",
    "豆包是小李的猫。",
    "小李家的猫名字是豆包。",
    "记住，小李的猫叫豆包。",
    "小李说他的猫叫豆包。",
    "小李有一只叫豆包的猫。",
    "小李给猫取名叫豆包。",
    "小李的宠物猫叫豆包。",
    "那只叫豆包的猫是小李的。",
    "小李的猫的名字叫豆包。",
    "豆包，就是小李养的那只猫。",
    "小李家里有只猫叫豆包。",
    "小李又提到他的猫叫豆包。",
    "小李的猫名叫豆包。",
    "小李养的猫叫豆包。",
    "小李那只猫叫豆包。",
    "叫豆包的猫是小李养的。",
    "小李家的猫叫豆包。",
    "小李的小猫叫豆包。",
    "小李告诉我他的猫叫豆包。",
    "猫的名字叫豆包，是小李的猫。",
    "小李的猫咪叫豆包。",
    "小李把他的猫叫豆包。",
    "小李管他的猫叫豆包。",
    "豆包是小李家的猫的名字。",
    "小李的爱猫叫豆包。",
    "小李说过，他的猫叫豆包。",
    "提醒：小李的猫叫豆包。",
    "小李养猫，猫叫豆包。",
];

/// Three topics, and notes that mix them.
const TOPICS: [&[&str]; 4] = [
    &[
        "The tomato seedlings in the greenhouse need more water.",
        "I planted tomatoes in the greenhouse this morning.",
        "The tomato plants in the garden have their first flowers.",
        "Aphids are eating the leaves of my tomato plants.",
        "We harvested ripe tomatoes from the greenhouse.",
        "The garden tomatoes need new stakes before the storm.",
        "I watered the tomato plants in the greenhouse again.",
    ],
    &[
        "The nightly backup of the database failed.",
        "The database backup failed again because the disk was full.",
        "We restored the database from last night's backup.",
        "The backup job of the database takes four hours now.",
        "I moved the database backup to another disk.",
        "The database backup was verified and is sound.",
        "Somebody stopped the database backup by mistake.",
    ],
    &[
        "Training for the marathon: a long run along the river.",
        "My knee hurt after the long marathon training run.",
        "I ran along the river to train for the marathon.",
        "The marathon training plan says to run four times a week.",
        "New running shoes for the marathon arrived.",
        "I finished the half marathon in good time.",
        "A rest day from marathon training, only a short run.",
    ],
    &["Watered the tomatoes, checked the database backup and went for a marathon training run."],
];

fn by_meaning(texts: &[&str]) -> Vec<Vector> {
    let vectors = bundled::load().unwrap().embed(texts).unwrap();
    vectors.iter().map(|vector| unit(vector)).collect()
}

fn by_words(texts: &[&str]) -> Vec<Vector> {
    texts.iter().map(|text| word_vector(text).unwrap()).collect()
}

fn items(texts: &[&str], vectors: &[Vector], kind: Kind) -> Vec<Item> {
    (0_u32..)
        .zip(texts.iter().zip(vectors))
        .map(|(number, (text, vector))| {
            let item = event(number, i64::from(number) * DAY, vector);
            Item { kind, said: Said::of(text, item.event_time), ..item }
        })
        .collect()
}

#[track_caller]
fn check_restated(items: &[Item], policy: Policy) {
    let mut world = World::new(policy, Vec::new());
    for (run, part) in items.chunks(3).enumerate() {
        world.items.extend_from_slice(part);
        world.run(MODEL);
        assert!(world.summaries.len() <= 1, "run {run}: {:?}", world.sources());
    }
    let n_sources = world.sources().iter().map(Vec::len).sum::<usize>();
    assert!(n_sources >= 24, "only {n_sources} of 30 are summarised");
    let mut at_once = World::new(policy, items.to_vec());
    at_once.run(MODEL);
    assert_eq!(at_once.summaries.len(), 1, "{:?}", at_once.sources());
}

#[test]
fn a_fact_reworded_thirty_times_has_one_summary() {
    check_restated(&items(&ALLERGY, &by_meaning(&ALLERGY), Kind::Fact), Policy::default());
}

#[test]
fn a_fact_reworded_thirty_times_in_chinese_has_one_summary() {
    let policy = Policy::default().for_model(WORD_SPREAD);
    check_restated(&items(&CAT, &by_words(&CAT), Kind::Fact), policy);
}

#[test]
fn topics_come_apart_though_a_note_mixes_them() {
    let texts: Vec<&str> = TOPICS.concat();
    for (vectors, policy) in [
        (by_meaning(&texts), Policy::default()),
        (by_words(&texts), Policy::default().for_model(WORD_SPREAD)),
    ] {
        let mut world = World::new(policy, items(&texts, &vectors, Kind::Event));
        world.run(MODEL);
        let topic = |number: u32| (number / 7).min(3);
        let found: Vec<(usize, u32)> = world
            .sources()
            .iter()
            .enumerate()
            .flat_map(|(at, sources)| sources.iter().map(move |number| (at, topic(*number))))
            .filter(|(_, topic)| *topic < 3)
            .collect();
        assert!((purity(&found) - 1.0).abs() < 1e-9, "{:?}", world.sources());
        assert!(world.sources().len() <= 3 && found.len() >= 12, "{:?}", world.sources());
    }
}
