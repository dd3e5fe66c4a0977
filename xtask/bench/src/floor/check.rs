//! The checking floor: a set of open ids per kind, with the last id used kept aside.

use std::collections::HashSet;

use super::seen::{Kind, Seen};

/// The open ids of one run.
#[derive(Default)]
pub(crate) struct Checker {
    open: [Open; 6],
}

#[derive(Default)]
struct Open {
    ids: HashSet<String>,
    last: String,
}

impl Checker {
    /// Whether an event may stand where it does.
    #[inline]
    pub(crate) fn check(&mut self, event: &Seen<'_>) -> bool {
        match *event {
            Seen::Start(kind, id) => {
                let open = self.of(kind);
                open.last.clear();
                open.last.push_str(id);
                open.ids.insert(id.to_owned())
            }
            Seen::Delta(kind, id, _) => {
                let open = self.of(kind);
                if open.last == id {
                    return true;
                }
                let known = open.ids.contains(id);
                if known {
                    open.last.clear();
                    open.last.push_str(id);
                }
                known
            }
            Seen::End(kind, id) => {
                let open = self.of(kind);
                open.last.clear();
                open.ids.remove(id)
            }
            Seen::Whole(..) | Seen::Other => true,
        }
    }

    #[inline]
    fn of(&mut self, kind: Kind) -> &mut Open {
        &mut self.open[kind as usize]
    }
}
