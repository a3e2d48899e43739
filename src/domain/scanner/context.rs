//! What a sentence says about the times in it: that something happens then, that it is over, that it is
//! a question.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::grammar::Line;
use super::lexemes::Lexeme;

/// Words for what has a time, in lower case, without a plural s.
const OCCASIONS: &str = "deadline due meet meeting call appointment interview flight train standup \
    sync review dentist doctor submit submission deliver delivery pay payment renew renewal expire \
    expiry expiration launch lecture class exam birthday anniversary party dinner lunch breakfast visit \
    schedule scheduled book booked reservation conference webinar workshop seminar demo \
    presentation retro retrospective planning checkup surgery concert wedding funeral ceremony \
    rehearsal lesson pickup departure arrival depart deploy release maintenance remember forget \
    meetup hearing audition rent bill invoice payroll tax starts begins leaves";
/// Words for people coming together.
const MEETINGS: &str = "meet meeting call standup sync review interview appointment conference \
    webinar workshop seminar retro retrospective planning demo lecture class lesson meetup";
/// Verbs that tell what was.
const PAST: &str = "was were went had did been got met saw came took made said told ate drank \
    bought felt found gave heard knew left lost ran read sent sat slept spent spoke taught thought \
    won wrote began broke built caught chose drove fell flew forgot held hit kept led paid put \
    rode sang shot stood swam threw wore";
/// Words in -ed that tell nothing of the kind.
const NOT_PAST: &str = "need scheduled planned invited supposed excited interested booked expected \
    required limited proposed speed feed seed bed red indeed exceed proceed succeed hundred tired \
    reserved fixed";
/// Words that speak of what is to come.
const FUTURE: &str = "will going gonna need must should shall let plan plans planning want wanna \
    supposed scheduled booked due remind please upcoming tomorrow i'll we'll you'll he'll she'll \
    they'll it'll won't let's";
/// Words for a day that comes every year.
const BIRTHDAYS: &str = "birthday anniversary";
/// Words for what is held on one of them.
const PARTIES: &str = "party dinner lunch gift cake celebrate";

/// The same in Chinese.
const HAN_OCCASIONS: &str = "开会 会议 例会 周会 站会 晨会 评审 截止 到期 提交 上交 交报告 交作业 \
    面试 航班 飞机 火车 高铁 预约 看医生 牙医 体检 考试 生日 聚会 聚餐 还款 缴费 交房租 房租 上课 \
    培训 演出 讲座 参加 举行 举办 出发 发布 上线 见面 约了 电话 汇报 述职 复诊 复查 打卡 吃药 比赛 \
    婚礼 典礼 召开 开始 截稿 值班 续费 报名 答辩 讨论 分享会 研讨会 音乐会";
/// See [`MEETINGS`].
const HAN_MEETINGS: &str = "开会 会议 例会 周会 站会 晨会 评审 面试 见面 上课 培训 讨论 研讨会 \
    分享会";
/// See [`PAST`].
const HAN_PAST: &str = "了 过 已经 刚才 当时 曾 那天 上次 昨";
/// See [`FUTURE`].
const HAN_FUTURE: &str = "要 将 会 打算 准备 计划 需要 记得 请 别忘 提醒 预约 得去 截止 安排 再过 \
    定在 改到 约";
/// See [`BIRTHDAYS`].
const HAN_BIRTHDAYS: &str = "生日 纪念日";
/// See [`PARTIES`].
const HAN_PARTIES: &str = "派对 聚 生日会 庆祝 礼物 蛋糕";

/// What a word says: a bit for each list.
static SAID: LazyLock<HashMap<&str, u8>> = LazyLock::new(|| {
    let lists = [
        (OCCASIONS, OCCASION),
        (MEETINGS, MEETING),
        (PAST, BEHIND),
        (NOT_PAST, NO_VERB),
        (FUTURE, AHEAD),
        (BIRTHDAYS, BIRTHDAY),
        (PARTIES, PARTY),
    ];
    let mut said = HashMap::new();
    for (list, bit) in lists {
        for word in list.split_ascii_whitespace() {
            *said.entry(word).or_insert(0) |= bit;
        }
    }
    said
});
const OCCASION: u8 = 1;
const MEETING: u8 = 1 << 1;
const BEHIND: u8 = 1 << 2;
const NO_VERB: u8 = 1 << 3;
const AHEAD: u8 = 1 << 4;
const BIRTHDAY: u8 = 1 << 5;
const PARTY: u8 = 1 << 6;

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
        let mut said = 0;
        let mut is_question = false;
        for at in 0..line.kinds.len() {
            is_question |= line.kind(at) == Some(&Lexeme::Mark('?'));
            // "sat" is a weekday here, not a verb.
            if !matches!(line.kind(at), Some(Lexeme::Weekday { .. })) {
                said |= of_word(line.slice(at));
            }
        }
        if let (Some(first), Some(last)) = (line.ranges.first(), line.ranges.last()) {
            said |= of_han(line.reading.slice(&(first.start..last.end)));
        }
        let says = |bit: u8| said & bit != 0;
        Self {
            is_asked,
            is_occasion: says(OCCASION),
            is_meeting: says(MEETING),
            is_birthday: says(BIRTHDAY) && !says(PARTY),
            is_past: says(BEHIND) && !says(AHEAD),
            is_question,
        }
    }
}

/// Whether the words of a text say that people come together.
pub(super) fn names_meeting(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(of_word);
    words.chain([of_han(text)]).any(|bits| bits & MEETING != 0)
}

/// The bits of an English word, or of what it is the plural of.
fn of_word(word: &str) -> u8 {
    let lower = word.to_lowercase().replace('’', "'");
    let known = |word: &str| SAID.get(word).copied().unwrap_or(0);
    let single = lower.strip_suffix('s').map_or(0, known);
    let bits = known(&lower) | single;
    let is_verb = lower.len() > 4 && lower.ends_with("ed") && bits & NO_VERB == 0;
    if is_verb { bits | BEHIND } else { bits }
}

/// The bits of a sentence in Chinese, which has no blanks to find its words by.
fn of_han(text: &str) -> u8 {
    if text.is_ascii() {
        return 0;
    }
    let lists = [
        (HAN_OCCASIONS, OCCASION),
        (HAN_MEETINGS, MEETING),
        (HAN_PAST, BEHIND),
        (HAN_FUTURE, AHEAD),
        (HAN_BIRTHDAYS, BIRTHDAY),
        (HAN_PARTIES, PARTY),
    ];
    lists
        .into_iter()
        .filter(|(list, _)| list.split_ascii_whitespace().any(|word| text.contains(word)))
        .fold(0, |bits, (_, bit)| bits | bit)
}
