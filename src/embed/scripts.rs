//! Which scripts a tokenizer knows, found out by what it makes of a few sentences.
//!
//! A model is trained on the pieces of its vocabulary. One that never saw a script makes unknown pieces
//! of it, single letters or single bytes, and its vectors of such texts are noise that looks like
//! meaning: the tokenizer of all-MiniLM-L6-v2 has every Cyrillic letter and not one Russian word. So
//! both count, the share of unknown pieces and the letters of a known one.

use crate::domain::embedding::{Script, Scripts};

/// A piece of a text.
pub(super) struct Piece {
    /// Whether it stands for anything that the vocabulary lacks.
    pub(super) is_unknown: bool,
    /// Letters of the text in it.
    pub(super) n_letters: usize,
}

/// Sentences in a script, and the least letters of a piece, on average, of who knows it. Measured on
/// the tokenizers of all-MiniLM-L6-v2 (English) and multilingual-e5-small (about 100 languages), chosen
/// in between: Latin 2.9 and 3.3; Han 0.2 and 1.4; Kana 0.9 and 2.3; Hangul 0.4 and 1.6; Cyrillic 1.0
/// and 4.0; Arabic 1.0 and 2.9; the others 1.0 and 2.9.
const PROBES: [(Script, f64, &[&str]); 7] = [
    (
        Script::Latin,
        1.6,
        &[
            "The daemon keeps what the agents have learned and finds it again.",
            "Am Montag treffen wir uns um zehn Uhr im Büro.",
        ],
    ),
    (
        Script::Han,
        0.8,
        &[
            "她每天早上六点半去公园跑步，然后给家里打电话。",
            "服务器的备份失败了两次，请检查磁盘空间。",
            "我們決定下個月搬到新的辦公室。",
        ],
    ),
    (
        Script::Kana,
        1.4,
        &[
            "サーバーのバックアップがエラーになりました。",
            "ありがとうございます。よろしくおねがいします。",
        ],
    ),
    (
        Script::Hangul,
        0.9,
        &[
            "우리는 내일 아침에 새로운 서버를 설치하고 회의를 합니다.",
            "그녀는 매일 공원에서 달리기를 합니다.",
        ],
    ),
    (
        Script::Cyrillic,
        1.6,
        &[
            "Мы договорились встретиться завтра утром и обсудить новый проект.",
            "Резервная копия базы данных не была создана.",
        ],
    ),
    (
        Script::Arabic,
        1.6,
        &[
            "اتفقنا على أن نلتقي صباح الغد لمناقشة المشروع الجديد.",
            "فشل النسخ الاحتياطي لقاعدة البيانات مرتين.",
        ],
    ),
    (
        Script::Other,
        1.6,
        &[
            "Συμφωνήσαμε να συναντηθούμε αύριο το πρωί για να μιλήσουμε.",
            "הסכמנו להיפגש מחר בבוקר כדי לדבר על הפרויקט החדש.",
            "हम कल सुबह मिलकर नई योजना पर बात करेंगे।",
            "เราตกลงที่จะพบกันพรุ่งนี้เช้าเพื่อคุยเรื่องโครงการใหม่",
        ],
    ),
];

/// Most unknown pieces of who knows a script, as a share of all. Chosen: 0.00 was measured where a
/// script is known, and 0.67 for Han with the English tokenizer.
const UNKNOWN_MAX: f64 = 0.1;

/// The scripts that a tokenizer knows.
///
/// # Errors
/// Whatever the tokenizer says.
pub(super) fn known(
    mut pieces: impl FnMut(&str) -> Result<Vec<Piece>, String>,
) -> Result<Scripts, String> {
    let mut known = Vec::new();
    for (script, letters_min, sentences) in PROBES {
        let (mut n_pieces, mut n_unknown, mut n_letters) = (0_usize, 0, 0);
        for sentence in sentences {
            for piece in pieces(sentence)? {
                n_pieces += 1;
                n_unknown += usize::from(piece.is_unknown);
                n_letters += if piece.is_unknown { 0 } else { piece.n_letters };
            }
        }
        let per_piece = |n: usize| n as f64 / n_pieces.max(1) as f64;
        if per_piece(n_unknown) <= UNKNOWN_MAX && per_piece(n_letters) >= letters_min {
            known.push(script);
        }
    }
    Ok(known.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> usize {
        text.chars().filter(|c| c.is_alphabetic()).count()
    }

    fn piece(text: &str) -> Piece {
        Piece { is_unknown: false, n_letters: letters(text) }
    }

    /// Pieces of `n` characters of each word; what is not `known` becomes what `unknown` makes of it.
    fn scripts(n: usize, known_from: &str, unknown: fn(&str) -> Vec<Piece>) -> String {
        let found = known(|text| {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            Ok(words
                .flat_map(|word| {
                    if !word.starts_with(|c: char| known_from.contains(c) || known_from == "*") {
                        return unknown(word);
                    }
                    let chars: Vec<char> = word.chars().collect();
                    chars.chunks(n).map(|part| piece(&part.iter().collect::<String>())).collect()
                })
                .collect())
        });
        found.unwrap().words()
    }

    const LATIN: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    #[test]
    fn words_are_known_and_single_letters_bytes_and_unknown_pieces_are_not() {
        let unknown = |word: &str| vec![Piece { is_unknown: true, n_letters: letters(word) }];
        let single = |word: &str| word.chars().map(|c| piece(&c.to_string())).collect();
        let bytes = |word: &str| {
            word.bytes().map(|_| Piece { is_unknown: false, n_letters: 0 }).collect::<Vec<_>>()
        };
        assert_eq!(scripts(3, "*", unknown), "all");
        assert_eq!(scripts(3, LATIN, unknown), "latin");
        assert_eq!(scripts(3, LATIN, bytes), "latin");
        // A single character of Han is a word, and one of Hangul a syllable.
        assert_eq!(scripts(3, LATIN, single), "latin,han,hangul");
        assert_eq!(scripts(1, "*", unknown), "han,hangul");
        assert_eq!(known(|_| Ok(Vec::new())).unwrap().words(), "");
        assert_eq!(known(|_| Err("no".to_owned())), Err("no".to_owned()));
    }
}
