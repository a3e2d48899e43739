//! Storing with a model that is slow, dead or refuses a text.

use std::collections::HashSet;

use super::fixture::{Fixture, agent, draft};
use super::model::{Mood, REFUSED};
use crate::domain::change::StoreStatus;
use crate::ports::{EmbedError, Measured, Store as _};
use crate::service::maintain::{BacklogError, BacklogRound};

#[tokio::test(start_paused = true)]
async fn a_memory_is_found_by_words_and_by_meaning_as_soon_as_it_is_acknowledged() {
    let fixture = Fixture::new().await;
    let kept = fixture.remember(&agent("a"), draft("Rex is our dog")).await;
    assert!(kept.embedded && kept.status == StoreStatus::Stored, "{kept:?}");
    for query in ["Rex", "puppy"] {
        let answer = fixture.recall(&agent("b"), query).await;
        assert_eq!(answer.hits.len(), 1, "{query}");
        assert_eq!((answer.pending_vectors, answer.degraded.len()), (0, 0), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_delays_vectors_but_not_the_acknowledgement() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let kept = fixture.remember(&agent("a"), draft("Rex is our dog")).await;
    assert!(!kept.embedded);
    fixture.model.set(Mood::Well);

    let by_words = fixture.recall(&agent("a"), "Rex").await;
    assert_eq!((by_words.hits.len(), by_words.pending_vectors), (1, 1));
    let by_meaning = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!((by_meaning.hits.len(), by_meaning.pending_vectors), (0, 1));

    fixture.service.backlog_grew().await;
    let round = fixture.embed_backlog().await;
    assert_eq!(round, BacklogRound { n_embedded: 1, n_failed: 0, has_more: false });
    let by_meaning = fixture.recall(&agent("a"), "puppy").await;
    assert_eq!((by_meaning.hits.len(), by_meaning.pending_vectors), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_acknowledged_memory_is_in_the_store_even_if_the_model_never_answers() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let kept = fixture.remember(&agent("a"), draft("Rex is our dog")).await;
    let snapshot = fixture.store.snapshot().await.unwrap();
    let stored = snapshot.memories(vec![kept.id]).await.unwrap().remove(0).unwrap();
    assert_eq!(&*stored.content, "Rex is our dog");
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_for_the_model_once_and_not_once_a_memory() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let started = tokio::time::Instant::now();
    let drafts = (0..40).map(|n| draft(&format!("note {n}"))).collect();
    let kept = fixture.service.remember(&agent("a"), drafts, None).await.unwrap().memories;
    assert!(kept.iter().all(|one| !one.embedded));
    // Paused time moves by what is waited for and nothing else.
    assert!(started.elapsed() < 2 * std::time::Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn a_dead_or_busy_model_is_no_reason_to_refuse_a_memory() {
    for mood in [Mood::Dead, Mood::Busy] {
        let fixture = Fixture::new().await;
        fixture.model.set(mood);
        let kept = fixture.remember(&agent("a"), draft("Rex is our dog")).await;
        assert!(!kept.embedded, "{mood:?}");
        let answer = fixture.recall(&agent("a"), "Rex").await;
        assert_eq!(answer.hits.len(), 1, "{mood:?}");
        assert!(answer.degraded.iter().any(|why| why.starts_with("vectors: ")), "{answer:?}");

        // The backlog stops at once instead of asking in vain for each memory.
        let error = fixture.service.embed_backlog(&mut HashSet::new()).await.unwrap_err();
        let is_expected = match mood {
            Mood::Dead => matches!(error, BacklogError::Embed(EmbedError::Unavailable(_))),
            Mood::Busy | Mood::Well | Mood::Slow => {
                matches!(error, BacklogError::Embed(EmbedError::Busy))
            }
        };
        assert!(is_expected, "{error:?}");

        fixture.model.set(Mood::Well);
        assert_eq!(fixture.embed_backlog().await.n_embedded, 1, "{mood:?}");
        assert_eq!(fixture.found("hound").await, ["Rex is our dog"], "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_text_that_the_model_refuses_does_not_stop_the_others() {
    let fixture = Fixture::new().await;
    let refused = format!("an {REFUSED} vehicle");
    let drafts = vec![draft("our dog"), draft(&refused), draft("oolong from the hills")];
    let kept = fixture.service.remember(&agent("a"), drafts, None).await.unwrap().memories;
    assert_eq!(kept.iter().map(|one| one.embedded).collect::<Vec<_>>(), [true, false, true]);

    let mut failed = HashSet::new();
    let round = fixture.service.embed_backlog(&mut failed).await.unwrap();
    assert_eq!(round, BacklogRound { n_embedded: 0, n_failed: 1, has_more: false });
    assert_eq!(failed, HashSet::from([kept[1].id]));
    let n_asked = fixture.model.n_documents();
    fixture.service.embed_backlog(&mut failed).await.unwrap();
    assert_eq!(fixture.model.n_documents(), n_asked, "a refused text is not tried again");

    assert_eq!(fixture.found("puppy").await, ["our dog"]);
    let answer = fixture.recall(&agent("a"), REFUSED).await;
    assert_eq!(answer.hits.len(), 1, "the refused text is found by words");
}

#[tokio::test(start_paused = true)]
async fn refused_texts_in_front_do_not_keep_the_backlog_from_the_rest() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let refused = (0..40).map(|n| draft(&format!("{REFUSED} {n}")));
    let drafts = refused.chain((0..40).map(|n| draft(&format!("note {n}")))).collect();
    fixture.service.remember(&agent("a"), drafts, None).await.unwrap();
    fixture.model.set(Mood::Well);
    let mut failed = HashSet::new();
    let mut n_embedded = 0;
    loop {
        let round = fixture.service.embed_backlog(&mut failed).await.unwrap();
        n_embedded += round.n_embedded;
        if !round.has_more {
            break;
        }
    }
    assert_eq!((n_embedded, failed.len()), (40, 40));
}

#[tokio::test(start_paused = true)]
async fn before_the_space_is_open_memories_are_stored_without_vectors() {
    let fixture = Fixture::unloaded(crate::domain::embedding::Scripts::ALL);
    let kept = fixture.remember(&agent("a"), draft("Rex is our dog")).await;
    assert!(!kept.embedded);
    fixture.load().await;
    assert_eq!(fixture.embed_backlog().await.n_embedded, 1);
    assert_eq!(fixture.found("puppy").await, ["Rex is our dog"]);
}

#[tokio::test(start_paused = true)]
async fn an_equal_text_is_kept_once_and_its_tags_are_united() {
    let fixture = Fixture::new().await;
    let tagged = |tag: &str| {
        let mut draft = draft("Rex is our dog");
        draft.tags = vec![tag.to_owned()];
        draft
    };
    let first = fixture.remember(&agent("a"), tagged("pet")).await;
    let second = fixture.remember(&agent("b"), tagged("home")).await;
    assert_eq!((second.id, second.status), (first.id, StoreStatus::Deduplicated));
    assert_eq!(second.changed, ["tags"]);
    assert_eq!(fixture.memory(first.id).await.tags, ["home", "pet"]);
    assert_eq!(fixture.found("Rex").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn secrets_are_gone_before_anything_else_sees_the_text() {
    let fixture = Fixture::new().await;
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";
    let mut draft = draft(&format!("the key is {secret}"));
    draft.tags = vec![secret.to_owned()];
    draft.session = Some(secret.to_owned());
    draft.metadata.insert("key".to_owned(), format!("\"{secret}\""));
    let kept = fixture.remember(&agent("a"), draft).await;
    assert!(!kept.redacted.is_empty());
    let memory = fixture.memory(kept.id).await;
    assert!(!format!("{memory:?}").contains("abcdefghijklmnop"), "{memory:?}");
}

#[tokio::test(start_paused = true)]
async fn stores_and_searches_are_counted_once_with_what_became_of_them() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    fixture.store("Rex is our dog").await;
    fixture.found("Rex").await;
    fixture.model.set(Mood::Dead);
    fixture.found("Rex").await;
    let is_store = |event: &Measured, stored, deduplicated| {
        matches!(event, Measured::Store { n_stored, n_deduplicated, .. }
            if (*n_stored, *n_deduplicated) == (stored, deduplicated))
    };
    assert_eq!(fixture.n_counted(|event| is_store(event, 1, 0)), 1);
    assert_eq!(fixture.n_counted(|event| is_store(event, 0, 1)), 1);
    let is_recall = |event: &Measured, was| matches!(event, Measured::Recall { degraded, .. } if *degraded == was);
    assert_eq!(fixture.n_counted(|event| is_recall(event, false)), 1);
    assert_eq!(fixture.n_counted(|event| is_recall(event, true)), 1);
}
