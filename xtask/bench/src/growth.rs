//! What a cost must not grow with: the same work at several sizes, each beside the smallest.

use std::rc::Rc;

use bytes::Bytes;

use crate::cases::{check_chat, decoding, fold_chat, patching, pieces};
use crate::measure::{Compared, Effort, Side, count};
use crate::report::{Direction, Row};
use crate::workloads::{Chat, Of, Workload, big_state};

/// One thing at several sizes. The ratio of each to the first is what counts.
struct Growth {
    operation: String,
    /// The size, its cost, and by how much one pass is divided; with the most it may cost of what the first one does.
    sizes: Vec<(&'static str, Side, usize, Option<f64>)>,
}

pub(crate) fn rows(effort: Effort, only: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for mut growth in all().into_iter().filter(|growth| growth.operation.contains(only)) {
        let mut rounds: Vec<Vec<f64>> = Vec::new();
        for _ in 0..effort.rounds {
            let measured = growth.sizes.iter_mut().map(|(_, side, each, _)| effort.time(side) / count(*each));
            rounds.push(measured.collect());
        }
        for (at, (size, _, _, limit)) in growth.sizes.iter().enumerate().skip(1) {
            let compared =
                Compared::of(&rounds.iter().map(|round| (round[0], round[at])).collect::<Vec<_>>());
            let workload = format!("{size}, to {}", growth.sizes[0].0);
            let row = Row::of(&growth.operation, &workload, "ns", compared);
            rows.push(row.with_target(Direction::AtMost, *limit));
        }
    }
    rows
}

/// How the library's way grows, and how the floor's does; the floor has no limit.
fn beside(
    name: &str,
    chats: &[(&'static str, Rc<Chat>, Option<f64>)],
    sides: fn(&Rc<Chat>) -> (Side, Side),
) -> [Growth; 2] {
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for (size, chat, limit) in chats {
        let (floor, side) = sides(chat);
        floors.push((*size, floor, chat.len(), None));
        ours.push((*size, side, chat.len(), *limit));
    }
    [
        Growth { operation: format!("growth of the floor's {name}"), sizes: floors },
        Growth { operation: format!("growth of {name}"), sizes: ours },
    ]
}

fn all() -> Vec<Growth> {
    let mut growths = Vec::new();
    let long =
        [("2,000 deltas", 2_000, None), ("20,000", 20_000, Some(1.15)), ("200,000", 200_000, Some(1.15))];
    let long = long.map(|(name, deltas, limit)| (name, Rc::new(Chat::new(Of::Messages, 1, deltas)), limit));
    let wide = |of, one| {
        [(one, 1, None), ("100", 100, Some(2.5)), ("1,000", 1_000, Some(2.5))]
            .map(|(name, things, limit)| (name, Rc::new(Chat::new(of, things, 20_000)), limit))
    };
    for (more, chats) in [
        ("a longer run", long),
        ("more messages", wide(Of::Messages, "1 open message")),
        ("more calls in a message", wide(Of::Calls, "1 open call")),
        ("more subagents", wide(Of::Subagents, "1 open subagent")),
    ] {
        growths.extend(beside(&format!("fold: {more}"), &chats, fold_chat));
        // The id of the event before costs a comparison, any other a look-up. Only the length of a run has a limit.
        let chats = chats.map(|(size, chat, limit)| (size, chat, limit.filter(|_| more == "a longer run")));
        growths.extend(beside(&format!("check: {more}"), &chats, check_chat));
    }
    let body = crate::cases::body_of(&Workload::around("big state", big_state()));
    let chunks = [
        ("one chunk", body.len(), None),
        ("16 KiB", 16 * 1024, None),
        ("4 KiB", 4096, Some(1.2)),
        ("bytes", 1, None),
    ];
    growths.push(Growth {
        operation: "growth of decode: big state in smaller chunks".to_owned(),
        sizes: chunks
            .into_iter()
            .map(|(name, bytes, limit)| {
                let chunks: Rc<[Bytes]> = pieces(&body, bytes).into();
                (name, decoding(chunks), 1, limit)
            })
            .collect(),
    });
    // The larger documents do not fit into the processor's caches; what a patch touches is no more for that.
    let states =
        [("1 KiB", 1024, None), ("100 KiB", 100 * 1024, Some(2.0)), ("10 MiB", 10 * 1024 * 1024, Some(4.0))];
    growths.push(Growth {
        operation: "growth of a patch of two values: a larger state".to_owned(),
        sizes: states.map(|(name, bytes, limit)| (name, patching(bytes), 2, limit)).into(),
    });
    growths
}
