//! The table: what was measured, beside its floor and its target.

use std::fmt::Write as _;

use crate::cases::Targets;
use crate::loopback::is_framework;
use crate::measure::Compared;

/// Which way a ratio is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    AtMost,
    AtLeast,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) operation: String,
    pub(crate) workload: String,
    /// What `time` counts.
    unit: &'static str,
    time: Compared,
    /// Absent where none were counted.
    instructions: Option<Compared>,
    targets: Targets,
    direction: Direction,
}

impl Row {
    pub(crate) fn of(
        operation: impl Into<String>,
        workload: &str,
        unit: &'static str,
        time: Compared,
    ) -> Self {
        Self {
            operation: operation.into(),
            workload: workload.to_owned(),
            unit,
            time,
            instructions: None,
            targets: Targets::NONE,
            direction: Direction::AtMost,
        }
    }

    /// Sets the target for what is no number of instructions.
    pub(crate) fn with_target(mut self, direction: Direction, limit: Option<f64>) -> Self {
        self.direction = direction;
        self.targets = Targets { time: limit, instructions: None };
        self
    }

    pub(crate) fn with_targets(mut self, targets: Targets) -> Self {
        self.targets = targets;
        self
    }

    pub(crate) fn with_instructions(mut self, instructions: Option<Compared>) -> Self {
        self.instructions = instructions;
        self
    }

    /// Which targets are missed.
    fn missed(&self) -> Vec<&'static str> {
        let misses = |ratio: f64, limit: f64| match self.direction {
            Direction::AtMost => ratio > limit,
            Direction::AtLeast => ratio < limit,
        };
        let time = self.targets.time.is_some_and(|limit| misses(self.time.ratio, limit));
        let counted = self.targets.instructions.zip(self.instructions);
        let instructions = counted.is_some_and(|(limit, counted)| misses(counted.ratio, limit));
        [(time, "time"), (instructions, "instructions")]
            .into_iter()
            .filter_map(|(missed, what)| missed.then_some(what))
            .collect()
    }

    /// The operation, whatever the framework.
    fn family(&self) -> &str {
        self.operation
            .split_once(": ")
            .filter(|(first, _)| is_framework(first))
            .map_or(&self.operation, |(_, rest)| rest)
    }

    pub(crate) fn is_missed(&self) -> bool {
        !self.missed().is_empty()
    }

    pub(crate) const fn has_target(&self) -> bool {
        self.targets.time.is_some() || self.targets.instructions.is_some()
    }

    fn verdict(&self) -> String {
        if !self.has_target() {
            return "no target".to_owned();
        }
        let missed = self.missed();
        if missed.is_empty() {
            return "met".to_owned();
        }
        if self.instructions.is_some() {
            format!("MISSED ({})", missed.join(", "))
        } else {
            "MISSED".to_owned()
        }
    }

    fn target(&self) -> String {
        let sign = if self.direction == Direction::AtLeast { "≥ " } else { "≤ " };
        match (self.targets.time, self.targets.instructions) {
            (None, None) => "–".to_owned(),
            (Some(time), Some(instructions)) if time.to_bits() != instructions.to_bits() => {
                format!("{sign}{time} / {instructions}")
            }
            (Some(limit), _) | (None, Some(limit)) => format!("{sign}{limit}"),
        }
    }

    fn cells(&self) -> [String; 8] {
        let instructions = match &self.instructions {
            Some(counted) => format!("{:.2}", counted.ratio),
            None if self.targets.instructions.is_some() => "not measured".to_owned(),
            None => "–".to_owned(),
        };
        [
            self.operation.clone(),
            self.workload.clone(),
            format!("{} {}", rounded(self.time.floor), self.unit),
            format!("{} {}", rounded(self.time.ours), self.unit),
            format!("{:.2}", self.time.ratio),
            instructions,
            self.target(),
            self.verdict(),
        ]
    }
}

const HEADER: [&str; 8] =
    ["operation", "workload", "floor", "ours", "time ×", "instructions ×", "target", "verdict"];

/// The table for a terminal.
pub(crate) fn text(rows: &[Row]) -> String {
    let lines: Vec<[String; 8]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(rows.iter().map(Row::cells)).collect();
    let mut widths = [0; 8];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut table = String::new();
    for line in lines {
        for (at, (cell, width)) in line.iter().zip(widths).enumerate() {
            // Names to the left, numbers to the right.
            let padded =
                if at < 2 || at == 7 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            table.push_str(&padded);
            table.push_str("  ");
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    table
}

/// The table in short, as Markdown: a line per operation with its worst ratios, then every target that is missed.
pub(crate) fn summary(rows: &[Row]) -> String {
    let mut summary = "| operation | chat, per event | worst time × | worst instructions × | targets met |\n\
                       | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    let mut operations: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.has_target()) {
        if !operations.contains(&row.family()) {
            operations.push(row.family());
        }
    }
    for operation in operations {
        let family: Vec<&Row> =
            rows.iter().filter(|row| row.has_target() && row.family() == operation).collect();
        let chat = family.iter().find(|row| row.workload == "chat");
        let chat = chat.map_or_else(|| "–".to_owned(), |row| format!("{} ns", rounded(row.time.ours)));
        let at_least = family.iter().any(|row| row.direction == Direction::AtLeast);
        let worst = |ratios: &mut dyn Iterator<Item = f64>| {
            ratios.reduce(if at_least { f64::min } else { f64::max }).map(|ratio| format!("{ratio:.2}"))
        };
        let time = worst(&mut family.iter().map(|row| row.time.ratio));
        let counted = worst(&mut family.iter().filter_map(|row| Some(row.instructions?.ratio)));
        let met = family.iter().filter(|row| !row.is_missed()).count();
        // Writing into a string does not fail.
        let _ = writeln!(
            summary,
            "| {operation} | {chat} | {} | {} | {met} of {} |",
            time.unwrap_or_else(|| "–".to_owned()),
            counted.unwrap_or_else(|| "–".to_owned()),
            family.len()
        );
    }
    let missed: Vec<&Row> = rows.iter().filter(|row| row.is_missed()).collect();
    if !missed.is_empty() {
        summary.push_str("\nMissed:\n\n");
    }
    for row in missed {
        let [operation, workload, _, _, time, instructions, target, verdict] = row.cells();
        let _ = writeln!(
            summary,
            "- {operation}, {workload}: {time} in time, {instructions} in instructions, target {target}; {verdict}"
        );
    }
    summary
}

/// Three digits that count, and the thousands apart.
fn rounded(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 1000.0 {
        format!("{value:.0}")
    } else {
        let digits = format!("{value:.0}");
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped
    }
}
