//! What agents and people do in the course of a year, and what must follow from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use recalld::domain::change::{Patch, StoreStatus};
use recalld::domain::decay::Verdict;
use recalld::domain::id::MemoryId;
use recalld::domain::memory::{Memory, Status};
use recalld::service::feedback::FeedbackRequest;
use recalld::service::forget::{ForgetAnswer, ForgetRequest};
use recalld::service::get::GetRequest;
use recalld::service::remember::Draft;
use recalld::service::update::UpdateRequest;

use super::checks::strength;
use super::dialogue::Said;
use super::world::{GRACE, World, agent, owner};
use crate::random::Random;

/// What is known of what was said.
#[derive(Default)]
pub struct Book {
    /// The text that each memory must have; what was forgotten is not here.
    pub texts: BTreeMap<MemoryId, String>,
    /// Memories that nothing may change, as they were stored.
    pub fixed: BTreeMap<MemoryId, Memory>,
    /// What an agent forgot, and when: the person may want it back.
    forgotten: Vec<(MemoryId, String, Timestamp)>,
}

impl Book {
    /// Stores the next of what is said.
    pub async fn say(&mut self, world: &World, said: &mut VecDeque<Said>, n: usize) {
        for _ in 0..n {
            let Some(next) = said.pop_front() else { return };
            let is_fixed = next.pinned || next.importance.is_some();
            let draft = Draft {
                content: next.text.clone(),
                kind: Some(next.kind),
                importance: next.importance,
                pinned: next.pinned,
                ..Draft::default()
            };
            let kept = world.service.remember(&agent(), vec![draft], None).await.unwrap();
            let kept = &kept.memories[0];
            assert_ne!(kept.status, StoreStatus::Forgotten);
            let memory = world.memory(kept.id).await;
            if is_fixed && kept.status != StoreStatus::Deduplicated {
                self.fixed.insert(kept.id, memory);
            } else {
                self.texts.insert(kept.id, memory.content.to_string());
            }
        }
    }

    /// Does something with one of the memories, or nothing.
    pub async fn act(&mut self, world: &World, random: &mut Random) {
        let what = random.below(40);
        if self.texts.is_empty() || what > 16 {
            return;
        }
        let at = usize::try_from(random.below(self.texts.len() as u64)).unwrap();
        let id = *self.texts.keys().nth(at).unwrap();
        match what {
            0..=7 => self.read(world, id).await,
            8..=10 => self.judge(world, id, Verdict::Useful).await,
            11 => self.judge(world, id, Verdict::Useless).await,
            12 => self.judge(world, id, Verdict::Wrong).await,
            13 => self.reword(world, id, random.below(1_000)).await,
            14 => self.forget(world, id, false).await,
            15 => self.forget(world, id, true).await,
            _ => self.bring_back(world).await,
        }
    }

    async fn read(&self, world: &World, id: MemoryId) {
        let before = world.memory(id).await;
        let references = vec![id.to_string()];
        let request = GetRequest { references, history: false, reinforces: true };
        let got = world.service.get(&agent(), request).await.unwrap().memories.remove(0);
        assert_eq!(*got.memory.content, *self.texts[&id]);
        assert_ne!(got.memory.status, Status::Archived, "what is used comes back");
        world.service.flush_usage().await.unwrap();
        let held = strength(&before, world.now());
        expect_anchor(world, id, held + 0.05 * (1.0 - held)).await;
    }

    async fn judge(&self, world: &World, id: MemoryId, verdict: Verdict) {
        let before = world.memory(id).await;
        let request =
            FeedbackRequest { references: vec![id.to_string()], verdict, correction: None };
        world.service.feedback(&agent(), request).await.unwrap();
        world.service.flush_usage().await.unwrap();
        let held = strength(&before, world.now());
        match verdict {
            Verdict::Useful => expect_anchor(world, id, held + 0.1 * (1.0 - held)).await,
            Verdict::Useless => expect_anchor(world, id, held * 0.8).await,
            Verdict::Wrong => {
                let after = world.memory(id).await;
                assert_ne!(after.status, Status::Active, "{after:?}");
            }
        }
    }

    async fn reword(&mut self, world: &World, id: MemoryId, number: u64) {
        let text = format!("{} (put right, note {number})", self.texts[&id]);
        let patch = Patch { content: Some(Arc::from(text.as_str())), ..Patch::default() };
        let request = UpdateRequest { reference: id.to_string(), patch, request: None };
        let answer = world.service.update(&agent(), request).await.unwrap();
        assert_eq!(*answer.memory.content, *text);
        self.texts.insert(id, text);
    }

    async fn forget(&mut self, world: &World, id: MemoryId, at_once: bool) {
        let caller = if at_once { owner() } else { agent() };
        let request = ForgetRequest::Ids { references: vec![id.to_string()], request: None };
        let answer = world.service.forget(&caller, request).await.unwrap();
        let ForgetAnswer::Receipt { receipt, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(receipt.ids, [id]);
        let text = self.texts.remove(&id).unwrap();
        let there = world.records().await;
        for gone in receipt.ids.iter().chain(&receipt.withdrawn) {
            assert!(!there.contains_key(gone), "{gone} is there");
        }
        let is_built_on_it = |memory: &&Memory| memory.derived_from.contains(&id);
        assert_eq!(there.values().find(is_built_on_it), None);
        if !at_once {
            self.forgotten.push((id, text, world.now()));
        }
    }

    async fn bring_back(&mut self, world: &World) {
        let Some((id, text, at)) = self.forgotten.pop() else { return };
        let is_in_time = world.now().duration_since(at) < GRACE.try_into().unwrap();
        match world.service.restore(&owner(), &id.to_string()).await {
            Ok(memory) => {
                assert_eq!(*memory.content, *text);
                self.texts.insert(id, text);
            }
            Err(error) => assert!(!is_in_time, "{id}: {error}"),
        }
    }
}

async fn expect_anchor(world: &World, id: MemoryId, value: f64) {
    let anchor = world.memory(id).await.usage.anchor;
    assert_eq!(anchor.at, world.now());
    assert!((anchor.value - value).abs() < 1e-9, "{} instead of {value}", anchor.value);
}
