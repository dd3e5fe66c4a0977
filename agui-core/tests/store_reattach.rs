//! Random threads as an application makes them, and the clients of one: the one that runs them and goes on from what it
//! holds, one that comes with nothing, and those that come back with what they held at some moment. All end up with the
//! same messages in the same order, the same state and the same interrupts.
//!
//! `REATTACH_SEEDS` is how many threads are tried (600 unless it says otherwise), `REATTACH_FROM` the first of them.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

use agui_core::chunk::{ChunkExpander, SpelledSequence};
use agui_core::consumer::{Conversation, RunStatus};
use agui_core::sequence::Policy;
use agui_core::store::compact;
use agui_core::store::replay::{Attachment, Replay, restate};
use agui_core::{Event, Message, RunAgentInput, RunStartedEvent, ToolCallId, ToolMessage, UserMessage};
use serde_json::{Value, json};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }

    /// Whether something happens that does so many times in a hundred.
    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

fn is_aside(message: &Message) -> bool {
    matches!(message, Message::Activity(_) | Message::Reasoning(_))
}

/// A client at some moment.
#[derive(Clone)]
struct Client {
    held: Conversation,
    expander: ChunkExpander,
}

impl Client {
    fn new() -> Self {
        Self { held: Conversation::new(), expander: ChunkExpander::new() }
    }

    /// It takes up another stream.
    fn listens_anew(&mut self) {
        self.held.begin_stream();
        self.expander = ChunkExpander::new();
    }

    fn hear(&mut self, event: &Event) {
        let held = &mut self.held;
        self.expander
            .expand(event.clone(), |event| {
                held.apply_owned(event, &mut Vec::new());
            })
            .unwrap();
    }

    fn hear_all(&mut self, events: &[Event]) {
        for event in events {
            self.hear(event);
        }
    }
}

/// A thread on its way.
struct Thread {
    dice: Dice,
    /// Whether the client sends reasoning back; not every client does.
    sends_reasoning: bool,
    client: Client,
    /// What is recorded, run by run.
    runs: Vec<Vec<Event>>,
    judge: SpelledSequence,
    counter: usize,
    /// The client as it was after so many recorded events.
    moments: Vec<(usize, Client)>,
}

impl Thread {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let sends_reasoning = dice.percent(75);
        let mut thread = Self {
            dice,
            sends_reasoning,
            client: Client::new(),
            runs: Vec::new(),
            judge: SpelledSequence::new(Policy::Producer),
            counter: 0,
            moments: Vec::new(),
        };
        for _ in 0..=thread.dice.below(4) {
            thread.run();
        }
        thread
    }

    fn id(&mut self, kind: &str) -> String {
        self.counter += 1;
        format!("{kind}{}", self.counter)
    }

    /// The messages that go out with a request.
    fn outgoing(&self, held: &Conversation) -> Vec<Message> {
        held.messages()
            .filter(|message| match message {
                Message::Activity(_) => false,
                Message::Reasoning(_) => self.sends_reasoning,
                _ => true,
            })
            .cloned()
            .collect()
    }

    /// What an application does to the list before it asks for a run.
    fn turn(&mut self) {
        let mut list = self.client.held.to_messages();
        let turns: Vec<usize> = (0..list.len()).filter(|at| matches!(list[*at], Message::User(_))).collect();
        match self.dice.below(10) {
            // The last answers are asked for again.
            0 | 1 if !turns.is_empty() => {
                let at = turns[self.dice.below(turns.len())];
                let next = list[at + 1..].iter().find(|message| !is_aside(message));
                // Of an answer that has nothing else, no input tells that its reasoning is gone.
                if next.is_some_and(|next| !matches!(next, Message::User(_))) {
                    list.truncate(at + 1);
                }
            }
            // A question is asked in other words, under its own id or another.
            2 | 3 if !turns.is_empty() => {
                let at = turns[self.dice.below(turns.len())];
                let id = if self.dice.percent(50) { list[at].id().to_string() } else { self.id("q") };
                list.truncate(at);
                let words = self.id("other words ");
                list.push(UserMessage::new(id, words).into());
            }
            // It goes on: calls are answered, each behind its message, and mostly something is asked.
            _ => {
                let answered: Vec<ToolCallId> = list
                    .iter()
                    .filter_map(|message| match message {
                        Message::Tool(result) => Some(result.tool_call_id.clone()),
                        _ => None,
                    })
                    .collect();
                let mut open: Vec<ToolCallId> = list
                    .iter()
                    .flat_map(Message::tool_calls)
                    .map(|call| call.id.clone())
                    .filter(|call| !answered.contains(call))
                    .collect();
                if self.dice.percent(30) {
                    open.reverse();
                }
                for call in open {
                    if self.dice.percent(80) {
                        let id = self.id("t");
                        self.client.held.push_message(ToolMessage::new(id, call, "done"));
                    }
                }
                list = self.client.held.to_messages();
                if self.dice.percent(60) {
                    let id = self.id("q");
                    list.push(UserMessage::new(id, "?").into());
                }
            }
        }
        self.client.held.set_messages(&list);
    }

    /// Records an event, if it may stand here.
    fn say(&mut self, run: &mut Vec<Event>, raw: Value) -> bool {
        let event: Event = serde_json::from_value(raw).unwrap();
        if self.judge.clone().check_spelled(&event).is_err() {
            return false;
        }
        self.judge.check_spelled(&event).unwrap();
        self.client.hear(&event);
        run.push(event);
        let before: usize = self.runs.iter().map(Vec::len).sum();
        self.moments.push((before + run.len(), self.client.clone()));
        true
    }

    fn run(&mut self) {
        self.turn();
        self.client.listens_anew();
        let before: usize = self.runs.iter().map(Vec::len).sum();
        self.moments.push((before, self.client.clone()));
        let id = format!("r{}", self.runs.len());
        let input = RunAgentInput::new("t", &*id, self.outgoing(&self.client.held));
        let input = input.with_state(self.client.held.state().clone());
        let mut run = Vec::new();
        let started = RunStartedEvent::new("t", &*id).with_input(Box::new(input));
        assert!(self.say(&mut run, json!(Event::from(started))));
        let mut lines: Vec<Vec<Value>> = Vec::new();
        for _ in 0..self.dice.below(7) {
            let line = self.item();
            lines.push(line);
        }
        // Mostly one thing after the other, sometimes all at once.
        let mixed = self.dice.percent(30);
        while !lines.is_empty() {
            let at = if mixed { self.dice.below(lines.len()) } else { 0 };
            let raw = lines[at].remove(0);
            if lines[at].is_empty() {
                lines.remove(at);
            }
            self.say(&mut run, raw);
        }
        if self.dice.percent(12) {
            let mut list = self.client.held.to_messages();
            match self.dice.below(4) {
                0 => list.reverse(),
                1 => list.retain(|message| !is_aside(message)),
                2 => list.clear(),
                _ => {}
            }
            if self.dice.percent(60) && !list.is_empty() {
                let at = self.dice.below(list.len());
                list.remove(at);
            }
            self.say(&mut run, json!({"type": "MESSAGES_SNAPSHOT", "messages": list}));
        }
        if self.dice.percent(30) {
            let line = self.item();
            for raw in line {
                self.say(&mut run, raw);
            }
        }
        let outcome = match self.dice.below(10) {
            0 | 1 => {
                let id = self.id("i");
                json!({"type": "interrupt", "interrupts": [{"id": id, "reason": "confirmation"}]})
            }
            2 => json!({"type": "cancelled"}),
            _ => json!({"type": "success"}),
        };
        let finished = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": id, "outcome": outcome});
        if self.dice.percent(15) || !self.say(&mut run, finished) {
            assert!(self.say(&mut run, json!({"type": "RUN_ERROR", "message": "no"})));
        }
        self.runs.push(run);
    }

    /// The events of one thing that a run may say.
    fn item(&mut self) -> Vec<Value> {
        let said = |held: &Conversation, like: fn(&Message) -> bool| -> Vec<String> {
            held.messages().filter(|message| like(message)).map(|message| message.id().to_string()).collect()
        };
        match self.dice.below(13) {
            0..3 => {
                let old = said(&self.client.held, |message| matches!(message, Message::Assistant(_)));
                let again = self.dice.percent(8) && !old.is_empty();
                let id = if again { old[self.dice.below(old.len())].clone() } else { self.id("m") };
                vec![
                    json!({"type": "TEXT_MESSAGE_START", "messageId": id}),
                    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "Hel"}),
                    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "lo"}),
                    json!({"type": "TEXT_MESSAGE_END", "messageId": id, "metadata": {"n": self.counter}}),
                ]
            }
            3 => {
                let id = self.id("m");
                vec![
                    json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": "Hel"}),
                    json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": "lo"}),
                ]
            }
            4..6 => {
                let id = self.id("h");
                vec![
                    json!({"type": "REASONING_START", "messageId": id}),
                    json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                    json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": "hm"}),
                    json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                    json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": id, "encryptedValue": "x"}),
                    json!({"type": "REASONING_END", "messageId": id}),
                ]
            }
            6 => {
                let id = self.id("h");
                vec![json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": id, "delta": "hm"}); 2]
            }
            7..10 => {
                let (id, result) = (self.id("c"), self.id("t"));
                let old = said(&self.client.held, |message| matches!(message, Message::Assistant(_)));
                let mut start = json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "f"});
                if self.dice.percent(40) && !old.is_empty() {
                    start["parentMessageId"] = old[self.dice.below(old.len())].clone().into();
                }
                let mut line = vec![
                    start,
                    json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{}"}),
                    json!({"type": "TOOL_CALL_END", "toolCallId": id}),
                ];
                if self.dice.percent(40) {
                    line.push(json!({"type": "TOOL_CALL_RESULT", "messageId": result, "toolCallId": id, "content": "ok"}));
                }
                line
            }
            10 | 11 => {
                let old = said(&self.client.held, |message| matches!(message, Message::Activity(_)));
                let again = self.dice.percent(20) && !old.is_empty();
                let id = if again { old[self.dice.below(old.len())].clone() } else { self.id("a") };
                vec![
                    json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "plan", "content": {"n": 0}}),
                    json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "plan",
                        "patch": [{"op": "add", "path": "/n", "value": self.counter}]}),
                ]
            }
            _ if self.dice.percent(50) => {
                vec![json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": self.counter}})]
            }
            _ => vec![
                json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/d", "value": self.counter}]}),
            ],
        }
    }
}

fn replayed<'e>(events: impl IntoIterator<Item = &'e Event>) -> Vec<Event> {
    let (mut replay, mut sent) = (Replay::new(), Vec::new());
    for event in events {
        replay.feed(event, &mut sent);
    }
    replay.finish(&mut sent);
    sent
}

/// What the client has that a stream was sent to; absent if it refuses the stream.
fn told(mut client: Client, sent: &[Event]) -> Option<Client> {
    client.listens_anew();
    let mut judge = SpelledSequence::new(Policy::Consumer);
    if sent.iter().any(|event| judge.check_spelled(event).is_err()) {
        return None;
    }
    client.hear_all(sent);
    Some(client)
}

/// How a client differs from the one that saw it all live.
fn differs(live: &Client, other: Option<&Client>) -> Option<String> {
    let Some(other) = other else { return Some("refused".to_owned()) };
    let (live, other) = (&live.held, &other.held);
    let ids =
        |held: &Conversation| -> Vec<String> { held.messages().map(|one| one.id().to_string()).collect() };
    if ids(live) != ids(other) {
        return Some(format!("messages {:?} for {:?}", ids(other), ids(live)));
    }
    if live.to_messages() != other.to_messages() {
        return Some(format!("contents {:?} for {:?}", other.to_messages(), live.to_messages()));
    }
    if live.state() != other.state() {
        return Some(format!("state {} for {}", other.state(), live.state()));
    }
    // A failure leaves the interrupts of a run before it, which one who is told only of the failed run has not heard of.
    let failed = live.run_status() == RunStatus::Failed;
    (!failed && live.open_interrupts() != other.open_interrupts()).then(|| "interrupts".to_owned())
}

/// What is wrong with what clients of a thread are sent; empty if nothing is.
fn faults(seed: u64) -> Vec<String> {
    let mut thread = Thread::of(seed);
    let all = thread.runs.concat();
    let live = thread.client.clone();
    let mut faults = Vec::new();

    let empty = told(Client::new(), &replayed(&all));
    let interrupts = |client: &Client| client.held.open_interrupts().to_vec();
    if let Some(differs) = differs(&live, empty.as_ref()) {
        faults.push(format!("from nothing: {differs}"));
    } else if empty.is_some_and(|empty| interrupts(&empty) != interrupts(&live)) {
        faults.push("from nothing: interrupts".to_owned());
    }
    let compacted: Vec<Event> = thread.runs.iter().flat_map(|run| compact(run)).collect();
    if let Some(differs) = differs(&live, told(Client::new(), &replayed(&compacted)).as_ref()) {
        faults.push(format!("compacted: {differs}"));
    }
    let cut = thread.dice.below(thread.runs.len());
    if cut > 0 {
        let restated = restate(&thread.runs[..cut].concat(), &thread.runs[cut]).unwrap();
        let kept = [restated, thread.runs[cut + 1..].concat()].concat();
        if let Some(differs) = differs(&live, told(Client::new(), &replayed(&kept)).as_ref()) {
            faults.push(format!("with {cut} runs dropped: {differs}"));
        }
    }
    for _ in 0..8 {
        let (had, client) = thread.moments[thread.dice.below(thread.moments.len())].clone();
        let at = had + thread.dice.below(all.len() + 1 - had);
        let held = thread.outgoing(&client.held);
        // One that has nothing to send counts as one that holds nothing, and is streamed to.
        if at == 0 || held.is_empty() {
            continue;
        }
        let mut attachment = Attachment::new().with_held(held);
        for event in &all[..at] {
            attachment.record(event);
        }
        let is_active = attachment.is_active();
        let mut sent = attachment.open();
        // The stream ends with the run that is on, or at once.
        let mut end = at;
        if is_active {
            let ends = |event: &Event| matches!(event, Event::RunFinished(_) | Event::RunError(_));
            end += all[at..].iter().position(ends).unwrap() + 1;
        }
        for event in &all[at..end] {
            attachment.live(event.clone(), &mut sent);
        }
        let (_, live) = thread.moments.iter().find(|(heard, _)| *heard == end).unwrap();
        let told = told(client, &sent);
        if let Some(differs) = differs(live, told.as_ref()) {
            faults.push(format!("from {had} to {at}: {differs}"));
        }
    }
    faults
}

#[test]
fn whoever_comes_to_a_thread_holds_what_the_client_of_its_runs_holds() {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let (from, seeds) = (number("REATTACH_FROM", 0), number("REATTACH_SEEDS", 600));
    let mut wrong = Vec::new();
    for seed in from..from + seeds {
        let faults = faults(seed);
        if !faults.is_empty() {
            wrong.push((seed, faults));
        }
    }
    let kind = |kind: &str| {
        wrong.iter().filter(|(_, faults)| faults.iter().any(|fault| fault.contains(kind))).count()
    };
    let kinds = [
        "from nothing",
        "compacted",
        "dropped",
        " to ",
        "refused",
        "messages",
        "contents",
        "state",
        "interrupts",
    ];
    let counts: Vec<_> = kinds.iter().map(|name| (name, kind(name))).collect();
    let first: Vec<_> = wrong.iter().take(5).collect();
    assert!(wrong.is_empty(), "{} of {seeds} threads: {counts:?}\n{first:#?}", wrong.len());
}
