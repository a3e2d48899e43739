//! Names of people in Han: a frequent surname with one or two characters, where what stands around it
//! bears that out. Conservative: a name that is missed costs less than a word taken for one.

use super::Value;
use super::scan::Scan;
use crate::domain::text::is_unspaced;

/// Frequent surnames that begin few ordinary words.
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎\
    余潘杜戴夏钟汪田姜范姚谭廖邹熊陆郝孔崔邱秦江顾侯邵孟段钱汤尹黎贺赖龚樊殷施";
/// Words that begin with a surname and name nobody.
const WORDS: &str = "周末 周一 周二 周三 周四 周五 周六 周日 周天 周年 周期 周围 周边 周到 黄色 黄金 黄昏 黄油 黄瓜 马上 马路 马桶 马拉 \
    何时 何地 何必 何况 许多 许可 许久 程序 程度 夏天 夏季 夏日 江边 江苏 江西 江南 段落 段时 钱包 钱财 钟头 钟点 顾客 顾问 顾虑 \
    余额 余下 范围 范例 田间 田野 叶子 施工 施行 曾经 宋代 唐代 林业 杜绝 贺卡 陆续 陆地 秦代 孔子 孟子 汤圆 熊猫 丁香 罗马 罗列 \
    郑州 徐州 梁山 吴江 苏州 苏打 胡思 胡同 胡萝 胡说 胡子 朱红 张开 张贴 李子 沈阳 蒋介 何人 何事 程式 马虎 马来 黄山 黄河 陈述 陈列 陈旧 \
    谢谢 谢意 韩国 韩语 杨树 戴上 戴着 孙子 孙女 王国 王子 侯选 邵阳 范本 殷勤 钱都 钱是 钱给 许愿 马克 江湖 夏令 曾在 曾有 曾是 曾说 曾被 曾任 曾去 段代 段话 段视 钟的";
/// What stands before a name.
const BEFORE: &str = "和与跟给让叫找由向对请是被把及为同问见约帮替的了、在到说因随派陪";
/// What stands behind one.
const BEHIND: &str = "说在是和与跟的去会要把给从已将负先女老经同医告认决提也都来想做写用喜住买打发到让叫被对向今昨明下上没不有建参主\
    完开收接问请回教表正刚还就带约帮生病今总工任清修检删更部安迁调测跑看听读学吃喝玩走拿换改解处研设计组签批审确支反联邀通\
    汇报介推";
/// Titles that follow a surname.
const TITLES: &[&str] = &[
    "总", "工", "哥", "姐", "经理", "老师", "医生", "先生", "女士", "主任", "教授", "律师", "师傅",
    "同学", "阿姨", "叔叔", "小姐", "主管", "博士",
];

/// Reads the names.
pub(super) fn scan(scan: &mut Scan<'_>) {
    let chars: Vec<(usize, char)> = scan.text.char_indices().collect();
    let mut at = 0;
    while at < chars.len() {
        match name_at(&chars, at) {
            Some(n_chars) => {
                let start = chars.get(at).map_or(0, |(byte, _)| *byte);
                let end = chars.get(at + n_chars).map_or(scan.text.len(), |(byte, _)| *byte);
                if scan.is_free(&(start..end)) {
                    let name = scan.slice(start..end).to_owned();
                    scan.take(&(start..end), [Value::Name(name)]);
                }
                at += n_chars;
            }
            None => at += 1,
        }
    }
}

/// How many characters the name at a place has.
fn name_at(chars: &[(usize, char)], at: usize) -> Option<usize> {
    let char_at = |at: usize| chars.get(at).map(|(_, c)| *c);
    let is_han = |at: usize| char_at(at).is_some_and(is_unspaced);
    let first = char_at(at)?;
    let text: String = chars.iter().skip(at).take(4).map(|(_, c)| *c).collect();
    // 小王, 老张, 阿明 is left out.
    if matches!(first, '小' | '老') && char_at(at + 1).is_some_and(|c| SURNAMES.contains(c)) {
        let is_end = !is_han(at + 2) || char_at(at + 2).is_some_and(|c| BEHIND.contains(c));
        return (is_end && is_placed(chars, at)).then_some(2);
    }
    if !SURNAMES.contains(first) || !is_placed(chars, at) {
        return None;
    }
    if WORDS.split_whitespace().any(|word| text.starts_with(word)) {
        return None;
    }
    let rest: String = text.chars().skip(1).collect();
    if let Some(title) = TITLES.iter().find(|title| rest.starts_with(**title)) {
        let n_chars = 1 + title.chars().count();
        let is_end =
            !is_han(at + n_chars) || char_at(at + n_chars).is_some_and(|c| BEHIND.contains(c));
        return is_end.then_some(n_chars);
    }
    let is_given =
        |at: usize| is_han(at) && char_at(at).is_some_and(|c| !"的了是在和与不有".contains(c));
    let ends = |at: usize| !is_han(at) || char_at(at).is_some_and(|c| BEHIND.contains(c));
    if is_given(at + 1) && is_given(at + 2) && ends(at + 3) && !is_behind_word(chars, at + 2) {
        return Some(3);
    }
    let is_short =
        is_given(at + 1) && ends(at + 2) && char_at(at + 1).is_some_and(|c| !BEHIND.contains(c));
    is_short.then_some(2)
}

/// Whether a character and the next are a verb rather than the end of a name (说道, 负责, 喜欢).
fn is_behind_word(chars: &[(usize, char)], at: usize) -> bool {
    let pair: String = chars.iter().skip(at).take(2).map(|(_, c)| *c).collect();
    let is_verb = [
        "负责", "喜欢", "决定", "告诉", "认为", "提出", "提到", "参加", "完成", "住在", "建议",
        "今天", "昨天", "明天", "没有", "不是", "已经", "正在", "开始", "回来", "回到", "表示",
        "主张", "说的", "收到", "要求", "打算", "想要", "发现", "发来", "同意", "买了", "去了",
        "来了", "写了", "问我", "做了",
    ]
    .contains(&pair.as_str());
    is_verb
        || pair.starts_with([
            '说', '是', '在', '和', '与', '跟', '把', '被', '去', '会', '要', '将', '也', '都',
        ])
}

/// Whether a name can begin here: at the start of a run of Han or after a word that leads to one.
fn is_placed(chars: &[(usize, char)], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| chars.get(at)).map(|(_, c)| *c);
    before.is_none_or(|c| !is_unspaced(c) || BEFORE.contains(c))
}
