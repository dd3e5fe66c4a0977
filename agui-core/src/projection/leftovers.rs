//! What an event has no place for: one value under one metadata key.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Metadata, MetadataNamespace};

/// Longest part of a reader's complaint that an error repeats, in characters: it may quote what was sent.
const MAX_REASON_CHARS: usize = 200;

/// One metadata key under which an application keeps what AG-UI has no place for (`META-3`).
///
/// Works on the metadata of anything: an event, an interrupt, a message, a tool call. Other keys are left alone, and
/// nobody on the way judges or removes this one (`META-4`), unless they break the protocol; a reader therefore takes
/// `None` for an answer.
///
/// # Examples
/// ```
/// use agui_core::projection::Leftovers;
/// use agui_core::{MetadataNamespace, ToolCallEndEvent};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
/// struct Extra {
///     #[serde(default, skip_serializing_if = "Option::is_none")]
///     approved_by: Option<String>,
/// }
///
/// const LEFTOVERS: Leftovers = Leftovers::new(MetadataNamespace::new("acme"), "frame");
///
/// let extra = Extra { approved_by: Some("ada".into()) };
/// let event = LEFTOVERS.attach(ToolCallEndEvent::new("c1"), &extra)?;
/// assert_eq!(event.metadata().unwrap()["acme.frame"]["approved_by"], "ada");
/// assert_eq!(LEFTOVERS.get(event.metadata())?, Some(extra));
///
/// // Where nothing is left over, nothing is sent.
/// let event = LEFTOVERS.attach(ToolCallEndEvent::new("c2"), &Extra::default())?;
/// assert_eq!(event.metadata(), None);
/// assert_eq!(LEFTOVERS.get::<Extra>(event.metadata())?.unwrap_or_default(), Extra::default());
/// # Ok::<(), agui_core::projection::LeftoversError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftovers {
    namespace: MetadataNamespace,
    name: &'static str,
}

impl Leftovers {
    /// The key `name` of a name space.
    pub const fn new(namespace: MetadataNamespace, name: &'static str) -> Self {
        Self { namespace, name }
    }

    /// The full key.
    pub fn key(&self) -> String {
        self.namespace.key(self.name)
    }

    /// Puts a value under the key, in the place of one that is there. A value that is written as `null` or as an
    /// empty object says nothing: the key is removed instead.
    ///
    /// # Errors
    /// The value cannot be written as JSON. The metadata is as before then.
    pub fn put<T: Serialize + ?Sized>(
        &self,
        metadata: &mut Option<Metadata>,
        value: &T,
    ) -> Result<(), LeftoversError> {
        let value = serde_json::to_value(value).map_err(|error| self.error(&error))?;
        if value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty) {
            self.remove(metadata);
        } else {
            self.namespace.set(metadata.get_or_insert_default(), self.name, value);
        }
        Ok(())
    }

    /// An event with a value [put](Self::put) on its metadata.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn attach<T: Serialize + ?Sized>(
        &self,
        event: impl Into<Event>,
        value: &T,
    ) -> Result<Event, LeftoversError> {
        let mut event = event.into();
        let mut metadata = event.metadata().cloned();
        self.put(&mut metadata, value)?;
        event.set_metadata(metadata);
        Ok(event)
    }

    /// Reads the value under the key; `None` if there is none.
    ///
    /// # Errors
    /// The value is there and no `T`.
    pub fn get<T: DeserializeOwned>(&self, metadata: Option<&Metadata>) -> Result<Option<T>, LeftoversError> {
        let Some(value) = metadata.and_then(|metadata| self.namespace.get(metadata, self.name)) else {
            return Ok(None);
        };
        T::deserialize(value).map(Some).map_err(|error| self.error(&error))
    }

    /// Reads the value under the key and removes it; metadata that held nothing else becomes absent.
    ///
    /// # Errors
    /// The value is there and no `T`. It stays then.
    pub fn take<T: DeserializeOwned>(
        &self,
        metadata: &mut Option<Metadata>,
    ) -> Result<Option<T>, LeftoversError> {
        let value = self.get(metadata.as_ref())?;
        self.remove(metadata);
        Ok(value)
    }

    fn remove(&self, metadata: &mut Option<Metadata>) {
        let Some(members) = metadata else { return };
        // An empty object that was there before is somebody else's and stays.
        if self.namespace.remove(members, self.name).is_some() && members.is_empty() {
            *metadata = None;
        }
    }

    #[cold]
    fn error(&self, error: &serde_json::Error) -> LeftoversError {
        let reason = error.to_string().chars().take(MAX_REASON_CHARS).collect();
        LeftoversError { key: self.key(), reason }
    }
}

/// Leftovers that cannot be written as JSON, or that are not what the application puts there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the leftovers under {key:?} do not fit: {reason}")]
#[non_exhaustive]
pub struct LeftoversError {
    key: String,
    reason: String,
}

impl LeftoversError {
    /// The metadata key concerned.
    pub fn key(&self) -> &str {
        &self.key
    }
}
