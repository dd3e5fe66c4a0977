//! State: deltas that fit what the reader holds, from the input on.

use agui_core::producer::{Run, RunEnd, RunSetup, RunWriter, WriteError};
use serde_json::{Value, json};

use crate::{between, input, serve};

fn deltas(events: &[Value]) -> Vec<Value> {
    events.iter().filter(|event| event["type"] == "STATE_DELTA").map(|event| event["delta"].clone()).collect()
}

#[test]
fn without_a_state_in_the_input_the_first_change_makes_the_parents() {
    let events = between(|run: Run| async move {
        run.state().set("/plan/steps", json!(["wake"])).await?;
        run.state().set("/plan/steps/-", "eat").await?;
        run.state().set("/plan/steps/0", "rise").await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        deltas(&events),
        [
            json!([{"op": "add", "path": "/plan", "value": {"steps": ["wake"]}}]),
            json!([{"op": "add", "path": "/plan/steps/-", "value": "eat"}]),
            json!([{"op": "replace", "path": "/plan/steps/0", "value": "rise"}]),
        ]
    );
}

#[test]
fn changes_are_made_against_the_inputs_state_until_the_runs_own_snapshot() {
    let setup = RunSetup::new(input().with_state(json!({"plan": {"old": 1}, "n": 0})));
    let events = serve(setup, |run: Run| async move {
        let state = run.state();
        state.set("/n", 1).await?;
        state.update(|state| state["plan"] = json!({"new": 2})).await?;
        assert_eq!(state.get(), json!({"plan": {"new": 2}, "n": 1}));
        state.snapshot(json!([])).await?;
        state.set("/0", "first").await?;
        state.remove("/0").await?;
        state.replace(json!([])).await?; // nothing differs
        assert!(state.read(|state| state.as_array().unwrap().is_empty()));
        Ok(RunEnd::success())
    });
    let mut held = json!({"plan": {"old": 1}, "n": 0});
    for event in &events {
        match event["type"].as_str().unwrap() {
            "STATE_SNAPSHOT" => held = event["snapshot"].clone(),
            "STATE_DELTA" => json_patch::patch(
                &mut held,
                &serde_json::from_value::<json_patch::Patch>(event["delta"].clone()).unwrap(),
            )
            .unwrap(),
            _ => {}
        }
    }
    assert_eq!(held, json!([]));
    assert_eq!(deltas(&events)[0], json!([{"op": "replace", "path": "/n", "value": 1}]));
    assert_eq!(deltas(&events).len(), 4);
}

#[test]
fn a_change_that_does_not_fit_is_refused_and_changes_nothing() {
    let events = between(|run: Run| async move {
        let state = run.state();
        state.set("/n", 1).await?;
        assert!(matches!(state.set("/n/deep", 1).await, Err(WriteError::Patch(_))));
        assert!(matches!(state.remove("/no").await, Err(WriteError::Patch(_))));
        assert!(matches!(state.set("no pointer", 1).await, Err(WriteError::Pointer(_))));
        let patch = serde_json::from_value(json!([
            {"op": "replace", "path": "/n", "value": 2}, {"op": "test", "path": "/n", "value": 3}
        ]));
        assert!(matches!(state.patch(patch.unwrap()).await, Err(WriteError::Patch(_))));
        assert_eq!(state.get(), json!({"n": 1}));
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 1);
}

#[test]
fn a_change_before_the_run_leaves_the_state_alone() {
    let mut writer = RunWriter::new(input(), Vec::new());
    let refused = writer.parent().set_state(&"/n".parse().unwrap(), 1).unwrap_err();
    assert_eq!(refused.rule(), Some("LIFE-1"));
    assert_eq!(writer.state(), &json!({}));
    writer.start().unwrap();
    writer.parent().set_state(&"/n".parse().unwrap(), 1).unwrap();
    assert_eq!(writer.sink().len(), 2);
}

/// An update waits for room, and meanwhile somebody else writes.
#[test]
fn an_update_does_not_undo_what_other_clones_write() {
    use std::task::{Context, Waker};

    use agui_core::producer::{Launched, RunLimits, launch};

    let handler = |run: Run| async move {
        let other = run.clone();
        let update = run.state();
        let update = update.update(|state| state["mine"] = json!(1));
        let set = async { other.state().set("/theirs", 2).await };
        // The other's change waits first and goes out first.
        let (set, update) = futures_util::future::join(set, update).await;
        set?;
        update?;
        Ok(RunEnd::success())
    };
    let limits = RunLimits::default().with_max_queued_events(1);
    let Launched { task, mut events, control, .. } =
        launch(std::sync::Arc::new(handler), RunSetup::new(input()).with_limits(limits));
    let mut task = std::pin::pin!(task);
    let mut cx = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    while task.as_mut().poll(&mut cx).is_pending() {
        let _ = events.poll_take(&mut cx, &mut taken);
    }
    let _ = events.poll_take(&mut cx, &mut taken);
    control.settle(Ok(RunEnd::success()));
    let mut held = json!({});
    for event in taken.iter().map(|event| json!(event)).filter(|event| event["type"] == "STATE_DELTA") {
        let patch: json_patch::Patch = serde_json::from_value(event["delta"].clone()).unwrap();
        json_patch::patch(&mut held, &patch).unwrap();
    }
    assert_eq!(held, json!({"mine": 1, "theirs": 2}));
}
