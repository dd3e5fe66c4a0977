//! The memory store against what every store owes.

use agui_core::store::{DynRunStore, MemoryLimits, MemoryRunStore, contract};

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
