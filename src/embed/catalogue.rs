//! The models we know, one row each: where they come from, how they want to be asked and what they
//! need. This is the only place with facts about a model.
//!
//! Prefixes, pooling and windows are those of the models' own cards; the adapters add the prefixes,
//! because neither fastembed nor an endpoint does. A model outside this table works too, with what
//! `recalld model import` or `[embed.endpoint]` is told of it.

use fastembed::EmbeddingModel;

use crate::domain::embedding::Scripts;

/// How token vectors become the vector of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    Cls,
}

impl Pooling {
    /// Its name in manifests and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// The pooling called so.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Mean, Self::Cls].into_iter().find(|pooling| pooling.as_str() == name)
    }
}

/// What we know of a model.
#[derive(Clone, Debug)]
pub struct Row {
    /// What configuration and commands call it.
    pub name: &'static str,
    /// What endpoints call it besides, without owner and tag, lower case.
    pub aliases: &'static [&'static str],
    /// Where it can be fetched from, if this daemon can run it.
    pub hub: Option<Hub>,
    /// Coordinates of a vector.
    pub dimension: usize,
    /// The window that texts are cut for, tokens; at most what the model can read.
    pub tokens_max: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a query.
    pub query_prefix: &'static str,
    /// Put before a document.
    pub document_prefix: &'static str,
    /// What it reads.
    pub scripts: Scripts,
    /// The same for people.
    pub languages_shown: &'static str,
    /// Licence of the weights.
    pub licence: &'static str,
}

/// A model that fastembed can fetch and run.
#[derive(Clone, Debug)]
pub struct Hub {
    /// What fastembed calls it.
    pub variant: EmbeddingModel,
    /// Size of the download, MB.
    pub download_mb: u32,
    /// Resident memory that it adds to the daemon while it embeds long texts, MB: measured for
    /// all-minilm-l6-v2; for the others estimated from their weights and, where the vocabulary has
    /// 250,000 pieces, some 400 MB for the tokenizer (measured on multilingual-e5-small with packed
    /// weights).
    pub memory_mb: u32,
}

/// What BGE, arctic and mxbai models want before a query.
const SEARCHING: &str = "Represent this sentence for searching relevant passages: ";

/// Every model we know, those that this daemon can fetch and run first.
pub fn rows() -> &'static [Row] {
    &ROWS
}

/// The row of a model that this daemon can fetch and run.
pub fn named(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.hub.is_some() && row.name == name)
}

/// The row of what an endpoint or an import calls `name`: owner, tag and case do not matter.
pub fn alike(name: &str) -> Option<&'static Row> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.split(':').next().unwrap_or(name).to_lowercase();
    ROWS.iter().find(|row| row.name == name || row.aliases.contains(&name.as_str()))
}

static ROWS: [Row; 14] = [
    Row {
        name: "multilingual-e5-small",
        aliases: &[],
        hub: Some(Hub {
            variant: EmbeddingModel::MultilingualE5Small,
            download_mb: 490,
            memory_mb: 1_100,
        }),
        dimension: 384,
        tokens_max: 512,
        pooling: Pooling::Mean,
        query_prefix: "query: ",
        document_prefix: "passage: ",
        scripts: Scripts::ALL,
        languages_shown: "about 100",
        licence: "MIT",
    },
    Row {
        name: "all-minilm-l6-v2",
        aliases: &["all-minilm"],
        hub: Some(Hub { variant: EmbeddingModel::AllMiniLML6V2, download_mb: 91, memory_mb: 150 }),
        dimension: 384,
        tokens_max: 256,
        pooling: Pooling::Mean,
        query_prefix: "",
        document_prefix: "",
        scripts: Scripts::LATIN,
        languages_shown: "English",
        licence: "Apache-2.0",
    },
    Row {
        name: "bge-small-en-v1.5",
        aliases: &["bge-small-en", "bge-small"],
        hub: Some(Hub { variant: EmbeddingModel::BGESmallENV15, download_mb: 134, memory_mb: 210 }),
        dimension: 384,
        tokens_max: 512,
        pooling: Pooling::Cls,
        query_prefix: SEARCHING,
        document_prefix: "",
        scripts: Scripts::LATIN,
        languages_shown: "English",
        licence: "MIT",
    },
    Row {
        name: "bge-small-zh-v1.5",
        aliases: &["bge-small-zh"],
        hub: Some(Hub { variant: EmbeddingModel::BGESmallZHV15, download_mb: 96, memory_mb: 150 }),
        dimension: 512,
        tokens_max: 512,
        pooling: Pooling::Cls,
        query_prefix: "为这个句子生成表示以用于检索相关文章：",
        document_prefix: "",
        scripts: Scripts::ALL,
        languages_shown: "Chinese",
        licence: "MIT",
    },
    Row {
        name: "paraphrase-multilingual-minilm-l12-v2",
        aliases: &["paraphrase-multilingual"],
        hub: Some(Hub {
            variant: EmbeddingModel::ParaphraseMLMiniLML12V2,
            download_mb: 480,
            memory_mb: 1_100,
        }),
        dimension: 384,
        tokens_max: 128,
        pooling: Pooling::Mean,
        query_prefix: "",
        document_prefix: "",
        scripts: Scripts::ALL,
        languages_shown: "about 50",
        licence: "Apache-2.0",
    },
    Row {
        name: "multilingual-e5-base",
        aliases: &[],
        hub: Some(Hub {
            variant: EmbeddingModel::MultilingualE5Base,
            download_mb: 1_130,
            memory_mb: 1_900,
        }),
        dimension: 768,
        tokens_max: 512,
        pooling: Pooling::Mean,
        query_prefix: "query: ",
        document_prefix: "passage: ",
        scripts: Scripts::ALL,
        languages_shown: "about 100",
        licence: "MIT",
    },
    Row {
        name: "bge-m3",
        aliases: &[],
        hub: Some(Hub { variant: EmbeddingModel::BGEM3, download_mb: 2_290, memory_mb: 2_900 }),
        dimension: 1_024,
        tokens_max: 512,
        pooling: Pooling::Cls,
        query_prefix: "",
        document_prefix: "",
        scripts: Scripts::ALL,
        languages_shown: "about 100",
        licence: "MIT",
    },
    served("nomic-embed-text", &["nomic-embed-text-v1.5", "nomic-embed-text-v1"], 768, 2_048)
        .asked_with("search_query: ", "search_document: ")
        .latin("Apache-2.0"),
    served("mxbai-embed-large", &["mxbai-embed-large-v1"], 1_024, 512)
        .asked_with(SEARCHING, "")
        .latin("Apache-2.0"),
    served("snowflake-arctic-embed", &["snowflake-arctic-embed-l"], 1_024, 512)
        .asked_with(SEARCHING, "")
        .latin("Apache-2.0"),
    served("embeddinggemma", &["embeddinggemma-300m"], 768, 2_048)
        .asked_with("task: search result | query: ", "title: none | text: "),
    served("qwen3-embedding", &["qwen3-embedding-0.6b"], 1_024, 8_192)
        .asked_with("Instruct: Given a question, retrieve memories that answer it\nQuery: ", ""),
    served("text-embedding-3-small", &[], 1_536, 8_191),
    served("text-embedding-3-large", &[], 3_072, 8_191),
];

/// A model that only endpoints run.
const fn served(
    name: &'static str,
    aliases: &'static [&'static str],
    dimension: usize,
    tokens_max: usize,
) -> Row {
    Row {
        name,
        aliases,
        hub: None,
        dimension,
        tokens_max,
        pooling: Pooling::Mean,
        query_prefix: "",
        document_prefix: "",
        scripts: Scripts::ALL,
        languages_shown: "many",
        licence: "see its provider",
    }
}

impl Row {
    const fn asked_with(mut self, query: &'static str, document: &'static str) -> Self {
        self.query_prefix = query;
        self.document_prefix = document;
        self
    }

    const fn latin(mut self, licence: &'static str) -> Self {
        self.scripts = Scripts::LATIN;
        self.languages_shown = "English";
        self.licence = licence;
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fastembed::{QuantizationMode, TextEmbedding};

    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_a_directory() {
        let names: Vec<&str> = rows()
            .iter()
            .flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()))
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
            assert!(name.chars().all(is_fit) && alike(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_rows_say_what_the_library_says() {
        for row in rows() {
            let Some(hub) = &row.hub else { continue };
            let info = TextEmbedding::get_model_info(&hub.variant).unwrap();
            assert_eq!(info.dim, row.dimension, "{}", row.name);
            let pooling = match TextEmbedding::get_default_pooling_method(&hub.variant) {
                Some(fastembed::Pooling::Mean) => Pooling::Mean,
                Some(fastembed::Pooling::Cls) => Pooling::Cls,
                other => panic!("{}: {other:?}", row.name),
            };
            assert_eq!(pooling, row.pooling, "{}", row.name);
            // The vectors of dynamically quantised models depend on their neighbours in a batch.
            let quantised = TextEmbedding::get_quantization_mode(&hub.variant);
            assert_eq!(quantised, QuantizationMode::None, "{}", row.name);
        }
    }

    #[test]
    fn a_model_is_known_by_the_names_that_endpoints_use() {
        for (name, expected) in [
            ("BAAI/bge-m3", Some("bge-m3")),
            ("bge-m3:latest", Some("bge-m3")),
            ("hf.co/intfloat/Multilingual-E5-Small", Some("multilingual-e5-small")),
            ("nomic-ai/nomic-embed-text-v1.5", Some("nomic-embed-text")),
            ("all-minilm:22m", Some("all-minilm-l6-v2")),
            ("my-own-model", None),
            ("", None),
        ] {
            assert_eq!(alike(name).map(|row| row.name), expected, "{name}");
        }
        assert!(named("nomic-embed-text").is_none(), "only endpoints run it");
        assert!(named("bge-m3").is_some());
    }
}
