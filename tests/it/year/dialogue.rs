//! What is said in the course of a year: a generated set of everyday notes in English and Chinese, and
//! the real dialogues of a directory.

use std::fs;
use std::path::Path;

use recalld::domain::memory::Kind;
use serde::Deserialize;

use crate::random::Random;

/// Something that is said, to be remembered.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    pub kind: Kind,
    pub importance: Option<f64>,
    pub pinned: bool,
}

/// What is said again and again with other details: a kind, an opening, details and closings.
type Topic = (Kind, &'static str, [&'static str; 6], [&'static str; 4]);

const TOPICS: &[Topic] = &[
    (
        Kind::Event,
        "Watered the tomato plants in the greenhouse",
        [
            "before breakfast",
            "after the long heat",
            "with rain from the barrel",
            "and tied up the tall ones",
            "and found the first blossom",
            "and picked a basket of ripe ones",
        ],
        [
            "; the soil was dry again",
            "; the lower leaves turn yellow",
            "; the door had stood open",
            "; no greenfly in sight",
        ],
    ),
    (
        Kind::Event,
        "The nightly backup of the invoice database",
        [
            "filled the old disk",
            "finished late",
            "was verified by hand",
            "failed on a lock",
            "went to the new disk",
            "ran twice by mistake",
        ],
        [
            "; the operator was told",
            "; the log has the details",
            "; nothing was lost",
            "; the next one was watched",
        ],
    ),
    (
        Kind::Event,
        "Choir rehearsal in the parish hall",
        [
            "began with the slow psalm",
            "went on past nine",
            "was without the altos",
            "was about the spring concert",
            "had a new pianist",
            "was moved beside the library",
        ],
        [
            "; the tenors were flat",
            "; the heating was off",
            "; scores were handed out",
            "; everybody stayed for tea",
        ],
    ),
    (
        Kind::Event,
        "The ferry crossing to the island",
        [
            "was rough",
            "was late again",
            "was cancelled for fog",
            "took the long way round",
            "was full of cyclists",
            "was calm for once",
        ],
        [
            "; the harbour was crowded",
            "; coffee had run out on board",
            "; the bus did not wait",
            "; seals lay on the rocks",
        ],
    ),
    (
        Kind::Preference,
        "Mara likes her coffee",
        [
            "black and strong",
            "from the small roastery",
            "in the blue cup",
            "after the walk, not before",
            "ground by hand",
            "without any sugar",
        ],
        ["", ", most of all on Sundays", ", as everybody knows", ", and so does her brother"],
    ),
    (
        Kind::Preference,
        "For reviews of code Mara wants",
        [
            "small commits",
            "the reason in the message",
            "a test that failed first",
            "no formatting beside changes",
            "names from the field",
            "the riskiest file on top",
        ],
        ["", " above all", " in every repository", " before anybody is asked"],
    ),
    (
        Kind::Procedure,
        "To release the billing service,",
        [
            "freeze the branch",
            "run the migration on a copy",
            "tag the commit",
            "tell the support desk",
            "watch the error budget",
            "keep the old image",
        ],
        ["", " and note it in the runbook", " before noon", " with a second pair of eyes"],
    ),
    (
        Kind::Task,
        "Order parts for the greenhouse heater:",
        [
            "a thermostat",
            "two gaskets",
            "a longer flue",
            "new burner tips",
            "a pressure gauge",
            "sealing tape",
        ],
        ["", " from the shop at the canal", " before the frost", " and ask for the invoice"],
    ),
    (
        Kind::Fact,
        "The cellar of the house on the hill",
        [
            "has a stone floor",
            "floods in wet springs",
            "holds the old wine press",
            "is reached from the yard",
            "was dug by the first owner",
            "stays cool in August",
        ],
        ["", ", says the neighbour", ", as the survey shows", " and always did"],
    ),
    (
        Kind::Reflection,
        "Meetings before ten",
        [
            "rarely decide anything",
            "cost the whole morning",
            "work only with an agenda",
            "are better as a note",
            "make the quiet ones quieter",
            "should be walks",
        ],
        ["", ", it seems", ", once more", ", looking back on the quarter"],
    ),
    (
        Kind::Event,
        "李娜在温室里给番茄浇水",
        [
            "，早饭之前",
            "，天气很热",
            "，用的是雨水",
            "，还绑了枝条",
            "，看到了第一朵花",
            "，摘了一篮子",
        ],
        ["。", "，土又干了。", "，门忘了关。", "，没有虫子。"],
    ),
    (
        Kind::Preference,
        "李娜喝茶喜欢",
        ["浓一点", "用蓝色的杯子", "散步以后再喝", "龙井", "不加糖", "自己泡"],
        ["。", "，周末尤其如此。", "，大家都知道。", "，她弟弟也一样。"],
    ),
];

/// A few that nothing may touch: pinned, or of importance 1.0.
const FIXED: &[(Kind, &str, bool)] = &[
    (Kind::Instruction, "Always answer in complete sentences and name the source", true),
    (Kind::Fact, "The safe deposit key lies with the notary in the old town", true),
    (Kind::Preference, "Vegetarian food only, also on journeys", true),
    (Kind::Event, "Watered the tomato plants in the greenhouse for the very first time", true),
    (Kind::Fact, "Blood group zero negative, allergic to penicillin", false),
    (Kind::Event, "The ferry crossing to the island on the day of the wedding", false),
    (Kind::Procedure, "To release the billing service, call the on-call person first", false),
    (Kind::Preference, "李娜绝对不能吃花生", false),
];

/// About `n` notes of the topics in turns, the fixed ones early among them.
pub fn generated(n: usize, random: &mut Random) -> Vec<Said> {
    let mut said = Vec::with_capacity(n + FIXED.len());
    for at in 0..n {
        // A topic is talked about for a while, and comes back later.
        let topic =
            if random.below(3) == 0 { random.below(TOPICS.len() as u64) } else { at as u64 / 4 };
        let (kind, opening, details, closings) = &TOPICS[index(topic, TOPICS.len())];
        let detail = details[index(random.next() % 6, 6)];
        let closing = closings[index(random.next() % 4, 4)];
        let gap = if opening.is_ascii() { " " } else { "" };
        let text = format!("{opening}{gap}{detail}{closing}");
        said.push(Said { text, kind: *kind, importance: None, pinned: false });
    }
    for (n, (kind, text, pinned)) in FIXED.iter().enumerate() {
        let importance = if *pinned { None } else { Some(1.0) };
        let fixed = Said { text: (*text).to_owned(), kind: *kind, importance, pinned: *pinned };
        said.insert(said.len().min(3 * n), fixed);
    }
    said
}

fn index(n: u64, len: usize) -> usize {
    usize::try_from(n).unwrap_or(0) % len
}

#[derive(Deserialize)]
struct Line {
    text: String,
}

/// The first `n` turns of a set, some of them pinned or as important as can be.
pub fn real(file: &Path, n: usize) -> Vec<Said> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().take(n).map(|line| serde_json::from_str::<Line>(line).unwrap());
    lines
        .enumerate()
        .map(|(n, line)| Said {
            text: line.text,
            kind: Kind::Event,
            importance: (n % 50 == 20).then_some(1.0),
            pinned: n % 50 == 40,
        })
        .collect()
}
