//! What an endpoint can be told, with its defaults.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agui_core::RunError;
use agui_core::producer::{Extensions, RunLimits};

use super::authenticate::{Admit, Gate};
use super::{OnDisconnect, RunInfo};
use crate::Wildcards;

/// Who a run counts for.
pub(crate) type IdentityOf = Arc<dyn Fn(&Extensions) -> Option<String> + Send + Sync>;
/// Is told of every failure in full.
pub(crate) type ErrorHook = Arc<dyn Fn(&RunError, &RunInfo) + Send + Sync>;

/// The settings of an endpoint.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) max_body_bytes: usize,
    /// Of a thread or a run.
    pub(crate) max_id_bytes: usize,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) wildcards: Wildcards,
    /// Whether binary formats of this build answer as well.
    pub(crate) protobuf: bool,
    pub(crate) gate: Gate,
    pub(crate) admit: Option<Admit>,
    pub(crate) generate_ids: bool,
    pub(crate) echo_input: bool,
    pub(crate) limits: RunLimits,
    pub(crate) max_runs: Option<usize>,
    pub(crate) max_runs_per_identity: Option<(usize, IdentityOf)>,
    pub(crate) drive: DriveSettings,
}

/// How a run is driven.
#[derive(Clone)]
pub(crate) struct DriveSettings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) abandon_grace: Duration,
    pub(crate) stop_grace: Duration,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) on_error: Option<ErrorHook>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_body_bytes: 8 * 1024 * 1024,
            max_id_bytes: 1024,
            keep_alive: Some(Duration::from_secs(15)),
            wildcards: Wildcards::default(),
            protobuf: true,
            gate: Gate::default(),
            admit: None,
            generate_ids: false,
            echo_input: false,
            limits: RunLimits::default(),
            max_runs: None,
            max_runs_per_identity: None,
            drive: DriveSettings {
                timeout: None,
                abandon_grace: Duration::ZERO,
                stop_grace: Duration::from_secs(2),
                on_disconnect: OnDisconnect::Cancel,
                on_error: None,
            },
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("max_body_bytes", &self.max_body_bytes)
            .field("max_id_bytes", &self.max_id_bytes)
            .field("keep_alive", &self.keep_alive)
            .field("wildcards", &self.wildcards)
            .field("protobuf", &self.protobuf)
            .field("gate", &self.gate)
            .field("admit", &self.admit.is_some())
            .field("generate_ids", &self.generate_ids)
            .field("echo_input", &self.echo_input)
            .field("limits", &self.limits)
            .field("max_runs", &self.max_runs)
            .field("max_runs_per_identity", &self.max_runs_per_identity.as_ref().map(|(limit, _)| limit))
            .field("drive", &self.drive)
            .finish()
    }
}

impl fmt::Debug for DriveSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriveSettings")
            .field("timeout", &self.timeout)
            .field("abandon_grace", &self.abandon_grace)
            .field("stop_grace", &self.stop_grace)
            .field("on_disconnect", &self.on_disconnect)
            .field("on_error", &self.on_error.is_some())
            .finish()
    }
}
