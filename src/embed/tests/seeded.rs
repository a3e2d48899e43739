//! The stand-in model.

use crate::embed::{Choice, Queue, seeded};
use crate::ports::Embedder;

#[tokio::test]
async fn texts_that_share_words_are_near_and_seeds_are_worlds_apart() {
    let queue = super::start(Choice::Seeded, 1);
    let query = queue.embed_query("green tea in the morning".into()).await.unwrap();
    let texts =
        ["She drinks green tea every morning", "The invoice is overdue", "我喜欢乌龙茶", "", "!?"];
    let vectors =
        queue.embed_documents(texts.iter().map(|text| (*text).into()).collect()).await.unwrap();
    vectors.iter().flatten().for_each(super::assert_unit);
    let near = super::cosine(&query, &vectors[0][0]);
    let far = super::cosine(&query, &vectors[1][0]);
    assert!(near > 0.4 && far < 0.3, "{near} {far}");
    let tea = queue.embed_query("乌龙".into()).await.unwrap();
    assert!(super::cosine(&tea, &vectors[2][0]) > 0.4);

    let other = Queue::start(seeded::identity(1), 1, || Ok(seeded::model(1)));
    assert_ne!(other.identity(), queue.identity());
    let elsewhere = other.embed_query("green tea in the morning".into()).await.unwrap();
    assert!(super::cosine(&query, &elsewhere).abs() < 0.3);
}
