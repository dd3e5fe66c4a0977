//! What the comparison of schemas notices, and what it takes for the same.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

use agui_schema::{compare::differences, document};
use serde_json::{Map, Value, json};

/// What is found when the vendored schema is altered.
fn found(alter: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut altered = document().clone();
    alter(&mut altered["$defs"]);
    assert_ne!(&altered, document(), "the alteration took no effect");
    let lines = differences(document(), &altered).iter().map(ToString::to_string).collect();
    // The comparison has a direction in its words only.
    assert_eq!(differences(&altered, document()).is_empty(), Vec::<String>::is_empty(&lines));
    lines
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

#[test]
fn the_vendored_schema_equals_itself() {
    assert_eq!(differences(document(), document()), []);
}

#[test]
fn a_renamed_member_is_missing_and_surplus() {
    let found = found(|definitions| {
        let properties = object(&mut definitions["Tool"]["properties"]);
        let parameters = properties.remove("parameters").unwrap();
        properties.insert("params".to_owned(), parameters);
    });
    assert_eq!(
        found,
        [
            "Tool/properties/parameters: the member is missing",
            "Tool/properties/params: the member should not exist"
        ]
    );
}

#[test]
fn a_dropped_member_is_missing() {
    let found = found(|definitions| {
        object(&mut definitions["UrlSource"]["properties"]).remove("mimeType");
    });
    assert_eq!(found, ["UrlSource/properties/mimeType: the member is missing"]);
}

#[test]
fn a_dropped_inherited_member_is_missing_in_every_heir() {
    let found = found(|definitions| {
        object(&mut definitions["BaseEvent"]["properties"]).remove("rawEvent");
    });
    assert_eq!(found.len(), 32, "{found:#?}");
    assert!(found.contains(&"RunErrorEvent/properties/rawEvent: the member is missing".to_owned()));
}

#[test]
fn a_change_of_what_is_required_is_noticed_both_ways() {
    let loosened =
        found(|definitions| definitions["ToolCallArgsEvent"]["required"] = json!(["type", "toolCallId"]));
    assert_eq!(loosened, ["ToolCallArgsEvent/properties/delta: should be required, is optional"]);
    let tightened =
        found(|definitions| definitions["SubagentInfo"]["required"] = json!(["name", "description"]));
    assert_eq!(tightened, ["SubagentInfo/properties/description: should be optional, is required"]);
}

#[test]
fn a_retyped_member_is_noticed() {
    let found_in_member = found(|definitions| {
        definitions["TokenUsage"]["properties"]["model"] = json!({"type": "integer"});
        definitions["RunStartedEvent"]["properties"]["input"] = json!({"type": "object"});
        definitions["ImagePart"]["properties"]["source"] = json!({"$ref": "#/$defs/ContentPart"});
    });
    assert!(
        found_in_member.contains(&"TokenUsage/properties/model: expected string, found integer".to_owned())
    );
    assert!(
        found_in_member
            .contains(&"ImagePart/properties/source: expected PartSource, found ContentPart".to_owned())
    );
    assert!(
        found_in_member
            .iter()
            .any(|line| line.starts_with("RunStartedEvent/properties/input/properties/threadId:"))
    );
    let number = found(|definitions| {
        definitions["ExecutionCapabilities"]["properties"]["maxIterations"]["type"] = json!("number");
    });
    assert_eq!(number, ["ExecutionCapabilities/properties/maxIterations: expected integer, found number"]);
}

#[test]
fn null_where_it_is_not_allowed_is_noticed() {
    let found = found(|definitions| {
        definitions["Tool"]["properties"]["parameters"] = json!({});
        definitions["Tool"]["properties"]["name"]["type"] = json!(["string", "null"]);
        object(&mut definitions["RunAgentInput"]["properties"]["state"]).remove("not");
    });
    assert_eq!(
        found,
        [
            "RunAgentInput/properties/state: expected any value but null, found any value",
            "Tool/properties/name: expected string, found null or string",
            "Tool/properties/parameters: expected any value but null, found any value",
        ]
    );
}

#[test]
fn changed_constants_and_closed_sets_are_noticed() {
    let found = found(|definitions| {
        definitions["ToolCall"]["properties"]["type"]["const"] = json!("tool");
        definitions["StepStartedEvent"]["properties"]["type"] = json!({"$ref": "#/$defs/EventType"});
        definitions["ResumeEntry"]["properties"]["status"]["enum"] = json!(["resolved", "canceled"]);
        definitions["Role"]["enum"].as_array_mut().unwrap().pop();
    });
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(
        found[0],
        r#"ResumeEntry/properties/status: expected "resolved" or "cancelled", found "resolved" or "canceled""#
    );
    assert!(found[1].starts_with(r#"Role: expected "developer" or "#), "{}", found[1]);
    assert!(found[2].starts_with(r#"StepStartedEvent/properties/type: expected "STEP_STARTED", found "#));
    assert_eq!(found[3], r#"ToolCall/properties/type: expected "function", found "tool""#);
}

#[test]
fn changed_bounds_and_patterns_are_noticed() {
    let found = found(|definitions| {
        definitions["TokenUsage"]["properties"]["inputTokens"]["maximum"] = json!(u64::MAX);
        object(&mut definitions["TokenUsage"]["properties"]["outputTokens"]).remove("minimum");
        definitions["Context"]["properties"]["value"]["minLength"] = json!(1);
        object(&mut definitions["RunFinishedInterruptOutcome"]["properties"]["interrupts"])
            .remove("minItems");
        object(&mut definitions["JsonPointer"]).remove("pattern");
    });
    for line in [
        "TokenUsage/properties/inputTokens: expected maximum 9007199254740991, found 18446744073709551615",
        "TokenUsage/properties/outputTokens: expected minimum 0, found none",
        "Context/properties/value: expected no minLength, found 1",
        "RunFinishedInterruptOutcome/properties/interrupts: expected minItems 1, found none",
        r#"MoveOperation/properties/from: expected pattern "^(/([^/~]|~[01])*)*$", found none"#,
    ] {
        assert!(found.iter().any(|found| found == line), "{line} not in {found:#?}");
    }
}

#[test]
fn an_inherited_bound_is_compared_in_the_heirs() {
    let found = found(|definitions| {
        object(&mut definitions["BaseEvent"]["properties"]["timestamp"]).remove("minimum");
    });
    assert!(found.contains(
        &"RawEvent/properties/timestamp: expected minimum -9007199254740991, found none".to_owned()
    ));
}

#[test]
fn an_opened_or_closed_object_is_noticed() {
    let found = found(|definitions| {
        object(&mut definitions["Context"]).remove("unevaluatedProperties");
        definitions["AddOperation"]["additionalProperties"] = json!(false);
        definitions["ActivityMessage"]["properties"]["content"]["additionalProperties"] = json!(false);
        object(&mut definitions["Metadata"])["additionalProperties"] = json!({"type": "string"});
    });
    for line in [
        "Context: should be closed, allows further members",
        "AddOperation: should allow further members, is closed",
        "ActivityMessage/properties/content: should allow further members, is closed",
        r#"Tool/properties/metadata: expected no additionalProperties, found {"type":"string"}"#,
    ] {
        assert!(found.iter().any(|found| found == line), "{line} not in {found:#?}");
    }
}

#[test]
fn a_keyword_that_refuses_inherited_members_is_not_taken_for_closing() {
    let found = found(|definitions| {
        let message = object(&mut definitions["UserMessage"]);
        message.remove("unevaluatedProperties");
        message.insert("additionalProperties".to_owned(), json!(false));
    });
    assert_eq!(
        found,
        [
            "UserMessage: expected no additionalProperties, found false",
            "UserMessage: should be closed, allows further members",
        ]
    );
}

#[test]
fn changes_in_unions_are_noticed() {
    let found = found(|definitions| {
        definitions["Event"]["oneOf"].as_array_mut().unwrap().remove(3);
        definitions["PartSource"]["oneOf"].as_array_mut().unwrap().push(json!({"$ref": "#/$defs/TextPart"}));
        definitions["UserMessage"]["properties"]["content"]["oneOf"][1]["items"] =
            json!({"$ref": "#/$defs/TextPart"});
        definitions["ToolMessage"]["properties"]["content"] = json!({"type": "string"});
        definitions["ToolCallResultEvent"]["properties"]["content"]["oneOf"][0]["type"] = json!("integer");
    });
    for line in [
        "Event/oneOf: the union lacks TextMessageChunkEvent",
        "PartSource/oneOf: the union should not have TextPart",
        "UserMessage/properties/content/oneOf/items: expected ContentPart, found TextPart",
        "ToolMessage/properties/content/oneOf: should be a union",
        "ToolCallResultEvent/properties/content/oneOf: the union lacks string",
        "ToolCallResultEvent/properties/content/oneOf: the union should not have integer",
    ] {
        assert!(found.iter().any(|found| found == line), "{line} not in {found:#?}");
    }
}

#[test]
fn changes_in_lists_are_noticed() {
    let found = found(|definitions| {
        object(&mut definitions["RunAgentInput"]["properties"]["tools"]).remove("items");
        definitions["OutputCapabilities"]["properties"]["supportedMimeTypes"]["items"]["type"] =
            json!("boolean");
    });
    assert_eq!(
        found,
        [
            "OutputCapabilities/properties/supportedMimeTypes/items: expected string, found boolean",
            "RunAgentInput/properties/tools/items: the list should constrain its items, takes any",
        ]
    );
}

#[test]
fn missing_and_surplus_definitions_are_noticed() {
    let found = found(|definitions| {
        let definitions = object(definitions);
        let tool = definitions.remove("Tool").unwrap();
        definitions.insert("Instrument".to_owned(), tool);
        definitions.remove("Role");
    });
    for line in [
        "Tool: the definition is missing",
        "Instrument: the definition should not exist",
        "Role: the definition is missing",
        "RunAgentInput/properties/tools/items: refers to Tool, which is not defined",
    ] {
        assert!(found.iter().any(|found| found == line), "{line} not in {found:#?}");
    }
}

#[test]
fn a_keyword_nobody_expected_is_noticed() {
    let found =
        found(|definitions| definitions["Tool"]["dependentRequired"] = json!({"metadata": ["parameters"]}));
    assert_eq!(found, [r#"Tool: expected no dependentRequired, found {"metadata":["parameters"]}"#]);
}

#[test]
fn another_root_is_noticed() {
    let mut altered = document().clone();
    altered["$ref"] = json!("#/$defs/Message");
    let found: Vec<_> = differences(document(), &altered).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["#: expected Event, found Message"]);
}

/// The vendored schema in the manner of one generated from types: `allOf` flattened, names that stand for no object
/// written out, closed objects closed by `additionalProperties`, orders reversed, annotations of its own.
fn respelled() -> Value {
    const GONE: [&str; 8] = [
        "BaseEvent",
        "Attributable",
        "BaseMessage",
        "SubagentRunId",
        "Metadata",
        "State",
        "JsonPointer",
        "JsonPatch",
    ];
    let definitions = document()["$defs"].as_object().unwrap();
    let mut flat: Map<String, Value> = definitions
        .iter()
        .filter(|(name, _)| !GONE.contains(&name.as_str()))
        .map(|(name, definition)| (name.clone(), respell(definition, &GONE)))
        .collect();
    // Names of our own where the vendored schema has none.
    flat.insert("ResumeStatus".to_owned(), json!({"enum": ["cancelled", "resolved"]}));
    flat["ResumeEntry"]["properties"]["status"] =
        json!({"$ref": "#/$defs/ResumeStatus", "description": "Ours."});
    flat.insert("ToolCallId".to_owned(), json!({"type": "string", "description": "Ours."}));
    flat["ToolMessage"]["properties"]["toolCallId"] = json!({"$ref": "#/$defs/ToolCallId"});
    json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/Event", "$defs": flat})
}

fn respell(schema: &Value, gone: &[&str]) -> Value {
    let definitions = &document()["$defs"];
    if *schema == json!({"not": {"type": "null"}}) {
        return json!({"type": ["object", "array", "string", "boolean", "number"], "title": "Anything"});
    }
    if let Some(tag) = schema.get("const") {
        return json!({"type": "string", "enum": [tag]});
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"))
        && gone.contains(&name)
    {
        let mut target = respell(&definitions[name], gone);
        for (key, value) in schema.as_object().unwrap().iter().filter(|(key, _)| *key != "$ref") {
            target[key] = value.clone();
        }
        return target;
    }
    match schema {
        Value::Object(members) => {
            let mut flat: Map<String, Value> = Map::new();
            for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
                let part = respell(part, gone);
                let properties =
                    part.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
                let target = flat.entry("properties").or_insert_with(|| json!({}));
                object(target).extend(properties);
            }
            for (key, value) in members {
                match key.as_str() {
                    "allOf" | "$anchor" => {}
                    "unevaluatedProperties" => {
                        flat.insert("additionalProperties".to_owned(), value.clone());
                    }
                    "properties" => {
                        let own = value
                            .as_object()
                            .unwrap()
                            .iter()
                            .map(|(name, inner)| (name.clone(), respell(inner, gone)));
                        object(flat.entry("properties").or_insert_with(|| json!({}))).extend(own);
                    }
                    "oneOf" | "enum" => {
                        let mut list: Vec<_> =
                            value.as_array().unwrap().iter().map(|inner| respell(inner, gone)).collect();
                        list.reverse();
                        let keyword = if list.iter().any(|member| member.get("items").is_some()) {
                            "anyOf"
                        } else {
                            key
                        };
                        flat.insert(keyword.to_owned(), list.into());
                    }
                    _ => {
                        flat.insert(key.clone(), respell(value, gone));
                    }
                }
            }
            flat.insert("description".to_owned(), json!("Ours."));
            flat.into()
        }
        other => other.clone(),
    }
}

#[test]
fn another_spelling_of_the_same_schema_equals_it() {
    let respelled = respelled();
    assert!(respelled["$defs"].get("BaseEvent").is_none());
    let found: Vec<_> = differences(document(), &respelled).iter().map(ToString::to_string).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_mistake_in_another_spelling_is_still_noticed() {
    let mut respelled = respelled();
    respelled["$defs"]["StateDeltaEvent"]["properties"]["delta"]["items"] =
        json!({"$ref": "#/$defs/AddOperation"});
    object(&mut respelled["$defs"]["CustomEvent"]["properties"]).remove("subagentRunId");
    let found: Vec<_> = differences(document(), &respelled).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "CustomEvent/properties/subagentRunId: the member is missing",
            "StateDeltaEvent/properties/delta/items: expected JsonPatchOperation, found AddOperation",
        ]
    );
}
