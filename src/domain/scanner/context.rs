//! What a sentence says about the times in it: that something happens then, that it is over, that it is
//! a question.

use super::grammar::Line;
use super::lexemes::Lexeme;

/// Words for what has a time, in lower case, without a plural s.
const OCCASIONS: &str = "deadline due meet meeting call appointment interview flight train standup sync review \
    dentist doctor submit submission deliver delivery pay payment renew renewal expire expiry expiration launch lecture class \
    exam birthday party dinner lunch breakfast visit schedule scheduled book booked reservation \
    conference webinar workshop seminar demo presentation retro retrospective planning checkup \
    surgery concert wedding funeral ceremony rehearsal lesson pickup departure arrival depart deploy release \
    maintenance remember forget meetup hearing audition rent bill invoice payroll tax starts begins leaves";
/// Words for people coming together.
const MEETINGS: &str = "meet meeting call standup sync review interview appointment conference webinar workshop \
    seminar retro retrospective planning demo lecture class lesson meetup 1:1 one-on-one catch-up";
/// Verbs that tell what was.
const PAST: &str = "was were went had did been got met saw came took made said told ate drank bought felt found \
    gave heard knew left lost ran read sent sat slept spent spoke taught thought won wrote began broke built \
    caught chose drove fell flew forgot held hit kept led paid put rode sang shot stood swam threw wore";
/// Words in -ed that tell nothing of the kind.
const NOT_PAST: &str = "need scheduled planned invited supposed excited interested booked expected required \
    limited proposed speed feed seed bed red indeed exceed proceed succeed hundred tired reserved fixed";
/// Words that speak of what is to come.
const FUTURE: &str = "will going gonna need must should shall let plan plans planning want wanna supposed scheduled \
    booked due remind please upcoming tomorrow i'll we'll you'll he'll she'll they'll it'll won't let's";

const HAN_OCCASIONS: [&str; 63] = [
    "开会",
    "会议",
    "例会",
    "周会",
    "站会",
    "晨会",
    "评审",
    "截止",
    "到期",
    "提交",
    "上交",
    "交报告",
    "交作业",
    "面试",
    "航班",
    "飞机",
    "火车",
    "高铁",
    "预约",
    "看医生",
    "牙医",
    "体检",
    "考试",
    "生日",
    "聚会",
    "聚餐",
    "还款",
    "缴费",
    "交房租",
    "房租",
    "上课",
    "培训",
    "演出",
    "讲座",
    "参加",
    "举行",
    "举办",
    "出发",
    "发布",
    "上线",
    "见面",
    "约了",
    "电话",
    "汇报",
    "述职",
    "复诊",
    "复查",
    "打卡",
    "吃药",
    "比赛",
    "婚礼",
    "典礼",
    "召开",
    "开始",
    "截稿",
    "值班",
    "续费",
    "报名",
    "答辩",
    "讨论",
    "分享会",
    "研讨会",
    "音乐会",
];
const HAN_MEETINGS: [&str; 14] = [
    "开会",
    "会议",
    "例会",
    "周会",
    "站会",
    "晨会",
    "评审",
    "面试",
    "见面",
    "上课",
    "培训",
    "讨论",
    "研讨会",
    "分享会",
];
const HAN_FUTURE: [&str; 19] = [
    "要", "将", "会", "打算", "准备", "计划", "需要", "记得", "请", "别忘", "提醒", "预约", "得去",
    "截止", "安排", "再过", "定在", "改到", "约",
];
const HAN_PAST: [&str; 9] = ["了", "过", "已经", "刚才", "当时", "曾", "那天", "上次", "昨"];

/// What the words of a sentence say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is said or not, whatever the others")]
pub(super) struct Context {
    /// Whether it asks to be reminded.
    pub(super) is_asked: bool,
    /// Whether it names something that has a time.
    pub(super) is_occasion: bool,
    /// Whether people come together.
    pub(super) is_meeting: bool,
    /// Whether it tells a day that comes every year.
    pub(super) is_birthday: bool,
    /// Whether it tells what was, and nothing to come.
    pub(super) is_past: bool,
    /// Whether it ends in a question mark.
    pub(super) is_question: bool,
}

impl Context {
    /// Reads the words of a sentence.
    pub(super) fn of(line: &Line<'_>, is_asked: bool) -> Self {
        let mut context = Self { is_asked, ..Self::default() };
        let mut is_future = false;
        let (mut is_past, mut is_party) = (false, false);
        for at in 0..line.kinds.len() {
            let word = line.slice(at).to_lowercase();
            if line.kind(at) == Some(&Lexeme::Mark('?')) {
                context.is_question = true;
            }
            let is_weekday = matches!(line.kind(at), Some(Lexeme::Weekday { .. }));
            if is_weekday || !word.is_ascii() && !word.contains('’') {
                continue;
            }
            let word = word.replace('’', "'");
            let has = |list: &str| is_in(&word, list);
            context.is_occasion |= has(OCCASIONS);
            context.is_meeting |= has(MEETINGS);
            context.is_birthday |= has("birthday anniversary");
            is_party |= has("party dinner lunch gift cake celebrate");
            is_future |= has(FUTURE);
            let is_verb = word.len() > 4 && word.ends_with("ed") && !has(NOT_PAST);
            is_past |= has(PAST) || is_verb;
        }
        let text = match (line.ranges.first(), line.ranges.last()) {
            (Some(first), Some(last)) => line.reading.slice(&(first.start..last.end)),
            _ => "",
        };
        let has = |list: &[&str]| list.iter().any(|word| text.contains(word));
        context.is_occasion |= has(&HAN_OCCASIONS);
        context.is_meeting |= has(&HAN_MEETINGS);
        context.is_birthday |= has(&["生日", "纪念日"]);
        is_party |= has(&["派对", "聚", "生日会", "庆祝", "礼物", "蛋糕"]);
        context.is_birthday &= !is_party;
        is_future |= has(&HAN_FUTURE);
        is_past |= has(&HAN_PAST);
        context.is_past = is_past && !is_future;
        context
    }
}

/// Whether a word, or what it is the plural of, is in a list.
fn is_in(word: &str, list: &str) -> bool {
    let single = word.strip_suffix('s').unwrap_or(word);
    list.split_ascii_whitespace().any(|known| known == word || known == single)
}
