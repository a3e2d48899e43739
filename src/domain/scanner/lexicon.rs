//! The words that times are made of, in English and Chinese, beside those that the typed values know.

use jiff::civil::Weekday;

use super::length::Unit;
use super::lexemes::{Clock, Lexeme, Part};
use crate::domain::grounding::values::Period;

/// What a word says about the times around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    /// every, 每
    Every,
    /// other, alternate, 隔
    Other,
    /// 每隔: one more than the length that follows.
    Skipping,
    /// daily, 每月, 隔周: so many units.
    Cycle(u32, Unit),
    /// 每晚
    Daily(Part),
    /// weekdays, 工作日
    WorkingDays,
    /// weekend, 周末
    Weekend,
    /// first, last (-1), 第一个
    Nth(i8),
    /// 月底, 最后一天
    LastDay,
    /// at, @, 在
    At,
    /// on
    On,
    /// by, before: a deadline; 之前 after it.
    By,
    /// until, 直到
    Until,
    /// since
    Since,
    /// in
    In,
    /// within
    Within,
    /// 之内 after a length.
    Inside,
    /// after
    After,
    /// around, 大约
    Around,
    /// from, 从
    From,
    /// to, 到
    To,
    /// of
    Of,
    /// the
    The,
    /// and, 和
    And,
    /// half, 半
    Half,
    /// a, an, one
    A,
    /// couple
    Couple,
    /// 个
    Measure,
    /// just, exactly
    Just,
    /// now
    Now,
    /// later, hence
    Later,
    /// 之后 after a length.
    Ahead,
    /// 过, 再过 before a length.
    Passing,
    /// ago
    Ago,
    /// next, coming
    Next,
    /// this
    This,
    /// starting, 起
    Start,
    /// end
    End,
    /// eod
    EndOfDay,
    /// for
    For,
    /// once
    Once,
    /// 的
    Link,
    /// except, excluding, 除了
    Except,
    /// 除外 after a day, 之外 after 除了 and a day.
    Excepted,
}

/// What an English word in lower case means here.
pub(super) fn english(word: &str) -> Option<Lexeme> {
    Some(match word {
        "every" | "each" | "evry" => Lexeme::Cue(Cue::Every),
        "other" | "alternate" => Lexeme::Cue(Cue::Other),
        "hourly" => Lexeme::Cue(Cue::Cycle(1, Unit::Hour)),
        "daily" | "everyday" => Lexeme::Cue(Cue::Cycle(1, Unit::Day)),
        "weekly" => Lexeme::Cue(Cue::Cycle(1, Unit::Week)),
        "biweekly" | "fortnightly" => Lexeme::Cue(Cue::Cycle(2, Unit::Week)),
        "monthly" => Lexeme::Cue(Cue::Cycle(1, Unit::Month)),
        "quarterly" => Lexeme::Cue(Cue::Cycle(1, Unit::Quarter)),
        "yearly" | "annually" => Lexeme::Cue(Cue::Cycle(1, Unit::Year)),
        "weekday" | "weekdays" | "workday" | "workdays" => Lexeme::Cue(Cue::WorkingDays),
        "weekend" | "weekends" => Lexeme::Cue(Cue::Weekend),
        "first" => Lexeme::Cue(Cue::Nth(1)),
        "second" => Lexeme::Cue(Cue::Nth(2)),
        "last" | "past" | "final" => Lexeme::Cue(Cue::Nth(-1)),
        "at" => Lexeme::Cue(Cue::At),
        "on" => Lexeme::Cue(Cue::On),
        "by" | "before" => Lexeme::Cue(Cue::By),
        "until" | "till" | "til" | "through" => Lexeme::Cue(Cue::Until),
        "since" => Lexeme::Cue(Cue::Since),
        "in" => Lexeme::Cue(Cue::In),
        "within" => Lexeme::Cue(Cue::Within),
        "after" => Lexeme::Cue(Cue::After),
        "around" | "about" | "approximately" | "roughly" => Lexeme::Cue(Cue::Around),
        "from" => Lexeme::Cue(Cue::From),
        "to" => Lexeme::Cue(Cue::To),
        "of" => Lexeme::Cue(Cue::Of),
        "the" => Lexeme::Cue(Cue::The),
        "and" => Lexeme::Cue(Cue::And),
        "half" => Lexeme::Cue(Cue::Half),
        "a" | "an" | "one" => Lexeme::Cue(Cue::A),
        "couple" => Lexeme::Cue(Cue::Couple),
        "just" | "exactly" => Lexeme::Cue(Cue::Just),
        "now" => Lexeme::Cue(Cue::Now),
        "later" | "hence" => Lexeme::Cue(Cue::Later),
        "ago" => Lexeme::Cue(Cue::Ago),
        "next" | "coming" => Lexeme::Cue(Cue::Next),
        "this" => Lexeme::Cue(Cue::This),
        "starting" | "beginning" => Lexeme::Cue(Cue::Start),
        "end" => Lexeme::Cue(Cue::End),
        "eod" => Lexeme::Cue(Cue::EndOfDay),
        "for" => Lexeme::Cue(Cue::For),
        "once" => Lexeme::Cue(Cue::Once),
        "except" | "excepting" | "excluding" | "unless" => Lexeme::Cue(Cue::Except),
        "minute" | "minutes" | "min" | "mins" => Lexeme::Unit(Unit::Minute),
        "hour" | "hours" => Lexeme::Unit(Unit::Hour),
        "day" | "days" => Lexeme::Unit(Unit::Day),
        "week" | "weeks" | "fortnight" => Lexeme::Unit(Unit::Week),
        "month" | "months" => Lexeme::Unit(Unit::Month),
        "quarter" => Lexeme::Unit(Unit::Quarter),
        "year" | "years" => Lexeme::Unit(Unit::Year),
        "morning" | "mornings" => Lexeme::Part(Part::Morning),
        "afternoon" | "afternoons" => Lexeme::Part(Part::Afternoon),
        "evening" | "evenings" => Lexeme::Part(Part::Evening),
        "night" | "nights" => Lexeme::Part(Part::Night),
        "noon" | "midday" => Lexeme::Clock(Clock::exact(12, 0)),
        "midnight" => Lexeme::Clock(Clock { is_late: true, ..Clock::exact(0, 0) }),
        "tmr" | "tmrw" | "tmw" | "tomo" | "tomorow" | "tommorow" | "tommorrow" => {
            Lexeme::Shift { period: Period::Day, by: 1, is_counted: false }
        }
        _ => return None,
    })
}

/// The weekday of a short name in lower case.
pub(super) fn short_weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "mon" => Weekday::Monday,
        "tue" | "tues" => Weekday::Tuesday,
        "wed" | "weds" => Weekday::Wednesday,
        "thu" | "thur" | "thurs" => Weekday::Thursday,
        "fri" => Weekday::Friday,
        "sat" => Weekday::Saturday,
        "sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// Words of Han, the longer before the shorter that they begin with.
static HAN: &[(&str, Lexeme)] = &[
    ("每个工作日", Lexeme::Cue(Cue::WorkingDays)),
    ("每个星期", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每个礼拜", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每个季度", Lexeme::Cue(Cue::Cycle(1, Unit::Quarter))),
    ("每个月", Lexeme::Cue(Cue::Cycle(1, Unit::Month))),
    ("每一天", Lexeme::Cue(Cue::Cycle(1, Unit::Day))),
    ("每一周", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每一年", Lexeme::Cue(Cue::Cycle(1, Unit::Year))),
    ("每工作日", Lexeme::Cue(Cue::WorkingDays)),
    ("每星期", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每礼拜", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每季度", Lexeme::Cue(Cue::Cycle(1, Unit::Quarter))),
    ("每小时", Lexeme::Cue(Cue::Cycle(1, Unit::Hour))),
    ("每分钟", Lexeme::Cue(Cue::Cycle(1, Unit::Minute))),
    ("每晚", Lexeme::Cue(Cue::Daily(Part::Night))),
    ("每早", Lexeme::Cue(Cue::Daily(Part::Morning))),
    ("每天", Lexeme::Cue(Cue::Cycle(1, Unit::Day))),
    ("每日", Lexeme::Cue(Cue::Cycle(1, Unit::Day))),
    ("天天", Lexeme::Cue(Cue::Cycle(1, Unit::Day))),
    ("每周", Lexeme::Cue(Cue::Cycle(1, Unit::Week))),
    ("每月", Lexeme::Cue(Cue::Cycle(1, Unit::Month))),
    ("每年", Lexeme::Cue(Cue::Cycle(1, Unit::Year))),
    ("隔天", Lexeme::Cue(Cue::Cycle(2, Unit::Day))),
    ("隔日", Lexeme::Cue(Cue::Cycle(2, Unit::Day))),
    ("隔周", Lexeme::Cue(Cue::Cycle(2, Unit::Week))),
    ("隔月", Lexeme::Cue(Cue::Cycle(2, Unit::Month))),
    ("每隔", Lexeme::Cue(Cue::Skipping)),
    ("每逢", Lexeme::Cue(Cue::Every)),
    ("每到", Lexeme::Cue(Cue::Every)),
    ("每个", Lexeme::Cue(Cue::Every)),
    ("每", Lexeme::Cue(Cue::Every)),
    ("逢", Lexeme::Cue(Cue::Every)),
    ("隔", Lexeme::Cue(Cue::Other)),
    ("工作日", Lexeme::Cue(Cue::WorkingDays)),
    ("周末", Lexeme::Cue(Cue::Weekend)),
    ("第一个", Lexeme::Cue(Cue::Nth(1))),
    ("第二个", Lexeme::Cue(Cue::Nth(2))),
    ("第三个", Lexeme::Cue(Cue::Nth(3))),
    ("第四个", Lexeme::Cue(Cue::Nth(4))),
    ("第五个", Lexeme::Cue(Cue::Nth(5))),
    ("首个", Lexeme::Cue(Cue::Nth(1))),
    ("最后一天", Lexeme::Cue(Cue::LastDay)),
    ("最后一个", Lexeme::Cue(Cue::Nth(-1))),
    ("月底", Lexeme::Cue(Cue::LastDay)),
    ("月末", Lexeme::Cue(Cue::LastDay)),
    ("凌晨", Lexeme::Part(Part::Dawn)),
    ("清晨", Lexeme::Part(Part::Morning)),
    ("早上", Lexeme::Part(Part::Morning)),
    ("早晨", Lexeme::Part(Part::Morning)),
    ("一早", Lexeme::Part(Part::Morning)),
    ("上午", Lexeme::Part(Part::Morning)),
    ("中午", Lexeme::Part(Part::Noon)),
    ("正午", Lexeme::Part(Part::Noon)),
    ("下午", Lexeme::Part(Part::Afternoon)),
    ("午后", Lexeme::Part(Part::Afternoon)),
    ("傍晚", Lexeme::Part(Part::Evening)),
    ("晚上", Lexeme::Part(Part::Night)),
    ("晚间", Lexeme::Part(Part::Night)),
    ("夜里", Lexeme::Part(Part::Night)),
    ("明儿", Lexeme::Shift { period: Period::Day, by: 1, is_counted: false }),
    ("后儿", Lexeme::Shift { period: Period::Day, by: 2, is_counted: false }),
    ("小时", Lexeme::Unit(Unit::Hour)),
    ("钟头", Lexeme::Unit(Unit::Hour)),
    ("分钟", Lexeme::Unit(Unit::Minute)),
    ("个月", Lexeme::Unit(Unit::Month)),
    ("之后", Lexeme::Cue(Cue::Ahead)),
    ("以后", Lexeme::Cue(Cue::Ahead)),
    ("过后", Lexeme::Cue(Cue::Ahead)),
    ("后", Lexeme::Cue(Cue::Ahead)),
    ("之内", Lexeme::Cue(Cue::Inside)),
    ("以内", Lexeme::Cue(Cue::Inside)),
    ("内", Lexeme::Cue(Cue::Inside)),
    ("之前", Lexeme::Cue(Cue::By)),
    ("以前", Lexeme::Cue(Cue::By)),
    ("前", Lexeme::Cue(Cue::By)),
    ("再过", Lexeme::Cue(Cue::Passing)),
    ("过", Lexeme::Cue(Cue::Passing)),
    ("大约", Lexeme::Cue(Cue::Around)),
    ("大概", Lexeme::Cue(Cue::Around)),
    ("左右", Lexeme::Cue(Cue::Around)),
    ("直到", Lexeme::Cue(Cue::Until)),
    ("一直到", Lexeme::Cue(Cue::Until)),
    ("截至", Lexeme::Cue(Cue::Until)),
    ("截止到", Lexeme::Cue(Cue::Until)),
    ("持续到", Lexeme::Cue(Cue::Until)),
    ("为止", Lexeme::Word),
    ("早晚", Lexeme::Word),
    ("早中晚", Lexeme::Word),
    ("除了", Lexeme::Cue(Cue::Except)),
    ("除去", Lexeme::Cue(Cue::Except)),
    ("除", Lexeme::Cue(Cue::Except)),
    ("不包括", Lexeme::Cue(Cue::Except)),
    ("不含", Lexeme::Cue(Cue::Except)),
    ("除外", Lexeme::Cue(Cue::Excepted)),
    ("不算", Lexeme::Cue(Cue::Excepted)),
    ("不用", Lexeme::Word),
    ("休息", Lexeme::Word),
    ("跳过", Lexeme::Word),
    ("持续", Lexeme::Cue(Cue::For)),
    ("连续", Lexeme::Cue(Cue::For)),
    ("为期", Lexeme::Cue(Cue::For)),
    ("未来", Lexeme::Cue(Cue::For)),
    ("接下来", Lexeme::Cue(Cue::For)),
    ("除夕", Lexeme::Word),
    ("去除", Lexeme::Word),
    ("清除", Lexeme::Word),
    ("删除", Lexeme::Word),
    ("扫除", Lexeme::Word),
    ("拆除", Lexeme::Word),
    ("解除", Lexeme::Word),
    ("消除", Lexeme::Word),
    ("废除", Lexeme::Word),
    ("铲除", Lexeme::Word),
    ("开除", Lexeme::Word),
    ("免除", Lexeme::Word),
    ("剔除", Lexeme::Word),
    ("除草", Lexeme::Word),
    ("除尘", Lexeme::Word),
    ("除湿", Lexeme::Word),
    ("除法", Lexeme::Word),
    ("除雪", Lexeme::Word),
    ("除虫", Lexeme::Word),
    ("除非", Lexeme::Cue(Cue::Except)),
    ("以外", Lexeme::Cue(Cue::Excepted)),
    ("之外", Lexeme::Cue(Cue::Excepted)),
    ("起床", Lexeme::Word),
    ("起飞", Lexeme::Word),
    ("起身", Lexeme::Word),
    ("起来", Lexeme::Word),
    ("起草", Lexeme::Word),
    ("起诉", Lexeme::Word),
    ("起航", Lexeme::Word),
    ("起跑", Lexeme::Word),
    ("起夜", Lexeme::Word),
    ("一起", Lexeme::Word),
    ("跟进", Lexeme::Word),
    ("从", Lexeme::Cue(Cue::From)),
    ("自", Lexeme::Cue(Cue::From)),
    ("开始", Lexeme::Cue(Cue::Start)),
    ("起", Lexeme::Cue(Cue::Start)),
    ("到", Lexeme::Cue(Cue::To)),
    ("至", Lexeme::Cue(Cue::To)),
    ("和", Lexeme::Cue(Cue::And)),
    ("与", Lexeme::Cue(Cue::And)),
    ("及", Lexeme::Cue(Cue::And)),
    ("跟", Lexeme::Cue(Cue::And)),
    ("、", Lexeme::Cue(Cue::And)),
    ("半", Lexeme::Cue(Cue::Half)),
    ("个", Lexeme::Cue(Cue::Measure)),
    ("的", Lexeme::Cue(Cue::Link)),
    ("在", Lexeme::Cue(Cue::At)),
    ("北京时间", Lexeme::Zone("Asia/Shanghai")),
    ("香港时间", Lexeme::Zone("Asia/Hong_Kong")),
    ("台北时间", Lexeme::Zone("Asia/Taipei")),
    ("东京时间", Lexeme::Zone("Asia/Tokyo")),
    ("日本时间", Lexeme::Zone("Asia/Tokyo")),
    ("首尔时间", Lexeme::Zone("Asia/Seoul")),
    ("新加坡时间", Lexeme::Zone("Asia/Singapore")),
    ("悉尼时间", Lexeme::Zone("Australia/Sydney")),
    ("莫斯科时间", Lexeme::Zone("Europe/Moscow")),
    ("柏林时间", Lexeme::Zone("Europe/Berlin")),
    ("巴黎时间", Lexeme::Zone("Europe/Paris")),
    ("伦敦时间", Lexeme::Zone("Europe/London")),
    ("纽约时间", Lexeme::Zone("America/New_York")),
    ("美东时间", Lexeme::Zone("America/New_York")),
    ("美西时间", Lexeme::Zone("America/Los_Angeles")),
    ("洛杉矶时间", Lexeme::Zone("America/Los_Angeles")),
    ("世界时间", Lexeme::Zone("UTC")),
    ("格林尼治时间", Lexeme::Zone("UTC")),
    ("天", Lexeme::Unit(Unit::Day)),
    ("周", Lexeme::Unit(Unit::Week)),
    ("年", Lexeme::Unit(Unit::Year)),
];

/// The word of Han that a text starts with, the longest, and its bytes.
pub(super) fn han(text: &str) -> Option<(&'static Lexeme, usize)> {
    HAN.iter()
        .filter(|(word, _)| text.starts_with(word))
        .max_by_key(|(word, _)| word.len())
        .map(|(word, lexeme)| (lexeme, word.len()))
}
