//! Units that quantities are told apart by, each with the ways it is written.

/// Canonical name, then what texts call it: words in lower case, symbols, Han.
const UNITS: &[(&str, &str)] = &[
    ("person", "person people persons folks 人 个人 位 名"),
    ("time", "times 次 遍 回"),
    ("second", "sec secs second seconds 秒 秒钟"),
    ("millisecond", "ms msec millisecond milliseconds 毫秒"),
    ("minute", "min mins minute minutes 分钟"),
    ("hour", "hr hrs hour hours 小时 个小时 钟头 个钟头"),
    ("day", "day days 天"),
    ("week", "week weeks wk wks 周 星期 个星期 礼拜 个礼拜"),
    ("month", "month months 个月"),
    ("year", "yr yrs year years 年"),
    ("year of age", "岁"),
    ("kilometre", "km kms kilometer kilometers kilometre kilometres 公里 千米"),
    ("metre", "m meter meters metre metres 米"),
    ("centimetre", "cm centimeter centimeters centimetre centimetres 厘米"),
    ("millimetre", "mm millimeter millimeters millimetre millimetres 毫米"),
    ("mile", "mi mile miles 英里"),
    ("foot", "ft foot feet 英尺"),
    ("inch", "inch inches 英寸"),
    ("square metre", "sqm m2 平方米 平米"),
    ("kilogram", "kg kgs kilo kilos kilogram kilograms 公斤 千克"),
    ("gram", "g gram grams 克"),
    ("milligram", "mg milligram milligrams 毫克"),
    ("pound of mass", "lb lbs 磅"),
    ("jin", "斤"),
    ("tonne", "tonne tonnes ton tons 吨"),
    ("litre", "l liter liters litre litres 升"),
    ("millilitre", "ml milliliter milliliters millilitre millilitres 毫升"),
    ("byte", "byte bytes 字节"),
    ("kilobyte", "kb kib"),
    ("megabyte", "mb mib megabyte megabytes"),
    ("gigabyte", "gb gib gigabyte gigabytes"),
    ("terabyte", "tb tib terabyte terabytes"),
    ("percent", "% percent pct"),
    ("degree", "° °c c度 degree degrees 度 摄氏度"),
    ("fahrenheit", "°f"),
    ("hertz", "hz"),
    ("gigahertz", "ghz"),
    ("kilowatt", "kw 千瓦"),
    ("watt", "w watt watts 瓦"),
    ("dollar", "$ us$ usd dollar dollars 美元 美金"),
    ("euro", "€ eur euro euros 欧元"),
    ("pound", "£ gbp pound pounds 英镑"),
    ("yuan", "¥ cny rmb yuan 元 块 块钱 人民币"),
    ("yen", "jpy yen 日元 円"),
    ("franc", "chf franc francs"),
    ("calorie", "kcal calorie calories 卡路里 千卡 大卡"),
];

/// Measure words of Chinese that say how, not what, is counted.
const MEASURES: &str =
    "个台只条本张件家场篇辆份套座栋间层杯瓶颗头匹款项种把双对支部门封枚块片碗盒箱包组批轮步";

/// The unit that a word or symbol of a spaced script names.
pub(super) fn named(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    UNITS.iter().find_map(|(unit, names)| {
        names.split_ascii_whitespace().any(|name| name == lower).then_some(*unit)
    })
}

/// The unit in Han that a text starts with, the longest name first, and its bytes.
pub(super) fn han(text: &str) -> Option<(&'static str, usize)> {
    UNITS
        .iter()
        .flat_map(|(unit, names)| names.split_ascii_whitespace().map(move |name| (*unit, name)))
        .filter(|(_, name)| !name.is_ascii() && text.starts_with(name))
        .map(|(unit, name)| (unit, name.len()))
        .max_by_key(|(_, n_bytes)| *n_bytes)
}

/// The measure word that a text starts with, bytes.
pub(super) fn measure(text: &str) -> Option<usize> {
    text.chars().next().filter(|c| MEASURES.contains(*c)).map(char::len_utf8)
}
