//! `cargo xtask schema`: the JSON Schema generated from the Rust types.
//!
//! `schema/agui.schema.json` is generated and committed, so that a change of a type shows as a change of the file.
//! The check has two halves: the file is what the types generate, and it means what the vendored schema means.

use std::{fs, path::Path};

use anyhow::Context;
use serde_json::Value;

use crate::{Verdict, workspace_root};

/// The generated file, from the root of the workspace.
const FILE: &str = "schema/agui.schema.json";

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when the committed file is stale or differs in meaning from the vendored schema.
    #[arg(long)]
    check: bool,
}

/// Writes or checks the generated schema.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    if args.check { check_committed() } else { write(&workspace_root()?, &generated()) }
}

/// What `--check` does, for the run of all checks.
pub(crate) fn check_committed() -> anyhow::Result<Verdict> {
    check(&workspace_root()?, &generated())
}

/// The schema of the Rust types.
fn generated() -> Value {
    agui_core::schema::generate()
}

/// The file's content for a generated schema.
fn rendered(generated: &Value) -> String {
    format!("{generated:#}\n")
}

/// Writes the generated schema to its place below `root`.
fn write(root: &Path, generated: &Value) -> anyhow::Result<Verdict> {
    fs::write(root.join(FILE), rendered(generated)).with_context(|| format!("cannot write {FILE}"))?;
    println!("wrote {FILE}");
    Ok(Verdict::Clean)
}

/// Prints in what the committed file is stale and in what the generated schema differs from the vendored one.
fn check(root: &Path, generated: &Value) -> anyhow::Result<Verdict> {
    let committed = match fs::read_to_string(root.join(FILE)) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {FILE}")),
    };
    let complaints = complaints(committed.as_deref(), generated);
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        println!("the schema of the Rust types means what the vendored one means");
    }
    Ok(Verdict::of(complaints.len()))
}

fn complaints(committed: Option<&str>, generated: &Value) -> Vec<String> {
    let stale = match committed {
        None => Some(format!("{FILE} is missing; write it with `cargo xtask schema`")),
        // A checkout may have turned the line endings.
        Some(text) if text.replace("\r\n", "\n") != rendered(generated) => {
            Some(format!("{FILE} is stale; write it anew with `cargo xtask schema`"))
        }
        Some(_) => None,
    };
    let differences = agui_schema::compare::differences(agui_schema::document(), generated);
    stale.into_iter().chain(differences.iter().map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_current_file_of_the_right_meaning_passes() {
        let generated = agui_schema::document();
        assert_eq!(complaints(Some(&rendered(generated)), generated), [""; 0]);
        assert_eq!(complaints(Some(&rendered(generated).replace('\n', "\r\n")), generated), [""; 0]);
    }

    #[test]
    fn a_missing_or_stale_file_is_named_with_the_remedy() {
        let generated = agui_schema::document();
        for committed in [None, Some("{}\n")] {
            let complaints = complaints(committed, generated);
            assert_eq!(complaints.len(), 1);
            assert!(complaints[0].contains("`cargo xtask schema`"), "{complaints:?}");
        }
    }

    #[test]
    fn a_difference_in_meaning_is_reported_although_the_file_is_current() {
        let mut generated = agui_schema::document().clone();
        generated["$defs"]["Tool"]["required"] = serde_json::json!(["name"]);
        assert_eq!(
            complaints(Some(&rendered(&generated)), &generated),
            ["Tool/properties/description: should be required, is optional"]
        );
    }

    /// Every described member of every definition of the generated schema.
    fn members(generated: &Value) -> Vec<(String, String)> {
        let definitions = generated["$defs"].as_object().unwrap();
        definitions
            .iter()
            .flat_map(|(definition, schema)| {
                let properties = schema["properties"].as_object().into_iter().flatten();
                properties.map(|(member, _)| (definition.clone(), member.clone()))
            })
            .collect()
    }

    #[test]
    fn no_member_of_a_rust_type_can_be_renamed_dropped_made_optional_or_retyped_unnoticed() {
        let generated = generated();
        assert_eq!(agui_schema::compare::differences(agui_schema::document(), &generated), []);
        let members = members(&generated);
        assert!(members.len() > 300, "{}", members.len());
        for (definition, member) in members {
            let alter = |what: &str, alteration: &dyn Fn(&mut Value)| {
                let mut altered = generated.clone();
                alteration(&mut altered["$defs"][&definition]);
                let complaints = complaints(Some(&rendered(&altered)), &altered);
                assert!(!complaints.is_empty(), "{definition}.{member} {what}");
                assert!(complaints.iter().any(|line| line.starts_with(&definition)), "{complaints:?}");
            };
            alter("dropped", &|schema| {
                schema["properties"].as_object_mut().unwrap().remove(&member);
            });
            alter("renamed", &|schema| {
                let properties = schema["properties"].as_object_mut().unwrap();
                let value = properties.remove(&member).unwrap();
                properties.insert(format!("{member}2"), value);
            });
            alter("retyped", &|schema| {
                let is_boolean = schema["properties"][&member]["type"] == "boolean";
                let kind = if is_boolean { "string" } else { "boolean" };
                schema["properties"][&member] = serde_json::json!({ "type": kind });
            });
            alter("made optional or required", &|schema| {
                let mut required = schema["required"].as_array().cloned().unwrap_or_default();
                let before = required.len();
                required.retain(|name| *name != member.as_str());
                if required.len() == before {
                    required.push(member.as_str().into());
                }
                schema["required"] = required.into();
            });
        }
    }
}
