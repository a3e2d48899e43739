//! The tokenizer: words, identifiers whole and in parts, single characters and pairs of unspaced
//! scripts.

use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

use super::{is_unspaced, normalise};

/// Longest token, bytes; a longer one is cut, in texts and in queries alike.
const TOKEN_BYTES_MAX: usize = 128;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// What sort of token this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A word or a number, stemmed if it is English.
    Word,
    /// A whole identifier (`inc-90312`, `192.168.9.1`, `foo_bar::baz`) or a compound part of one.
    Identifier,
    /// One character of an unspaced script.
    Character,
    /// Two neighbouring characters of an unspaced script.
    Pair,
}

/// A token, the word it was made from, and its sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What is indexed and looked up.
    pub text: String,
    /// The normalised word before stemming.
    pub surface: String,
    /// Its sort.
    pub kind: TokenKind,
}

impl Token {
    /// Whether it counts towards the length of a document: whole identifiers repeat what their
    /// parts already counted.
    pub fn counts(&self) -> bool {
        self.kind != TokenKind::Identifier
    }
}

/// The tokens of `text` in order, with repeats.
pub fn tokens(text: &str) -> Vec<Token> {
    let normal = normalise(text);
    let mut tokens = Vec::new();
    for piece in normal.split(' ') {
        push_piece(piece, &mut tokens);
    }
    tokens
}

/// The whole identifiers of `text`, normalised, in order: pieces between blanks that have inner
/// punctuation or mix letters and digits.
pub fn identifiers(text: &str) -> Vec<String> {
    let normal = normalise(text);
    normal
        .split(' ')
        .filter_map(|piece| {
            let trimmed = trim_punctuation(piece);
            let is_mixed = trimmed.bytes().any(|b| b.is_ascii_digit())
                && trimmed.chars().any(char::is_alphabetic);
            let is_identifier = !trimmed.chars().any(is_unspaced)
                && (is_compound(trimmed) && !is_plain_compound(trimmed) || is_mixed);
            is_identifier.then(|| cut(trimmed).to_owned())
        })
        .collect()
}

/// Tokens of one blank-free piece.
fn push_piece(piece: &str, tokens: &mut Vec<Token>) {
    // Runs of unspaced script end an identifier: `配置config.toml文件` holds `config.toml`.
    let mut rest = piece;
    while !rest.is_empty() {
        let unspaced = rest.chars().next().is_some_and(is_unspaced);
        let end = rest
            .char_indices()
            .find(|(_, c)| is_unspaced(*c) != unspaced)
            .map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        rest = after;
        if unspaced {
            push_unspaced(run, tokens);
        } else {
            push_spaced(trim_punctuation(run), tokens);
        }
    }
}

/// Single characters and pairs of a run of an unspaced script.
fn push_unspaced(run: &str, tokens: &mut Vec<Token>) {
    let mut previous: Option<char> = None;
    for c in run.chars() {
        if let Some(before) = previous {
            let pair: String = [before, c].iter().collect();
            tokens.push(Token { text: pair.clone(), surface: pair, kind: TokenKind::Pair });
        }
        let one = c.to_string();
        tokens.push(Token { text: one.clone(), surface: one, kind: TokenKind::Character });
        previous = Some(c);
    }
}

/// The whole, the compound parts and the words of a piece of a spaced script.
fn push_spaced(piece: &str, tokens: &mut Vec<Token>) {
    let piece = piece.strip_suffix("'s").or_else(|| piece.strip_suffix("’s")).unwrap_or(piece);
    if piece.is_empty() {
        return;
    }
    if is_compound(piece) {
        push_identifier(piece, tokens);
        // `/etc/recalld/config.toml` is also found by `config.toml`, `a::b_c` by `b_c`.
        let mut parts: Vec<&str> = piece
            .split([
                '/', '\\', '@', ':', '=', ',', ';', '(', ')', '[', ']', '{', '}', '"', '<', '>',
                '|', '&', '?', '#',
            ])
            .map(trim_punctuation)
            .filter(|part| *part != piece && is_compound(part))
            .collect();
        parts.dedup();
        for part in parts {
            push_identifier(part, tokens);
        }
    }
    for word in piece.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’') {
        push_word(word, tokens);
    }
}

fn push_identifier(text: &str, tokens: &mut Vec<Token>) {
    let text = cut(text).to_owned();
    tokens.push(Token { surface: text.clone(), text, kind: TokenKind::Identifier });
}

fn push_word(word: &str, tokens: &mut Vec<Token>) {
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    let word: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
    if word.is_empty() {
        return;
    }
    let surface = cut(&word).to_owned();
    let is_english = surface.bytes().all(|b| b.is_ascii_lowercase());
    let text = if is_english { ENGLISH.stem(&surface).into_owned() } else { surface.clone() };
    tokens.push(Token { text, surface, kind: TokenKind::Word });
}

/// Whether a piece has punctuation inside, so that it is more than one word.
fn is_compound(piece: &str) -> bool {
    piece.chars().any(|c| !c.is_alphanumeric() && c != '\'' && c != '’')
        && piece.chars().any(char::is_alphanumeric)
}

/// Whether a compound is only words joined by hyphens or dots of a sentence (`well-known`): prose,
/// no identifier.
fn is_plain_compound(piece: &str) -> bool {
    piece.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '–' | '—' | '\'' | '’' | '…'))
}

/// Removes what surrounds a piece but is no part of it; keeps a leading `/`, `~`, `#`, `@`, `_`, `$`, `.`
/// and `-` only where a word follows directly.
fn trim_punctuation(piece: &str) -> &str {
    piece.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Cuts a token at [`TOKEN_BYTES_MAX`] on a character border.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TOKEN_BYTES_MAX)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
        for token in expected {
            assert!(found.iter().any(|t| t == token), "`{token}` in {found:?}");
        }
    }

    #[test]
    fn identifiers_are_tokens_whole_and_in_parts() {
        check("Ticket INC-90312.", &["inc-90312", "inc", "90312"]);
        check("(192.168.9.1)", &["192.168.9.1", "192", "168"]);
        check("call foo_bar::baz()", &["foo_bar::baz", "foo_bar", "foo", "bar", "baz"]);
        check("mail ann@example.org, now", &["ann@example.org", "example.org", "ann"]);
        check("in /etc/recalld/config.toml:", &["etc/recalld/config.toml", "config.toml", "toml"]);
        check("编辑config.toml文件", &["config.toml", "编辑", "文件", "文"]);
    }

    #[test]
    fn words_are_stemmed_and_possessives_cut() {
        check("Caroline's painting sunsets", &["carolin", "paint", "sunset"]);
        check("don’t can't", &["dont", "cant"]);
        check("Ångström чай", &["ångström", "чай"]);
    }

    #[test]
    fn unspaced_scripts_give_characters_and_pairs() {
        check("乌龙茶", &["乌", "龙", "茶", "乌龙", "龙茶"]);
        check("コーヒー", &["コー", "ーヒ", "ヒー"]);
        check("서울에", &["서울", "울에"]);
    }

    #[test]
    fn what_a_query_names_is_what_a_text_holds() {
        for (text, query) in [
            ("see `src/main.rs`!", "src/main.rs"),
            ("MAC aa:bb:cc:dd:ee:ff is blocked", "aa:bb:cc:dd:ee:ff"),
            ("version v1.2.3-rc.1,", "v1.2.3-rc.1"),
        ] {
            let known: Vec<_> = tokens(text).into_iter().map(|t| t.text).collect();
            for token in tokens(query) {
                assert!(known.contains(&token.text), "{token:?} of {query} in {known:?}");
            }
        }
    }

    #[test]
    fn only_identifiers_are_identifiers() {
        assert_eq!(
            identifiers("the well-known INC-90312 of v2 and x_y."),
            ["inc-90312", "v2", "x_y"]
        );
        assert!(identifiers("a plain sentence - with a dash").is_empty());
    }

    #[test]
    fn an_endless_token_is_cut_the_same_way_everywhere() {
        let long = "é".repeat(TOKEN_BYTES_MAX);
        assert_eq!(tokens(&long), tokens(&format!("{long}x")));
    }
}
