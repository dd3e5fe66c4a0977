//! A step of a run.

use std::sync::Arc;

use crate::sequence::{OpenItem, OpenKind};

use super::{Run, WriteError};

/// A step that is open (`LIFE-10`). It closes with [`finish`](Self::finish), or before its owner's next event once the
/// handle is dropped.
#[derive(Debug)]
#[must_use = "the step closes when the handle is dropped"]
pub struct StepHandle {
    run: Run,
    name: String,
    finished: bool,
}

impl StepHandle {
    pub(super) async fn start(run: Run, name: String) -> Result<Self, WriteError> {
        run.with(|scope| scope.start_step(name.clone())).await?;
        Ok(Self { run, name, finished: false })
    }

    /// The step's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Closes the step.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn finish(mut self) -> Result<(), WriteError> {
        let Self { run, name, finished } = &mut self;
        run.with(|scope| scope.finish_step(name.clone())).await?;
        *finished = true;
        Ok(())
    }
}

impl Drop for StepHandle {
    fn drop(&mut self) {
        if !self.finished {
            let name = Arc::from(self.name.as_str());
            self.run.shared.release(OpenItem::new(OpenKind::Step, name, self.run.owner.clone()));
        }
    }
}
