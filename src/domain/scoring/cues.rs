//! The words by which rules tell what a statement is worth, in English and Chinese.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::text::tokens::{Token, TokenKind, tokens};
use crate::domain::text::{normalise, query};

/// A pattern over normalised text.
pub(super) type Cue = LazyLock<Option<Regex>>;

macro_rules! cue {
    ($($part:literal),+ $(,)?) => {
        LazyLock::new(|| Regex::new(concat!($($part),+)).ok())
    };
}

/// Standing orders.
pub(super) static INSTRUCTION: Cue = cue!(
    r"^(?:please )?(?:always|never|don['’]?t|do not|from now on|remember|make sure|whenever|keep in mind)\b|",
    r"\bfrom now on\b|\bplease (?:remember|always|never|don['’]?t|do not)\b|\bcall me\b|\b(?:answer|reply|write to|talk to) me in\b|",
    r"\b(?:always|never) (?:use|answer|reply|write|ask|run|check|push|commit|delete|send|share)\b|",
    r"^(?:请)?(?:记住|务必|一定要|不要|永远|总是|始终|从现在起|以后)|^别(?:再|用|把|忘|给|在|叫|说|问|发|删)|请(?:记住|记得|务必|始终|总是|不要)|",
    r"以后(?:都|请|不要|一律)|(?:请)?叫我|用(?:中文|英文|英语)(?:回答|回复)",
);
/// What somebody likes.
pub(super) static PREFERENCE: Cue = cue!(
    r"\b(?:i|we) (?:(?:really|also|always|usually|don['’]?t|do not|no longer|much) )?(?:like|love|prefer|enjoy|hate|dislike|avoid)\b|",
    r"\b(?:likes|loves|prefers|hates|dislikes|enjoys)\b|\bcan['’]?t stand\b|\bfavou?rite\b|\bvegetarian\b|\bvegan\b|\bfond of\b|\bfan of\b|",
    r"喜欢|偏好|偏爱|更爱|最爱|讨厌|爱吃|爱喝|爱看|爱听|不吃|不喝|吃素|习惯用|受不了",
);
/// What sounds like a preference and is politeness.
pub(super) static POLITE: Cue = cue!(
    r"\bwould (?:really )?(?:love|like)\b|\b(?:i|we)['’]d (?:really )?(?:love|like)\b|\b(?:like|love|enjoy) (?:it|that|this|your|you|the idea)\b|",
    r"(?:like|love) to hear\b|\bsounds like\b|喜欢你|很喜欢这个|你喜欢",
);
/// Who somebody is.
pub(super) static IDENTITY: Cue = cue!(
    r"\bmy (?:full |first |last )?(?:name|birthday|e-?mail|phone|address|job|title|wife|husband|partner|boss|manager|son|daughter|dog|cat|sister|uncle|aunt|cousin|grandmother|grandfather|friend|colleague|neighbou?r|kids|children|",
    r"brother|mother|father|mom|dad|team|company|time ?zone|office|hometown|blood type)\b|\bi (?:live|work|study|was born|grew up|speak|own|moved)\b|",
    r"\bi(?:['’]m| am) (?:a|an|from|allergic|married|based|responsible|\d+)\b|\ballergic\b|",
    r"我的?(?:名字|生日|邮箱|电话|手机号|地址|工作|职业|妻子|老婆|丈夫|老公|上司|老板|儿子|女儿|狗|猫|姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|母亲|父亲|表哥|表弟|表姐|表妹|堂哥|堂弟|奶奶|爷爷|外婆|外公|叔叔|阿姨|舅舅|侄子|侄女|同学|同事|邻居|室友|朋友|公司|团队|家乡|体重|身高)|",
    r"我(?:叫|是|住|来自|在[^，。]{1,10}(?:工作|上班|上学)|今年\d|会说|养了|毕业于|负责)|过敏",
);
/// What something is like for good: "the deadline of the project is", 论坛的地点是.
pub(super) static ATTRIBUTE: Cue = cue!(
    r"\b(?:name|location|venue|place|address|date|size|budget|deadline|port|version|owner|price|cost|birthday|host|database) (?:of .{1,40} |for .{1,40} )?(?:is|are)\b|",
    r"\p{Han}{2,}的\p{Han}{1,6}(?:是|叫|为)",
);
/// Something to be done.
pub(super) static TASK: Cue = cue!(
    r"\b(?:i|we) (?:still |also )?(?:need|have|must|should|ought) (?:to\b|\w+)|\bneeds? to be\b|\btodo\b|\bremind me\b|\bdeadline\b|\bdue (?:on|by|in|next|tomorrow)\b|",
    r"\bby (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next|the end of)\b|\b(?:i|we)(?:['’]ll| will|['’]m going to|['’]re going to| am going to| are going to) \w+|",
    r"\bscheduled (?:for|on)\b|\bappointment\b|需要|必须|截止|提醒我|待办|打算|准备(?:在|去)|预约|约了|(?:下周|明天|后天|下个月|今晚).{0,8}(?:要|去|开|交|见)|要在|记得",
);
/// Plain need of nothing: "I have to say", "we have had".
pub(super) static NO_TASK: Cue = cue!(
    r"\bhave (?:to (?:say|admit)|been|had|a|an|no|the|two|three|\d+|some|many|lots)\b|不需要|没必要"
);
/// How something is done.
pub(super) static PROCEDURE: Cue = cue!(
    r"\bfirst\b.+\bthen\b|\bto (?:deploy|build|run|install|restart|reset|restore|release|fix|configure|set up|update|connect|start)\b.*\b(?:run|use|call|press|open|execute|type|click|edit)\b|\bsteps?:|",
    r"先.+(?:再|然后)|步骤|方法是|(?:运行|执行).{0,12}(?:命令|脚本)",
);
/// What happened.
pub(super) static EVENT: Cue = cue!(
    r"\b(?:went|bought|met|ran|visited|paid|saw|ate|took|sent|spent|drove|walked|flew|finished|completed|deployed|released|fixed|found|wrote|attended|",
    r"ordered|received|played|cooked|started|joined|left|moved|broke|crashed|failed|won|lost|got|gave|had|happened|celebrated|signed|hired)\b|",
    r"[去买见吃喝花跑看写做收订参发完修到搬][了过]|参加了|完成了|发布了|失败了|昨天|上周|前天|上个月",
);
/// What was settled.
pub(super) static DECISION: Cue =
    cue!(r"\b(?:decided|agreed|chose|settled on|approved)\b|决定|同意|批准|选定|定在");
/// What is over in an hour.
pub(super) static MOMENTARY: Cue = cue!(
    r"\bright now\b|\bat the moment\b|\bi(?:['’]m| am) (?:so |very |a bit |really )?(?:tired|hungry|bored|busy|back|here|ready|excited|sleepy|sorry|glad|happy|fine|good|ok|okay)\b|",
    r"\bbrb\b|\bone sec\b|\bhold on\b|\bweather\b|\bjust (?:woke|got back|finished|now)\b|",
    r"天气|好累|累了|困了|饿了|无聊|稍等|等一下|马上回来|刚刚|刚才|心情|有点累|很开心|很高兴",
);
/// A request for this conversation only.
pub(super) static REQUEST: Cue = cue!(
    r"^(?:can|could|would|will) you\b|\bi (?:really )?need (?:your |some )?help\b|\b(?:i['’]d|i would) like to know\b|\b(?:can|could|should) i\b|\bhere['’]s my\b|^(?:please )?(?:help|translate|summari[sz]e|explain|show|tell|give|write|fix|find|list|look|check|let me|let['’]s)\b|\bcan you\b|",
    r"^(?:请|能|可以|帮|麻烦)(?:你|我|问|帮|翻译|解释|告诉|写|给)|帮我|跟我分享|你觉得|你有没有|你认为",
);

/// What is said to the other one about themselves, or how one finds something.
pub(super) static ADDRESSED: Cue = cue!(
    r"\byou(?:r|rs|['’]re|['’]ve|['’]ll)?\b|\b(?:that|this|it)(?:['’]s| is| was| looks| sounds) (?:really |so |such |very |pretty |just )?(?:a |an )?",
    r"(?:great|sweet|cool|nice|lovely|amazing|awesome|wonderful|beautiful|fun|inspiring|incredible|interesting)\b|\bso (?:proud|excited|happy|inspiring|cool)\b|你|您",
);
/// A line of source code or of a table.
pub(super) static CODE: Cue = cue!(
    r"^(?:import|from \S+ import|def|class|return|const|let|var|fn|pub|async|await|if|for|while|else|try|except|select|insert|create table)\b.*[(:={;]|^from \S+ import\b|^import \S+$|",
    r#"^[@#<{}|$>]|^\s*[-*|]\s*\*\*|^\d+\. \*\*|(?:^|\s)[\w.\[\]'"]+ = \S|^[\w.]+=\S|\w\(.*\)$|[;{]$|=>|->"#,
);

/// Words of greeting, thanks and assent.
const SMALL: &str = "hi hello hey thanks thank ok okay sure yes no yeah yep nope great cool nice awesome wow lol haha bye \
    goodbye good morning night evening afternoon welcome please sorry fine alright right got sounds perfect wonderful \
    amazing absolutely definitely glad happy see later take care well done congrats congratulations luck really very so too \
    much lot exactly agreed true indeed oh ah hmm um interesting understood noted course love fun exciting fantastic proud \
    looks look forward chat talk soon am are going doing new today thats youre im lets how's whats up same here been there \
    thx ty pls np omg hehe idk anyway both glad guess maybe know think";
/// The same in Chinese; longer ones first.
const HAN_SMALL: &[&str] = &[
    "很高兴认识你",
    "很高兴见到你",
    "最近怎么样",
    "今天怎么样",
    "有什么新鲜事",
    "不好意思",
    "没关系",
    "没问题",
    "不客气",
    "早上好",
    "晚上好",
    "下午好",
    "中午好",
    "太好了",
    "太棒了",
    "知道了",
    "辛苦了",
    "真的吗",
    "怎么样",
    "谢谢你",
    "朋友",
    "你好",
    "您好",
    "谢谢",
    "感谢",
    "好的",
    "是的",
    "可以",
    "再见",
    "拜拜",
    "晚安",
    "早安",
    "哈哈",
    "真棒",
    "不错",
    "收到",
    "明白",
    "了解",
    "加油",
    "恭喜",
    "在吗",
    "是吗",
    "当然",
    "随便",
    "聊聊",
    "聊天",
    "嗯嗯",
    "对的",
    "没错",
    "确实",
    "厉害",
    "有意思",
    "听起来",
    "真的",
    "开心",
    "高兴",
    "嗨",
    "嘿",
    "嗯",
    "哦",
    "喔",
    "哇",
    "哎",
    "唉",
    "行",
    "对",
    "好",
    "棒",
    "酷",
    "赞",
    "啦",
    "呀",
    "哈",
];

/// Whether a text matches a pattern.
pub(super) fn has(cue: &Cue, text: &str) -> bool {
    cue.as_ref().is_some_and(|regex| regex.is_match(&normalise(text)))
}

/// Words that are more than greeting, thanks, assent and stop words; two characters of Han count as one.
pub(super) fn n_telling(text: &str, is_name: impl Fn(&str) -> bool) -> usize {
    let mut normal = normalise(text);
    for phrase in HAN_SMALL {
        normal = normal.replace(phrase, " ");
    }
    let is_telling = |token: &&Token| {
        !query::is_stop_word(token)
            && !is_name(&token.surface)
            && !SMALL.split_ascii_whitespace().any(|word| word == token.surface)
    };
    let all = tokens(&normal);
    let of =
        |kind: TokenKind| all.iter().filter(|token| token.kind == kind).filter(is_telling).count();
    of(TokenKind::Word) + of(TokenKind::Character) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for cue in [
            &INSTRUCTION,
            &PREFERENCE,
            &POLITE,
            &IDENTITY,
            &ATTRIBUTE,
            &TASK,
            &NO_TASK,
            &PROCEDURE,
            &EVENT,
            &DECISION,
            &MOMENTARY,
            &REQUEST,
            &ADDRESSED,
            &CODE,
        ] {
            assert!(cue.is_some());
        }
    }
}
