//! The memory store against what every store owes.

use agui_core::store::{
    Compaction, DynRunStore, MemoryLimits, MemoryRunStore, NewRun, RunStore, ThreadKey, contract,
};
use agui_core::{Event, RunFinishedEvent};

#[test]
fn the_memory_store_keeps_the_contract() {
    futures_executor::block_on(contract::check(&MemoryRunStore::default()));
}

#[test]
fn it_keeps_the_contract_where_every_append_needs_a_grant_and_little_is_kept() {
    let limits = MemoryLimits::default().with_grant_bytes(1).with_max_threads(64).with_max_runs_per_thread(2);
    let store: Box<dyn DynRunStore> = Box::new(MemoryRunStore::new(limits));
    futures_executor::block_on(contract::check(&*store));
}

#[test]
fn it_keeps_the_contract_when_others_need_the_room() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_threads(3));
    let mut others = 0;
    let pass = async || {
        others += 1;
        let lease =
            store.begin(&ThreadKey::new("other", others.to_string()), NewRun::new("r")).await.unwrap();
        let ending: [Event; 1] = [RunFinishedEvent::new("other", "r").into()];
        store.finish(lease, ending.into(), Compaction::Allowed).await.unwrap();
        others < 4
    };
    futures_executor::block_on(contract::only_idle_threads_are_given_up(&store, pass));
}
