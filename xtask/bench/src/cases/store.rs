//! A run into the store in memory, and out of it again, against batches in a vector.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::store::{Compaction, EventBatch, MemoryRunStore, NewRun, RunStore, ThreadKey};
use futures_util::FutureExt;

use super::{Case, Subject, Targets};
use crate::measure::{Meter, whole};

/// How many events come at once.
const BATCH: usize = 16;

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let chat = &subjects[0];
    let batches: Rc<[EventBatch]> = chat.events.chunks(BATCH).map(EventBatch::from).collect();
    let same = Rc::clone(&batches);
    cases.push(Case {
        operation: "store: append, 16 events at once",
        workload: chat.name,
        events: chat.count,
        targets: Targets::NONE,
        floor: whole(move || {
            let mut held = Vec::new();
            held.extend(batches.iter().cloned());
            black_box(held);
        }),
        ours: Box::new(move |meter: &mut Meter| {
            let (store, key) = (MemoryRunStore::default(), ThreadKey::new("agent", "thread"));
            meter.run(|| record(&store, &key, &same, Compaction::Allowed));
        }),
    });
    let batches: Rc<[EventBatch]> = chat.events.chunks(BATCH).map(EventBatch::from).collect();
    let (store, key) = (MemoryRunStore::default(), ThreadKey::new("agent", "thread"));
    record(&store, &key, &batches, Compaction::Never);
    cases.push(Case {
        operation: "store: replay",
        workload: chat.name,
        events: chat.count,
        targets: Targets::NONE,
        floor: whole(move || {
            for batch in &*batches {
                black_box(batch.clone());
            }
        }),
        ours: whole(move || {
            let follow = async {
                let mut follower = store.follow(&key, None).await.expect("it is there").expect("it is known");
                while let Some(page) = follower.next_page().await.expect("it is there") {
                    black_box(page.events);
                }
            };
            follow.now_or_never().expect("the store in memory waits for nothing");
        }),
    });
}

fn record(store: &MemoryRunStore, key: &ThreadKey, batches: &[EventBatch], compaction: Compaction) {
    let recorded = async {
        let lease = store.begin(key, NewRun::new("run")).await.expect("nothing is in progress");
        let (last, others) = batches.split_last().expect("there are events");
        for batch in others {
            store.append(&lease, EventBatch::clone(batch)).await.expect("there is room");
        }
        store.finish(lease, EventBatch::clone(last), compaction).await.expect("there is room");
    };
    recorded.now_or_never().expect("the store in memory waits for nothing");
}
