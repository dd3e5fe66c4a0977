//! The input of a run the short way, for the event that echoes it.
//!
//! As in `typed.rs` nothing is judged here: an input in which anything is unusual is nothing and goes the long way.

use agui_core::{Context, Metadata, ResumeEntry, ResumeStatus, RunAgentInput, Tool};
use serde_json::Value;

use super::budget::Budget;
use super::messages::{message, not_null};
use super::reader::Reader;
use super::value::{merge_object, merge_value};

/// The input. `level` is that of its object.
pub(super) fn run_input(mut reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<RunAgentInput> {
    budget.object()?;
    let (mut thread_id, mut run_id, mut parent, mut version) = ("", "", None, None);
    let (mut state, mut forwarded, mut messages) = (None, None, Vec::new());
    let (mut tools, mut context, mut resume) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => thread_id = field.text().ok()?,
            2 => run_id = field.text().ok()?,
            3 => parent = Some(field.text().ok()?),
            4 => merge_value(&mut state, field.message().ok()?, level + 1).ok()?,
            5 => messages.push(message(field.message().ok()?, level + 2, budget)?),
            6 => tools.push(tool(field.message().ok()?, level + 2, budget)?),
            7 => context.push(fact(field.message().ok()?, budget)?),
            8 => merge_value(&mut forwarded, field.message().ok()?, level + 1).ok()?,
            9 => resume.push(answer(field.message().ok()?, level + 2, budget)?),
            10 => version = Some(field.text().ok()?),
            _ => return None,
        }
    }
    let mut input = RunAgentInput::new(thread_id, run_id, messages);
    input.parent_run_id = parent.map(Into::into);
    input.protocol_version = version.map(Into::into);
    input.state = not_null(state)?;
    input.forwarded_props = not_null(forwarded)?;
    // The wire cannot say that a list is absent; the long way takes it for empty.
    input.tools = Some(tools);
    input.context = Some(context);
    input.resume = Some(resume);
    Some(input)
}

/// What a tool and an answer have in common: two texts, open JSON, and metadata.
struct Entry<'a> {
    first: &'a str,
    second: &'a str,
    open: Option<Value>,
    metadata: Option<Metadata>,
}

fn entry<'a>(mut reader: Reader<'a>, level: usize, budget: &mut Budget) -> Option<Entry<'a>> {
    budget.object()?;
    let (mut first, mut second, mut open, mut metadata) = ("", "", None, None);
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => first = field.text().ok()?,
            2 => second = field.text().ok()?,
            3 => merge_value(&mut open, field.message().ok()?, level + 1).ok()?,
            4 => {
                let metadata: &mut Metadata = metadata.get_or_insert_default();
                merge_object(metadata, field.message().ok()?, level + 1).ok()?;
            }
            _ => return None,
        }
    }
    Some(Entry { first, second, open: not_null(open)?, metadata })
}

fn tool(reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<Tool> {
    let entry = entry(reader, level, budget)?;
    let mut tool = Tool::new(entry.first, entry.second);
    tool.parameters = entry.open;
    tool.metadata = entry.metadata;
    Some(tool)
}

fn answer(reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<ResumeEntry> {
    let entry = entry(reader, level, budget)?;
    let mut answer = ResumeEntry::new(entry.first, ResumeStatus::from_wire(entry.second)?);
    answer.payload = entry.open;
    answer.metadata = entry.metadata;
    Some(answer)
}

fn fact(mut reader: Reader<'_>, budget: &mut Budget) -> Option<Context> {
    budget.object()?;
    let (mut description, mut value) = ("", "");
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => description = field.text().ok()?,
            2 => value = field.text().ok()?,
            _ => return None,
        }
    }
    Some(Context::new(description, value))
}
