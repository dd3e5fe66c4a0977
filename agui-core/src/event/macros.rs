//! The macros that declare events: the members every event has, and the table of all 31.

/// Declares an event struct: its own members, then those every event may carry.
///
/// `attributable` adds `subagentRunId`; run events, snapshots of messages and the subagent events themselves have
/// none or a required one (`SUB-7`).
macro_rules! event_object {
    (
        $(#[$meta:meta])*
        $Name:ident attributable {
            $( fixed $fixed:literal = $value:literal; )+
            required { $($required:tt)* }
            optional { $($optional:tt)* }
        }
    ) => {
        event_object! {
            $(#[$meta])*
            $Name {
                $( fixed $fixed = $value; )+
                required { $($required)* }
                optional {
                    $($optional)*
                    /// The subagent invocation this event belongs to; absent for the parent agent (`SUB-1`).
                    subagent_run_id/with_subagent_run_id "subagentRunId": $crate::SubagentRunId,
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        $Name:ident {
            $( fixed $fixed:literal = $value:literal; )+
            required { $($required:tt)* }
            optional { $($optional:tt)* }
        }
    ) => {
        protocol_object! {
            $(#[$meta])*
            $Name {
                $( fixed $fixed = $value; )+
                required { $($required)* }
                optional {
                    $($optional)*
                    /// When the event was made, in milliseconds since the Unix epoch by convention. Information only:
                    /// events are ordered by arrival (`SHAPE-3`, `SHAPE-7`).
                    timestamp/with_timestamp "timestamp": i64,
                    /// Open metadata of the event; what an item's events carry merges into the item (`META-1`, `META-2`).
                    metadata/with_metadata "metadata": $crate::Metadata,
                    /// The provider's own event, carried as it came and never interpreted (`SHAPE-8`).
                    raw_event/with_raw_event "rawEvent": Box<::serde_json::Value>,
                }
            }
        }
    };
}

/// Declares [`Event`](crate::Event) and [`EventType`](crate::EventType) from one table.
///
/// `inline` variants are stored in the enum, `boxed` ones behind a pointer (rare and large); `owned` marks those
/// whose attribution the producer may set.
macro_rules! event_table {
    ($( $Variant:ident $wire:literal $Struct:ident $storage:ident $attribution:ident $vdoc:literal, )+) => {
        protocol_enum! {
            /// The kind of an event: the 31 values of `type`, all of them normative (`SHAPE-5`).
            EventType (true) { $( #[doc = $vdoc] $Variant $wire, )+ }
        }

        /// One event of a run's stream.
        ///
        /// Serializes with `type` first. Deserialization is strict: an unknown member or type is an error, as is
        /// a `null` in an optional member; a receiver that has to tolerate unknown material (`PROC-2` to `PROC-4`)
        /// reads through [`enforce`](crate::enforce).
        ///
        /// # Examples
        /// ```
        /// # use agui_core::{Event, EventType, TextMessageContentEvent};
        /// let event = Event::from(TextMessageContentEvent::new("m1", "Hel"));
        /// assert_eq!(event.event_type(), EventType::TextMessageContent);
        /// assert_eq!(serde_json::to_string(&event)?, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}"#);
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Event { $( #[doc = $vdoc] $Variant(event_table!(@slot $storage $Struct)), )+ }

        // An event waits in channels; what is rare and large is behind a pointer.
        const _: () = assert!(size_of::<Event>() <= 128);

        $(
            impl From<$Struct> for Event {
                fn from(event: $Struct) -> Self {
                    Self::$Variant(event.into())
                }
            }
        )+

        impl Event {
            /// The kind of the event.
            pub const fn event_type(&self) -> EventType {
                match self { $( Self::$Variant(_) => EventType::$Variant, )+ }
            }

            /// When the event was made (`SHAPE-3`); absent if its producer does not say.
            pub fn timestamp(&self) -> Option<i64> {
                match self { $( Self::$Variant(event) => event.timestamp, )+ }
            }

            /// Sets or removes the timestamp.
            pub fn set_timestamp(&mut self, timestamp: Option<i64>) {
                match self { $( Self::$Variant(event) => event.timestamp = timestamp, )+ }
            }

            /// The event's metadata.
            pub fn metadata(&self) -> Option<&Metadata> {
                match self { $( Self::$Variant(event) => event.metadata.as_ref(), )+ }
            }

            /// Sets or removes the metadata.
            pub fn set_metadata(&mut self, metadata: Option<Metadata>) {
                match self { $( Self::$Variant(event) => event.metadata = metadata, )+ }
            }

            /// The provider's own event (`SHAPE-8`).
            pub fn raw_event(&self) -> Option<&Value> {
                match self { $( Self::$Variant(event) => event.raw_event.as_deref(), )+ }
            }

            /// Sets or removes the provider's own event; a `null` removes it.
            pub fn set_raw_event(&mut self, raw: Option<Value>) {
                let raw = raw.filter(|raw| !raw.is_null()).map(Box::new);
                match self { $( Self::$Variant(event) => event.raw_event = raw, )+ }
            }

            /// The subagent invocation the event is attributed to; `None` for the parent agent and for events that
            /// carry no attribution (`SUB-1`, `SUB-7`).
            pub fn subagent_run_id(&self) -> Option<&SubagentRunId> {
                match self { $( Self::$Variant(event) => event_table!(@owner $attribution event), )+ }
            }

            /// Attributes the event; says whether this kind of event can carry an attribution.
            pub fn set_subagent_run_id(&mut self, owner: Option<SubagentRunId>) -> bool {
                match self { $( Self::$Variant(event) => event_table!(@set_owner $attribution event owner), )+ }
            }

            /// Reads the event of a known type from JSON text.
            pub(crate) fn read_typed<'de, D: Deserializer<'de>>(
                kind: EventType,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                match kind {
                    $( EventType::$Variant => crate::shape::read_object::<D, $Struct>(deserializer).map(Self::from), )+
                }
            }
        }

        impl WireUnion for Event {
            const UNION: UnionShape = UnionShape {
                name: "Event",
                tag: "type",
                members: &[$( ($wire, &<$Struct as WireObject>::SHAPE) ),+],
            };

            fn read_member<'de, A: MapAccess<'de>>(tag: &str, map: A) -> Result<Self, A::Error> {
                match EventType::from_wire(tag) {
                    $( Some(EventType::$Variant) => $Struct::read_map(map, true).map(Self::from), )+
                    None => Err(de::Error::unknown_variant(tag, &[$( $wire ),+])),
                }
            }
        }

        impl Serialize for Event {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $( Self::$Variant(event) => event.serialize(serializer), )+ }
            }
        }
    };

    (@slot inline $Struct:ident) => { $Struct };
    (@slot boxed $Struct:ident) => { Box<$Struct> };
    (@owner owned $event:ident) => { $event.subagent_run_id.as_ref() };
    (@owner itself $event:ident) => { Some(&$event.subagent_run_id) };
    (@owner none $event:ident) => {{ let _ = $event; None }};
    (@set_owner owned $event:ident $owner:ident) => {{ $event.subagent_run_id = $owner; true }};
    (@set_owner itself $event:ident $owner:ident) => {{ let _ = ($event, $owner); false }};
    (@set_owner none $event:ident $owner:ident) => {{ let _ = ($event, $owner); false }};
}
