//! The rules of a stream, written down a second time, from the protocol and for its JSON.
//!
//! It shares nothing with the crate: it reads JSON members by name, keeps plain maps and applies patches with another
//! library. It judges what a producer may send: `LIFE`, `STREAM`, `SUB`, `CHUNK`, `STATE` and `INT-7`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A subagent's invocation, or the parent agent.
type Owner = Option<String>;
type Verdict = Result<(), String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Active,
    Finished,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Text,
    Call,
    Thought,
    Span,
}

#[derive(Debug, Clone)]
struct Message {
    role: String,
    /// Not said where only a call has named the message.
    name: Option<Owner>,
    owner: Owner,
}

#[derive(Debug, Clone)]
struct Call {
    name: String,
    parent: String,
    owner: Owner,
}

#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    thread: String,
    run: String,
    phase: Phase,
    open: BTreeMap<(Kind, String), Owner>,
    steps: BTreeSet<(Owner, String)>,
    active: BTreeSet<String>,
    announced: BTreeSet<String>,
    spans: BTreeMap<String, Owner>,
    messages: BTreeMap<String, Message>,
    calls: BTreeMap<String, Call>,
    started: Vec<String>,
    answered: BTreeSet<String>,
    /// What a chunk stream builds in each owner's lane.
    lanes: BTreeMap<Owner, (Kind, String)>,
    /// The parent message that the last chunk to open a call in each lane named.
    parents: BTreeMap<Owner, Owner>,
    state: Value,
    misfits: usize,
}

fn text<'e>(event: &'e Value, member: &str) -> &'e str {
    event[member].as_str().unwrap_or_else(|| panic!("{event} has no text {member}"))
}

fn maybe(event: &Value, member: &str) -> Owner {
    event[member].as_str().map(str::to_owned)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn is_text(role: &str) -> bool {
    ["assistant", "user", "system", "developer"].contains(&role)
}

impl Oracle {
    pub(crate) fn new(input: &Value) -> Self {
        let mut oracle = Self {
            thread: text(input, "threadId").to_owned(),
            run: text(input, "runId").to_owned(),
            phase: Phase::Before,
            open: BTreeMap::new(),
            steps: BTreeSet::new(),
            active: BTreeSet::new(),
            announced: BTreeSet::new(),
            spans: BTreeMap::new(),
            messages: BTreeMap::new(),
            calls: BTreeMap::new(),
            started: Vec::new(),
            answered: BTreeSet::new(),
            lanes: BTreeMap::new(),
            parents: BTreeMap::new(),
            state: input.get("state").cloned().unwrap_or_else(|| json!({})),
            misfits: 0,
        };
        oracle.hold(input["messages"].as_array().unwrap());
        oracle
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    /// The state a consumer holds.
    pub(crate) const fn state(&self) -> &Value {
        &self.state
    }

    /// How many state deltas did not apply.
    pub(crate) const fn misfits(&self) -> usize {
        self.misfits
    }

    /// The calls that the run has started and not answered, in the order made.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        self.started.iter().filter(|call| !self.answered.contains(*call)).cloned().collect()
    }

    /// Judges the next event; one that is refused changes nothing.
    pub(crate) fn judge(&mut self, event: &Value) -> Verdict {
        let mut next = self.clone();
        next.take(event)?;
        *self = next;
        Ok(())
    }

    fn take(&mut self, event: &Value) -> Verdict {
        let kind = text(event, "type");
        match kind {
            "RUN_STARTED" => return self.start(event),
            "RUN_ERROR" => {
                ensure(self.phase != Phase::Failed, || "LIFE-7: an error after an error".to_owned())?;
                self.phase = Phase::Failed;
                return Ok(());
            }
            _ => ensure(self.phase == Phase::Active, || format!("LIFE-1/7: {kind} outside of a run"))?,
        }
        if kind.ends_with("_CHUNK") {
            return self.chunk(event);
        }
        self.end_lanes(event);
        self.explicit(event)
    }

    fn start(&mut self, event: &Value) -> Verdict {
        ensure(self.phase == Phase::Before, || "LIFE-2/SHAPE-9: the one run starts once".to_owned())?;
        ensure(text(event, "threadId") == self.thread && text(event, "runId") == self.run, || {
            "LIFE-9: other ids than asked for".to_owned()
        })?;
        self.phase = Phase::Active;
        Ok(())
    }

    fn explicit(&mut self, event: &Value) -> Verdict {
        let tag = maybe(event, "subagentRunId");
        let id = |member: &str| text(event, member).to_owned();
        match text(event, "type") {
            "TEXT_MESSAGE_START" => self.open_text(
                &id("messageId"),
                event["role"].as_str().unwrap_or("assistant"),
                &maybe(event, "name"),
                &tag,
            ),
            "TEXT_MESSAGE_CONTENT" => self.goes_on(Kind::Text, &id("messageId"), &tag),
            "TEXT_MESSAGE_END" => self.end(Kind::Text, &id("messageId"), &tag),
            "TOOL_CALL_START" => self.open_call(
                &id("toolCallId"),
                text(event, "toolCallName"),
                &maybe(event, "parentMessageId"),
                &tag,
            ),
            "TOOL_CALL_ARGS" => self.goes_on(Kind::Call, &id("toolCallId"), &tag),
            "TOOL_CALL_END" => self.end(Kind::Call, &id("toolCallId"), &tag),
            "TOOL_CALL_RESULT" => self.result(&id("messageId"), &id("toolCallId"), &tag),
            "REASONING_MESSAGE_START" => self.open_thought(&id("messageId"), &tag),
            "REASONING_MESSAGE_CONTENT" => self.goes_on(Kind::Thought, &id("messageId"), &tag),
            "REASONING_MESSAGE_END" => self.end(Kind::Thought, &id("messageId"), &tag),
            "REASONING_START" => self.open_span(&id("messageId"), &tag),
            "REASONING_END" => self.end(Kind::Span, &id("messageId"), &tag),
            "STEP_STARTED" => {
                let step = (tag, id("stepName"));
                ensure(self.steps.insert(step.clone()), || format!("LIFE-10: {step:?} is open"))
            }
            "STEP_FINISHED" => {
                let step = (tag, id("stepName"));
                ensure(self.steps.remove(&step), || format!("LIFE-10: {step:?} is not open"))
            }
            "SUBAGENT_STARTED" => {
                let (id, parent) = (id("subagentRunId"), maybe(event, "parentSubagentRunId"));
                let known = parent.as_ref().is_none_or(|parent| self.announced.contains(parent));
                ensure(known, || format!("SUB-2: {parent:?} was not announced"))?;
                ensure(self.announced.insert(id.clone()), || format!("SUB-2: {id} was announced"))?;
                self.active.insert(id);
                Ok(())
            }
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                let id = id("subagentRunId");
                ensure(self.active.remove(&id), || format!("SUB-2: {id} is not active"))
            }
            "STATE_SNAPSHOT" => {
                self.state = event["snapshot"].clone();
                Ok(())
            }
            "STATE_DELTA" => {
                let patch: json_patch::Patch = serde_json::from_value(event["delta"].clone()).unwrap();
                let mut state = self.state.clone();
                match json_patch::patch(&mut state, &patch) {
                    Ok(()) => self.state = state,
                    Err(_) => self.misfits += 1,
                }
                Ok(())
            }
            "MESSAGES_SNAPSHOT" => {
                self.snapshot(event["messages"].as_array().unwrap());
                Ok(())
            }
            "ACTIVITY_SNAPSHOT" => self.activity(&id("messageId"), event["replace"] != json!(false), &tag),
            "ACTIVITY_DELTA" => match self.messages.get(text(event, "messageId")) {
                Some(Message { role, owner, .. }) if role == "activity" => {
                    ensure(tag.is_none() || tag == *owner, || "SUB-3: another owner's activity".to_owned())?;
                    let root =
                        event["patch"].as_array().unwrap().iter().find(|operation| operation["path"] == "");
                    let object = root.is_none_or(|operation| operation["value"].is_object());
                    ensure(object, || "STATE-8: the content is no object".to_owned())
                }
                _ => Err("STATE-11: no activity to change".to_owned()),
            },
            "REASONING_ENCRYPTED_VALUE" => {
                let target = text(event, "entityId");
                let owner = match text(event, "subtype") {
                    "message" => self
                        .messages
                        .get(target)
                        .filter(|known| known.role != "activity")
                        .map(|known| &known.owner),
                    _ => self.calls.get(target).map(|call| &call.owner),
                };
                ensure(tag.is_none() || owner.is_none_or(|owner| *owner == tag), || {
                    "SUB-3: another owner's target".to_owned()
                })
            }
            "RAW" | "CUSTOM" => Ok(()),
            "RUN_FINISHED" => self.finish(event),
            other => Err(format!("PROC-11: {other} is no event of the protocol")),
        }
    }

    fn finish(&mut self, event: &Value) -> Verdict {
        ensure(text(event, "threadId") == self.thread && text(event, "runId") == self.run, || {
            "LIFE-9: other ids than the start".to_owned()
        })?;
        ensure(self.open.is_empty(), || format!("LIFE-3: open: {:?}", self.open))?;
        ensure(self.steps.is_empty(), || format!("LIFE-3: open: {:?}", self.steps))?;
        ensure(self.active.is_empty(), || format!("LIFE-3: active: {:?}", self.active))?;
        if let Some(named) = event["outcome"].get("pendingToolCallIds") {
            ensure(*named == json!(self.unanswered()), || {
                format!("INT-7: {named} are not {:?}", self.unanswered())
            })?;
        }
        if let Some(interrupts) = event["outcome"]["interrupts"].as_array() {
            let ids: BTreeSet<&str> = interrupts.iter().map(|interrupt| text(interrupt, "id")).collect();
            ensure(!ids.is_empty() && ids.len() == interrupts.len(), || "LIFE-4: interrupt ids".to_owned())?;
        }
        self.phase = Phase::Finished;
        Ok(())
    }

    fn insert(&mut self, kind: Kind, id: &str, owner: Owner) -> Verdict {
        let before = self.open.insert((kind, id.to_owned()), owner);
        ensure(before.is_none(), || format!("STREAM-1: {kind:?} {id} is open"))
    }

    fn goes_on(&self, kind: Kind, id: &str, tag: &Owner) -> Verdict {
        match self.open.get(&(kind, id.to_owned())) {
            None => Err(format!("STREAM-1: {kind:?} {id} is not open")),
            Some(owner) => {
                ensure(tag.is_none() || tag == owner, || format!("SUB-3: {id} is {owner:?}'s, not {tag:?}'s"))
            }
        }
    }

    fn end(&mut self, kind: Kind, id: &str, tag: &Owner) -> Verdict {
        self.goes_on(kind, id, tag)?;
        self.open.remove(&(kind, id.to_owned()));
        Ok(())
    }

    fn open_text(&mut self, id: &str, role: &str, name: &Owner, tag: &Owner) -> Verdict {
        let mut owner = tag.clone();
        match self.messages.get_mut(id) {
            Some(known) => {
                ensure(is_text(&known.role), || {
                    format!("SHAPE-9: {id} is a message of role {}", known.role)
                })?;
                ensure(known.role == role, || format!("STREAM-4: {id} has role {}", known.role))?;
                let said = known.name.get_or_insert_with(|| name.clone());
                ensure(said == name, || format!("STREAM-4: {id} has name {said:?}"))?;
                ensure(*tag == known.owner, || format!("STREAM-4: {id} is {:?}'s", known.owner))?;
                owner.clone_from(&known.owner);
            }
            None => self.note(id, role, Some(name.clone()), tag),
        }
        self.insert(Kind::Text, id, owner)
    }

    fn open_thought(&mut self, id: &str, tag: &Owner) -> Verdict {
        if let (Some(_), Some(Some(span))) = (tag, self.spans.get(id)) {
            ensure(tag.as_ref() == Some(span), || format!("SUB-3: span {id} is {span}'s"))?;
        }
        let mut owner = tag.clone();
        match self.messages.get(id) {
            Some(known) => {
                ensure(known.role == "reasoning", || {
                    format!("SHAPE-9: {id} is a message of role {}", known.role)
                })?;
                ensure(*tag == known.owner, || format!("STREAM-4: {id} is {:?}'s", known.owner))?;
                owner.clone_from(&known.owner);
            }
            None => self.note(id, "reasoning", Some(None), tag),
        }
        self.insert(Kind::Thought, id, owner)
    }

    fn open_span(&mut self, id: &str, tag: &Owner) -> Verdict {
        if let Some(owner) = self.spans.get(id) {
            ensure(tag.is_none() || tag == owner, || format!("SUB-3: span {id} is {owner:?}'s"))?;
        }
        if let Some(Message { role, owner: Some(owner), .. }) = self.messages.get(id)
            && role == "reasoning"
        {
            let agrees = tag.as_ref().is_none_or(|tag| tag == owner);
            ensure(agrees, || format!("SUB-3: message {id} is {owner}'s"))?;
        }
        let owner = self.spans.entry(id.to_owned()).or_insert_with(|| tag.clone()).clone();
        self.insert(Kind::Span, id, owner)
    }

    fn open_call(&mut self, id: &str, name: &str, parent: &Owner, tag: &Owner) -> Verdict {
        // A call without a parent has a message of its own, under its own id.
        let parent = parent.clone().unwrap_or_else(|| id.to_owned());
        let mut owner = tag.clone();
        if let Some(known) = self.calls.get(id) {
            let agrees = known.name == name && known.parent == parent;
            ensure(agrees, || format!("STREAM-4: {id} calls {} for {}", known.name, known.parent))?;
            ensure(*tag == known.owner, || format!("STREAM-4: {id} is {:?}'s", known.owner))?;
            owner.clone_from(&known.owner);
        } else {
            match self.messages.get(&parent) {
                Some(message) => {
                    ensure(message.role == "assistant", || format!("{parent} is of role {}", message.role))?;
                    let agrees = tag.is_none() || *tag == message.owner;
                    ensure(agrees, || format!("SUB-4: {parent} is {:?}'s", message.owner))?;
                    owner.clone_from(&message.owner);
                }
                None => self.note(&parent, "assistant", None, tag),
            }
            self.calls.insert(id.to_owned(), Call { name: name.to_owned(), parent, owner: owner.clone() });
        }
        if !self.started.iter().any(|call| call == id) {
            self.started.push(id.to_owned());
        }
        self.insert(Kind::Call, id, owner)
    }

    fn result(&mut self, id: &str, call: &str, tag: &Owner) -> Verdict {
        ensure(!self.messages.contains_key(id), || format!("SHAPE-9: {id} is a message already"))?;
        let open = self.open.contains_key(&(Kind::Call, call.to_owned()));
        ensure(!open, || format!("STREAM-5: {call} is answered before its arguments are complete"))?;
        self.note(id, "tool", Some(None), tag);
        self.answered.insert(call.to_owned());
        Ok(())
    }

    fn activity(&mut self, id: &str, replaces: bool, tag: &Owner) -> Verdict {
        if let Some(known) = self.messages.get(id) {
            ensure(known.role == "activity", || {
                format!("SHAPE-9: {id} is a message of role {}", known.role)
            })?;
            ensure(replaces || *tag == known.owner, || format!("STATE-7: {id} is {:?}'s", known.owner))?;
        }
        self.note(id, "activity", Some(None), tag);
        Ok(())
    }

    fn note(&mut self, id: &str, role: &str, name: Option<Owner>, owner: &Owner) {
        self.messages.insert(id.to_owned(), Message { role: role.to_owned(), name, owner: owner.clone() });
    }

    /// Takes messages in as they are said to be.
    fn hold(&mut self, messages: &[Value]) {
        for message in messages {
            let (id, role, owner) =
                (text(message, "id"), text(message, "role"), maybe(message, "subagentRunId"));
            self.note(id, role, Some(maybe(message, "name")), &owner);
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                let name = text(&call["function"], "name").to_owned();
                let call_id = text(call, "id").to_owned();
                self.calls.insert(call_id, Call { name, parent: id.to_owned(), owner: owner.clone() });
            }
        }
    }

    fn snapshot(&mut self, messages: &[Value]) {
        let carries = |role: &str| messages.iter().any(|message| message["role"] == role);
        self.messages.retain(|_, message| {
            ["activity", "reasoning"].contains(&message.role.as_str()) && !carries(&message.role)
        });
        self.calls.clear();
        self.hold(messages);
        for message in messages {
            let (id, owner) = (text(message, "id"), maybe(message, "subagentRunId"));
            let mut restate = |kind, id: &str| {
                if let Some(open) = self.open.get_mut(&(kind, id.to_owned())) {
                    open.clone_from(&owner);
                }
            };
            match text(message, "role") {
                "reasoning" => restate(Kind::Thought, id),
                role if is_text(role) => restate(Kind::Text, id),
                _ => {}
            }
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                restate(Kind::Call, text(call, "id"));
            }
            // A result from before the call is another run's.
            if let Some(call) = message["toolCallId"].as_str()
                && self.started.iter().any(|started| started == call)
            {
                self.answered.insert(call.to_owned());
            }
        }
    }

    fn chunk(&mut self, event: &Value) -> Verdict {
        let (kind, member) = match text(event, "type") {
            "TEXT_MESSAGE_CHUNK" => (Kind::Text, "messageId"),
            "TOOL_CALL_CHUNK" => (Kind::Call, "toolCallId"),
            _ => (Kind::Thought, "messageId"),
        };
        let (id, tag) = (maybe(event, member), maybe(event, "subagentRunId"));
        let of_kind =
            |lane: &Owner| self.lanes.get(lane).filter(|built| built.0 == kind).map(|built| built.1.clone());
        let mut others = self.lanes.iter().filter(|(_, built)| built.0 == kind);
        let lane = match (&id, of_kind(&tag)) {
            (None, Some(_)) => Some(tag.clone()),
            (None, None) if tag.is_none() => match (others.next(), others.next()) {
                (Some((lane, _)), None) => Some(lane.clone()),
                (Some(_), Some(_)) => return Err("CHUNK-5: ambiguous".to_owned()),
                (None, _) => None,
            },
            (None, None) => None,
            (Some(id), own) if own.as_ref() == Some(id) => Some(tag.clone()),
            (Some(id), _) => match others.find(|(_, built)| built.1 == *id) {
                Some((lane, _)) if tag.is_none() => Some(lane.clone()),
                Some(_) => return Err(format!("SUB-3: {id} is built by another owner")),
                None => None,
            },
        };
        if let Some(lane) = lane {
            let (_, id) = self.lanes[&lane].clone();
            return self.repeats(event, kind, &lane, &id);
        }
        let id = id.ok_or_else(|| format!("CHUNK-1: no {member}"))?;
        if kind == Kind::Call {
            ensure(event["toolCallName"].is_string(), || "CHUNK-1: no toolCallName".to_owned())?;
        }
        self.end_lane(&tag);
        match kind {
            Kind::Text => {
                let role = event["role"].as_str().unwrap_or("assistant");
                self.open_text(&id, role, &maybe(event, "name"), &tag)?;
            }
            Kind::Call => {
                self.open_call(&id, text(event, "toolCallName"), &maybe(event, "parentMessageId"), &tag)?;
            }
            _ => self.open_thought(&id, &tag)?,
        }
        self.parents.insert(tag.clone(), maybe(event, "parentMessageId"));
        self.lanes.insert(tag, (kind, id));
        Ok(())
    }

    /// A continuation says again what was said, or nothing (`CHUNK-3`).
    fn repeats(&self, event: &Value, kind: Kind, lane: &Owner, id: &str) -> Verdict {
        let same = |member: &str, known: &Owner| {
            let said = maybe(event, member);
            ensure(said.is_none() || said == *known, || format!("CHUNK-3: {member} of {id} was {known:?}"))
        };
        if kind == Kind::Call {
            let Some(call) = self.calls.get(id) else { return Ok(()) };
            same("toolCallName", &Some(call.name.clone()))?;
            return same("parentMessageId", &self.parents[lane]);
        }
        let Some(message) = self.messages.get(id) else { return Ok(()) };
        same("role", &Some(message.role.clone()))?;
        same("name", &message.name.clone().flatten())
    }

    fn end_lane(&mut self, lane: &Owner) {
        if let Some(built) = self.lanes.remove(lane) {
            self.open.remove(&built);
        }
    }

    /// What an event that is no chunk ends (`CHUNK-4`, `CHUNK-6`).
    fn end_lanes(&mut self, event: &Value) {
        let kind = text(event, "type");
        let named = match kind.split('_').next() {
            Some("TEXT") => Some((Kind::Text, "messageId")),
            Some("TOOL") => Some((Kind::Call, "toolCallId")),
            Some("REASONING") if kind.starts_with("REASONING_MESSAGE") => Some((Kind::Thought, "messageId")),
            _ => None,
        };
        match kind {
            "RAW"
            | "ACTIVITY_SNAPSHOT"
            | "ACTIVITY_DELTA"
            | "REASONING_ENCRYPTED_VALUE"
            | "SUBAGENT_STARTED" => return,
            "RUN_FINISHED" | "MESSAGES_SNAPSHOT" => {
                for lane in self.lanes.keys().cloned().collect::<Vec<_>>() {
                    self.end_lane(&lane);
                }
                return;
            }
            _ => self.end_lane(&maybe(event, "subagentRunId")),
        }
        if let Some((kind, member)) = named {
            let built = (kind, text(event, member).to_owned());
            let lane = self.lanes.iter().find(|(_, other)| **other == built).map(|(lane, _)| lane.clone());
            if let Some(lane) = lane {
                self.end_lane(&lane);
            }
        }
    }
}
