//! Puts the words of a message into the form of a sink: as text and nothing else, within its limit.
//!
//! The words may come from memories, and those from anywhere. What could act is taken away or broken:
//! control and direction characters, mentions, markup, and addresses that would be fetched for a
//! preview. A character is broken by a zero-width space behind it; such spaces in the words themselves
//! are taken away before, so that nobody can play with them.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::domain::sink::{Abilities, Message, TextUnit};

/// Breaks what is before it and is not seen (ZERO WIDTH SPACE).
pub(super) const BREAK: char = '\u{200b}';
/// Stands where a text was cut.
const ELLIPSIS: char = '\u{2026}';

/// How a sink wants characters written that would mean something to it.
pub(super) type Escape = fn(char, &mut String);

/// How a text is written for a sink.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Characters with a meaning.
    pub(super) escape: Escape,
    /// Whether addresses are broken, since a preview of them cannot be switched off.
    pub(super) breaks_links: bool,
}

impl Style {
    /// For a sink that takes text for text and fetches nothing.
    pub(super) const PLAIN: Self = Self { escape: plain, breaks_links: false };
}

/// As it is.
pub(super) fn plain(c: char, out: &mut String) {
    out.push(c);
}

/// Title, text and footer of a message as one text. What is too long is cut before the footer.
pub(super) fn whole(message: &Message, style: Style, abilities: &Abilities) -> String {
    let both = match (message.title.trim(), message.text.trim()) {
        (title, "") => title.to_owned(),
        ("", text) => text.to_owned(),
        (title, text) => format!("{title}\n{text}"),
    };
    with_footer(&both, message, style, abilities)
}

/// Text and footer of a message, for sinks with a place of its own for the title.
pub(super) fn body(message: &Message, style: Style, abilities: &Abilities) -> String {
    with_footer(&message.text, message, style, abilities)
}

/// The title in one line of at most `chars_max` characters.
pub(super) fn title(message: &Message, style: Style, chars_max: usize) -> String {
    fit(&clean(&message.title).replace('\n', " "), style, chars_max, TextUnit::Chars)
}

fn with_footer(text: &str, message: &Message, style: Style, abilities: &Abilities) -> String {
    let (most, unit) = (abilities.text_max, abilities.text_unit);
    let footer = match (message.footer.trim(), message.may_repeat) {
        (footer, false) => footer.to_owned(),
        ("", true) => REPEATED.to_owned(),
        (footer, true) => format!("{footer} {REPEATED}"),
    };
    // A footer that leaves no room for the text is none.
    let footer = fit(&footer, style, most / 2, unit);
    if footer.is_empty() {
        return fit(text, style, most, unit);
    }
    let text = fit(text, style, most.saturating_sub(unit.length(&footer) + 1), unit);
    if text.is_empty() { footer } else { format!("{text}\n{footer}") }
}

/// Said of a message that may have arrived before.
const REPEATED: &str = "(possibly repeated)";

/// A text in the style, cut between graphemes where it would be longer than `most`.
pub(super) fn fit(text: &str, style: Style, most: usize, unit: TextUnit) -> String {
    let cleaned = clean(text);
    let text = if style.breaks_links { without_links(&cleaned) } else { cleaned };
    let room = most.saturating_sub(unit.length(ELLIPSIS.encode_utf8(&mut [0; 4])));
    let (mut written, mut length) = (String::new(), 0);
    // Up to where it is kept if it turns out to be too long.
    let mut kept = 0;
    for grapheme in text.graphemes(true) {
        let before = written.len();
        grapheme.chars().for_each(|c| (style.escape)(c, &mut written));
        length += unit.length(written.get(before..).unwrap_or_default());
        if length <= room {
            kept = written.len();
        }
        if length > most {
            written.truncate(kept);
            written.truncate(written.trim_end().len());
            if most > 0 {
                written.push(ELLIPSIS);
            }
            break;
        }
    }
    if unit.length(&written) > most { String::new() } else { written }
}

/// The text without what is not text: control, direction and invisible characters; line ends are `\n`,
/// with at most one empty line between two others.
pub(super) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut cleaned = String::with_capacity(text.len());
    let mut n_line_ends = 0;
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                n_line_ends += 1;
                if n_line_ends <= 2 {
                    cleaned.push('\n');
                }
            }
            '\t' => cleaned.push(' '),
            _ if is_invisible(c) => {}
            _ => {
                n_line_ends = 0;
                cleaned.push(c);
            }
        }
    }
    cleaned
}

/// Characters that steer how others are shown, or are not shown at all. The joiners U+200C and U+200D
/// stay: Persian, Indic scripts and emoji need them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with its addresses broken, so that they are neither links nor fetched.
fn without_links(text: &str) -> String {
    let mut broken = text.replace("://", &format!(":{BREAK}//"));
    for start in ["www.", "WWW.", "Www."] {
        let name = start.trim_end_matches('.');
        broken = broken.replace(start, &format!("{name}{BREAK}."));
    }
    broken
}

/// Breaks behind `@` and `<`, which start a mention.
pub(super) fn break_mentions(c: char, out: &mut String) {
    out.push(c);
    if matches!(c, '@' | '\u{ff20}' | '<') {
        out.push(BREAK);
    }
}

/// A backslash before what Markdown takes for markup, and breaks mentions.
pub(super) fn escape_markdown(c: char, out: &mut String) {
    if matches!(c, '\\' | '`' | '*' | '_' | '~' | '[' | ']' | '(' | ')' | '#' | '>' | '|' | '!') {
        out.push('\\');
    }
    break_mentions(c, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, most: usize, unit: TextUnit) -> String {
        fit(text, Style::PLAIN, most, unit)
    }

    #[test]
    fn a_text_is_cut_between_graphemes_in_the_unit_of_the_sink() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        for (text, most, unit, expected) in [
            ("hello", 5, TextUnit::Chars, "hello"),
            ("hello", 4, TextUnit::Chars, "hel\u{2026}"),
            ("hello", 1, TextUnit::Chars, "\u{2026}"),
            ("hello", 0, TextUnit::Chars, ""),
            ("hello", 5, TextUnit::Bytes, "hello"),
            ("hello", 4, TextUnit::Bytes, "h\u{2026}"),
            ("hello", 2, TextUnit::Bytes, ""),
            ("\u{4f1a}\u{8bae}\u{5ba4}", 9, TextUnit::Bytes, "\u{4f1a}\u{8bae}\u{5ba4}"),
            ("\u{4f1a}\u{8bae}\u{5ba4}", 8, TextUnit::Bytes, "\u{4f1a}\u{2026}"),
            ("a\u{1f600}b", 4, TextUnit::Utf16, "a\u{1f600}b"),
            ("a\u{1f600}b", 3, TextUnit::Utf16, "a\u{2026}"),
            ("e\u{301}e\u{301}", 3, TextUnit::Chars, "e\u{301}\u{2026}"),
            ("one two", 5, TextUnit::Chars, "one\u{2026}"),
        ] {
            let found = cut(text, most, unit);
            assert_eq!(found, expected, "{text} {most} {unit:?}");
            assert!(unit.length(&found) <= most, "{text} {most}");
        }
        assert_eq!(cut(&family.repeat(2), 6, TextUnit::Chars), format!("{family}\u{2026}"));
    }

    #[test]
    fn what_is_no_text_is_taken_away() {
        for (text, expected) in [
            ("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", "abcd"),
            ("bell\u{7}\u{1b}[31m", "bell[31m"),
            ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("a\n\n\n\nb", "a\n\nb"),
            ("\u{e0049}\u{e0067}visible", "visible"),
            ("  a\tb ", "a b"),
            ("\u{646}\u{645}\u{6cc}\u{200c}\u{62e}", "\u{646}\u{645}\u{6cc}\u{200c}\u{62e}"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn escapes_count_and_are_never_cut_in_two() {
        let style = Style { escape: escape_markdown, breaks_links: false };
        for most in 0..12 {
            let found = fit("*_*_*", style, most, TextUnit::Chars);
            let whole = found.trim_end_matches('\u{2026}');
            assert!(whole.len().is_multiple_of(2) && found.chars().count() <= most, "{found}");
        }
        assert_eq!(fit("*_*", style, 6, TextUnit::Chars), "\\*\\_\\*");
    }

    #[test]
    fn mentions_and_addresses_are_broken() {
        let style = Style { escape: break_mentions, breaks_links: true };
        for (text, forbidden) in [
            ("@everyone and <!channel> and <at user_id=\"all\">", &["@e", "<!", "<at"][..]),
            ("see https://example.org/x or www.example.org", &["://", "www.e"]),
            ("@\u{200b}here <\u{200b}users/all>", &["@h", "<u"]),
        ] {
            let found = fit(text, style, 1_000, TextUnit::Chars);
            assert!(forbidden.iter().all(|part| !found.contains(part)), "{found:?}");
            assert_eq!(found.replace(BREAK, ""), text.replace(BREAK, ""));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_fits_and_nothing_in_it_acts(text in "\\PC{0,60}", wild in ".{0,60}", most in 0_usize..80) {
            for (escape, breaks_links, breaks_mentions) in
                [(plain as Escape, true, false), (break_mentions, true, true), (escape_markdown, false, true)]
            {
                for unit in [TextUnit::Chars, TextUnit::Utf16, TextUnit::Bytes] {
                    let style = Style { escape, breaks_links };
                    let told = fit(&format!("{text}@all{wild}<!x>"), style, most, unit);
                    assert!(unit.length(&told) <= most, "{told:?}");
                    assert!(!told.contains("://") || !breaks_links, "{told:?}");
                    assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "{told:?}");
                    let is_mention = told.contains("@a") || told.contains("<!");
                    assert!(!is_mention || !breaks_mentions, "{told:?}");
                }
            }
        }
    }

    #[test]
    fn the_footer_stays_when_the_text_is_cut() {
        let message = Message {
            title: "Weekly meeting".to_owned(),
            text: "words ".repeat(500),
            footer: "r7k2m9qx".to_owned(),
            may_repeat: true,
            ..crate::sinks::tests::message()
        };
        let mut abilities = Abilities::of(crate::domain::sink::SinkKind::Slack);
        abilities.text_max = 100;
        let text = whole(&message, Style::PLAIN, &abilities);
        assert!(text.starts_with("Weekly meeting\nwords words"), "{text}");
        assert!(text.ends_with("\u{2026}\nr7k2m9qx (possibly repeated)"), "{text}");
        assert!(text.chars().count() <= 100);
        assert!(!body(&message, Style::PLAIN, &abilities).contains("Weekly"));
    }
}
