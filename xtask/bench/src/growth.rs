//! What a cost must not grow with: the same work at several sizes, each beside the smallest.

use std::rc::Rc;

use bytes::Bytes;

use crate::cases::{decoding, fold_chat, patching, pieces};
use crate::measure::{Compared, Effort, Side, count};
use crate::report::{Direction, Row};
use crate::workloads::{Chat, Workload, big_state};

/// One thing at several sizes. The ratio of each to the first is what counts.
struct Growth {
    operation: &'static str,
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
            let row = Row::of(growth.operation, &workload, "ns", compared);
            rows.push(row.with_target(Direction::AtMost, *limit));
        }
    }
    rows
}

fn all() -> Vec<Growth> {
    let mut growths = Vec::new();
    let long =
        [("2,000 deltas", 2_000, None), ("20,000", 20_000, Some(1.15)), ("200,000", 200_000, Some(1.15))];
    let wide = [("1 open message", 1, None), ("100", 100, Some(2.5)), ("1,000", 1_000, Some(2.5))];
    let long = long.map(|(name, deltas, limit)| (name, Rc::new(Chat::new(1, deltas)), limit));
    let wide = wide.map(|(name, messages, limit)| (name, Rc::new(Chat::new(messages, 20_000)), limit));
    for (floor, ours, chats) in [
        ("growth of the folding floor: a longer run", "growth of fold: a longer run", &long),
        ("growth of the folding floor: more messages", "growth of fold: more messages", &wide),
    ] {
        let (mut floors, mut folds) = (Vec::new(), Vec::new());
        for (name, chat, limit) in chats {
            let (floor, fold) = fold_chat(chat);
            floors.push((*name, floor, chat.len(), None));
            folds.push((*name, fold, chat.len(), *limit));
        }
        growths.push(Growth { operation: floor, sizes: floors });
        growths.push(Growth { operation: ours, sizes: folds });
    }
    let body = crate::cases::body_of(&Workload::around("big state", big_state()));
    let chunks = [
        ("one chunk", body.len(), None),
        ("16 KiB", 16 * 1024, None),
        ("4 KiB", 4096, Some(1.2)),
        ("bytes", 1, None),
    ];
    growths.push(Growth {
        operation: "growth of decode: big state in smaller chunks",
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
        operation: "growth of a patch of two values: a larger state",
        sizes: states.map(|(name, bytes, limit)| (name, patching(bytes), 2, limit)).into(),
    });
    growths
}
