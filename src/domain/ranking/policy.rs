//! Weights and thresholds of the ranking, all of them configuration.

/// The tunable numbers of the ranking. The defaults were chosen on the development sets (dialogues
/// with labelled evidence; figures in README, "How a search ranks").
#[derive(Clone, Debug, PartialEq)]
pub struct RankingPolicy {
    /// Share of the text score that comes from the best clause of a question of several,
    /// 0.0..=1.0; the rest comes from the whole.
    pub clause_share: f64,
    /// Coverage of the question by its best match from which words have their full weight beside
    /// meaning, 0.0..=1.0. Of Chinese questions about English memories the best match, by a name,
    /// has less than 0.04; of Chinese ones about Chinese memories mostly more than 0.17.
    pub text_coverage_full: f64,
    /// Weight of the vector arm beside the text arm's 1.0.
    pub vector_weight: f64,
    /// Standard deviations above the mean cosine that count as a full vector score.
    pub vector_deviations: f64,
    /// Taken off a cosine for each e-fold of chunks: the best of `n` chance cosines grows by about
    /// that much. Without it long memories crowd out short ones (beam: recall@10 .49 instead of
    /// .56).
    pub chunk_penalty: f64,
    /// Least share of a question that a model must be able to read to be asked at all, 0.0..=1.0.
    pub question_readable_min: f32,
    /// Least share of a memory that a model must be able to read for its vector to count, 0.0..=1.0.
    pub memory_readable_min: f32,
    /// Weight of a fitting date.
    pub date_weight: f64,
    /// Added for an exact phrase or all identifiers of the question; more than everything else can
    /// add up to.
    pub exact_weight: f64,
    /// By how much strength may move a score, 0.0..=0.1: the factor is `1 - w ..= 1 + w`. What is
    /// asked for is seldom the newest: 0.03 for both costs 0.3 to 1 point of recall@10 on the
    /// development sets.
    pub strength_weight: f64,
    /// By how much recency may move a score, in the same way.
    pub recency_weight: f64,
    /// Rate at which recency fades: `exp(-rate * days since the event)`.
    pub recency_rate: f64,
    /// What a memory is multiplied by that has a summary, 0.5..=1.0 (guessed): of a source and its
    /// summary that answer alike, the summary comes first.
    pub consolidated_factor: f64,
    /// Least cosine of near-twins (all cosines here are on the scale of the bundled model), which must agree in names, numbers and negations besides.
    pub twin_cosine: f64,
    /// Cosine up to which a vector says nothing about relevance (of the best hits of questions asked
    /// of somebody else's memories half reach 0.40, a quarter 0.46).
    pub cosine_floor: f64,
    /// Cosine from which a vector alone makes a memory fully relevant.
    pub cosine_full: f64,
    /// Coverage that is full relevance for a question in a script without blanks, whose pairs of
    /// characters half lie across words, 0.0..=1.0 (at 0.4 three of a hundred Chinese questions
    /// were wrongly given up).
    pub unspaced_coverage_full: f64,
    /// Relevance of the very day asked for, 0.0..=1.0.
    pub date_relevance: f64,
    /// Relevance that the best hit must reach, or nothing is returned, 0.0..=1.0. At 0.35 no English
    /// question of the development sets is wrongly given up, and 50 to 90 of a hundred asked of
    /// somebody else's memories get an empty answer (of Chinese ones about Chinese memories 5 to 45).
    pub threshold: f64,
    /// Relevance that every other hit must reach, 0.0..=1.0.
    pub hit_threshold: f64,
}

impl Default for RankingPolicy {
    fn default() -> Self {
        Self {
            clause_share: 0.5,
            text_coverage_full: 0.15,
            vector_weight: 0.8,
            vector_deviations: 4.0,
            chunk_penalty: 0.08,
            question_readable_min: 0.6,
            memory_readable_min: 0.5,
            date_weight: 0.5,
            exact_weight: 3.0,
            strength_weight: 0.03,
            recency_weight: 0.03,
            recency_rate: 0.03,
            consolidated_factor: 0.9,
            twin_cosine: 0.95,
            cosine_floor: 0.3,
            cosine_full: 0.8,
            unspaced_coverage_full: 0.25,
            date_relevance: 0.5,
            threshold: 0.35,
            hit_threshold: 0.05,
        }
    }
}
