//! Good and bad folders, drafts, and what is said of values that do not fit.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;

use domain::{
    json::JsonObject,
    limits::{MAX_JSON_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMAS, MAX_VIOLATION_CHARS, MAX_VIOLATIONS},
    object::ContentType,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ContentSchemas, Violations};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn schemas(schema: &Value) -> ContentSchemas {
    ContentSchemas::read(folder(&[("run.json", &schema.to_string())]).path()).unwrap()
}

fn checked(schemas: &ContentSchemas, attributes: &Value) -> Result<(), Violations> {
    schemas.check(&ContentType::try_new("run").unwrap(), Some(&JsonObject::try_new(attributes).unwrap()))
}

/// `/pointer message` of each violation.
fn violations(schema: &Value, attributes: &Value) -> Vec<String> {
    let Err(found) = checked(&schemas(schema), attributes) else { return Vec::new() };
    found.iter().map(|it| format!("{} {}", it.pointer(), it.message)).collect()
}

/// What is said of a folder with this file, without the folder's own path.
fn refusal(name: &str, text: &str) -> String {
    let folder = folder(&[(name, text)]);
    let error = ContentSchemas::read(folder.path()).map(drop).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: {}", error.seen(), error.remedy()));
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn each_file_that_is_no_schema_is_refused_in_one_sentence() {
    for (name, text, said) in [
        ("run.json", "{", "`run.json` is not JSON (EOF while parsing"),
        ("Run.json", "{}", "`Run.json` is not named after a type (a type has 1 to 64 of the characters"),
        ("run.json", "[]", "`run.json` is not a JSON Schema (at ``: this must be"),
        ("run.json", r#"{"type":"runner"}"#, "`run.json` is not a JSON Schema (at `/type`: "),
        ("run.json", r#"{"properties":{"a":{"minimum":"1"}}}"#, "(at `/properties/a/minimum`: this must be a number"),
        ("run.json", r#"{"required":"km"}"#, "(at `/required`: this must be an array, not a string): correct the file"),
        ("run.json", r##"{"$ref":"#/$defs/no"}"##, "`run.json` refers to `run.json#/$defs/no`, which is not in it"),
        ("run.json", r##"{"$ref":"#no"}"##, "which is not in it: correct the file"),
        ("run.json", r##"{"$ref":"#"}"##, "`run.json` refers to itself without end"),
        ("run.json", r#"{"pattern":"("}"#, "run.json` is not a JSON Schema (at `/pattern`: this is not of the format"),
        ("run.json", r#"{"pattern":"(?=a)"}"#, "run.json` is not a JSON Schema (at `/pattern`: "),
        (
            "run.json",
            r#"{"pattern":"(.{1000}){1000}"}"#,
            "`run.json` has a pattern that cannot be used (Compiled regex",
        ),
        ("run.json", r#"{"patternProperties":{"(.{999}){999}":{}}}"#, "has a pattern `(.{999}){999}` that cannot be"),
        ("run.json", r#"{"$schema":"https://acme.example/meta"}"#, "has an unknown `$schema` (\"https://acme.example"),
        ("run.json", r#"{"$schema":7}"#, "`run.json` has an unknown `$schema` (7): write https://json-schema.org/"),
    ] {
        let refusal = refusal(name, text);
        assert!(refusal.contains(said) && !refusal.contains('\n'), "{text}: {refusal}");
    }
}

#[test]
fn nothing_outside_the_file_is_loaded() {
    let beside = folder(&[("other.json", r#"{"type":"object"}"#)]);
    let path = format!("file://{}/other.json", beside.path().display());
    for reference in ["https://acme.example/km.json", "other.json", "ftp://acme.example/x", &path] {
        let refusal = refusal("run.json", &json!({ "properties": { "km": { "$ref": reference } } }).to_string());
        let said = format!("`run.json` refers to `{reference}`, which is not in it: nothing is fetched, so put");
        assert!(refusal.starts_with(&said), "{refusal}");
    }
    let own = json!({
        "$id": "https://acme.example/run.json",
        "properties": { "km": { "$ref": "km.json" }, "h": { "$ref": "#/$defs/hours" } },
        "$defs": { "km": { "$id": "km.json", "type": "number" }, "hours": { "type": "integer" } },
    });
    assert_eq!(violations(&own, &json!({ "km": 1.5, "h": 2 })), [""; 0]);
    assert_eq!(violations(&own, &json!({ "km": "1", "h": 2.5 })).len(), 2);
}

#[test]
fn each_draft_means_what_it_says() {
    let list = |draft: &str, keyword: &str| {
        let schema = format!("{draft}/schema");
        violations(
            &json!({ "$schema": schema, "properties": { "a": { keyword: [{ "type": "null" }] } } }),
            &json!({ "a": [1] }),
        )
    };
    for draft in
        ["http://json-schema.org/draft-04", "http://json-schema.org/draft-06", "http://json-schema.org/draft-07"]
    {
        assert_eq!(list(draft, "items"), ["/a/0 this must be null, not a number"]);
        assert_eq!(list(draft, "prefixItems"), [""; 0]);
    }
    assert_eq!(list("https://json-schema.org/draft/2019-09", "items").len(), 1);
    assert_eq!(list("https://json-schema.org/draft/2020-12", "prefixItems").len(), 1);
    let exclusive = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": { "a": { "minimum": 1, "exclusiveMinimum": true } },
    });
    assert_eq!(violations(&exclusive, &json!({ "a": 1 })), ["/a this must be more than 1"]);
    assert_eq!(
        violations(&json!({ "properties": { "a": { "prefixItems": [false] } } }), &json!({ "a": [1] })).len(),
        1
    );
}

#[test]
fn a_format_counts_in_every_draft() {
    for draft in ["draft/2020-12", "draft/2019-09", "draft-07"] {
        let schema = format!("https://json-schema.org/{draft}/schema");
        let schema = json!({ "$schema": schema, "properties": {
            "at": { "format": "date-time" }, "id": { "format": "uuid" }, "x": { "format": "of-our-own" }
        } });
        let good = json!({ "at": "2026-11-29T06:00:00Z", "id": "2f1c0c3e-7a4a-4d3e-9a3b-0d6f3f1f9a11", "x": "y" });
        assert_eq!(violations(&schema, &good), [""; 0]);
        let said = ["/at this is not of the format `date-time`", "/id this is not of the format `uuid`"];
        assert_eq!(violations(&schema, &json!({ "at": "today", "id": "7" })), said);
    }
}

#[test]
fn a_sentence_says_what_the_schema_asks_for() {
    for (schema, value, said) in [
        (json!({ "type": ["string", "null"] }), json!(1), "this must be null or a string, not a number"),
        (json!({ "enum": ["km", 1] }), json!("secret"), "this must be one of \"km\", 1"),
        (json!({ "const": "km" }), json!("secret"), "this must be \"km\""),
        (json!({ "enum": [[1]] }), json!("secret"), "this is none of the values that the schema lists"),
        (json!(false), json!(1), "this must not be there"),
        (json!({ "not": {} }), json!(1), "this fits the schema in `not`"),
        (json!({ "anyOf": [{ "type": "null" }, false] }), json!(1), "this fits none of the schemas in `anyOf`"),
        (json!({ "oneOf": [false, false] }), json!(1), "this fits none of the schemas in `oneOf`"),
        (
            json!({ "oneOf": [false, true, true] }),
            json!(1),
            "this fits more than one of the schemas in `oneOf`: those at 1 and 2",
        ),
        (json!({ "allOf": [{ "type": "null" }] }), json!(1), "this must be null, not a number"),
        (json!({ "required": ["km", "h"] }), json!({}), "`km`, `h` must be there"),
        (json!({ "additionalProperties": false }), json!({ "k": 1 }), "`k` must not be there"),
        (json!({ "dependentRequired": { "k": ["m"] } }), json!({ "k": 1 }), "`m` must be there, because `k` is"),
        (json!({ "minProperties": 1 }), json!({}), "the number of members must be at least 1"),
        (json!({ "maxProperties": 0 }), json!({ "k": 1 }), "the number of members must be at most 0"),
        (json!({ "minItems": 1 }), json!([]), "the number of elements must be at least 1"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "the number of elements must be at most 1"),
        (json!({ "uniqueItems": true }), json!([1, 2, 1]), "the elements at 0 and 2 are equal"),
        (json!({ "contains": false }), json!([1]), "no element fits the schema in `contains`"),
        (json!({ "minLength": 3 }), json!("é!"), "the number of characters must be at least 3"),
        (json!({ "maxLength": 3 }), json!("four"), "the number of characters must be at most 3"),
        (json!({ "pattern": "^k\\d$" }), json!("secret"), "this does not match the pattern `^k[0-9]$`"),
        (json!({ "minimum": 2 }), json!(1), "this must be at least 2"),
        (json!({ "maximum": 2 }), json!(3), "this must be at most 2"),
        (json!({ "exclusiveMinimum": 2 }), json!(2), "this must be more than 2"),
        (json!({ "exclusiveMaximum": 2 }), json!(2), "this must be less than 2"),
        (json!({ "multipleOf": 2 }), json!(3), "this must be a multiple of 2"),
    ] {
        let found = violations(&json!({ "properties": { "a": schema } }), &json!({ "a": value }));
        assert_eq!(found, [format!("/a {said}")], "{schema}");
    }
    let found = violations(&json!({ "unevaluatedProperties": false }), &json!({ "k": 1, "l": 2 }));
    assert_eq!(found, ["/k this must not be there", "/l this must not be there"]);
    // The validator does not say where.
    let named = json!({ "properties": { "a": { "propertyNames": { "maxLength": 1 } } } });
    assert_eq!(violations(&named, &json!({ "a": { "km": 1 } })), [" the name `km` is not allowed"]);
}

#[test]
fn many_and_long_violations_are_bounded() {
    let schema = json!({
        "properties": { "list": { "items": { "type": "string" } }, "unit": { "enum": ["x".repeat(9_000)] } },
        "propertyNames": { "maxLength": 10 },
    });
    let many = json!({ "list": vec![0; 2_000], "unit": "secret" });
    let found = checked(&schemas(&schema), &many).unwrap_err();
    assert_eq!(found.iter().count(), MAX_VIOLATIONS);
    let said = found.to_string();
    assert!(said.starts_with("This must be a string, not a number. At `/list/1`: this must be a string"), "{said}");
    assert!(said.ends_with("not a number. There is more."), "{said}");
    let long = json!({ "unit": "secret", "n".repeat(7_000): 1 });
    let found = checked(&schemas(&schema), &long).unwrap_err();
    assert!(found.iter().all(|it| it.message.chars().count() <= MAX_VIOLATION_CHARS + 1));
    assert!(found.to_string().len() < 1_000 && !found.to_string().contains("secret"), "{found}");
}

#[test]
fn a_type_without_schema_is_free_and_missing_attributes_are_checked() {
    let schemas = schemas(&json!({ "required": ["km"] }));
    let check = |name: &str| schemas.check(&ContentType::try_new(name).unwrap(), None);
    assert_eq!(check("walk"), Ok(()));
    assert_eq!(check("run").unwrap_err().to_string(), "`km` must be there.");
    assert_eq!(schemas.types().map(ContentType::as_str).collect::<Vec<_>>(), ["run"]);
    assert_eq!(ContentSchemas::default().check(&ContentType::default(), None), Ok(()));
}

#[test]
fn a_folder_is_read_whole_and_other_files_are_left_alone() {
    let several = folder(&[("run.json", "{}"), ("acme.walk.json", "true"), ("readme.txt", "(")]);
    let read = ContentSchemas::read(several.path()).unwrap();
    assert_eq!(read.types().map(ContentType::as_str).collect::<Vec<_>>(), ["acme.walk", "run"]);
    assert_eq!(ContentSchemas::read(folder(&[]).path()).unwrap().types().count(), 0);
    let missing = several.path().join("no");
    let error = ContentSchemas::read(&missing).map(drop).unwrap_err();
    assert!(error.seen().starts_with(&format!("`{}` cannot be read (No such file", missing.display())), "{error}");
    assert!(error.remedy().contains("leave content.schemas empty"), "{error}");
    fs::create_dir(several.path().join("x.json")).unwrap();
    let error = ContentSchemas::read(several.path()).map(drop).unwrap_err();
    assert!(error.seen().contains("x.json` cannot be read"), "{error}");
}

#[test]
fn a_large_file_and_many_files_are_refused() {
    let large = json!({ "description": "x".repeat(MAX_SCHEMA_BYTES) }).to_string();
    assert!(refusal("run.json", &large).starts_with("`run.json` has more than 262144 bytes: write a shorter schema"));
    let names: Vec<String> = (0..=MAX_SCHEMAS).map(|number| format!("t{number}.json")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "{}")).collect();
    let error = ContentSchemas::read(folder(&files).path()).map(drop).unwrap_err();
    assert!(error.seen().ends_with("has more than 1000 files that end in .json"), "{error}");
}

#[test]
fn the_longest_attributes_are_checked_in_bounded_steps() {
    let value = format!("{}!", "a".repeat(MAX_JSON_BYTES - 100));
    let schema = json!({ "properties": { "a": { "pattern": "^(a+)+$" } } });
    assert_eq!(violations(&schema, &json!({ "a": value })), ["/a this does not match the pattern `^(a+)+$`"]);
    let tree = json!({ "$defs": { "node": { "properties": { "n": { "$ref": "#/$defs/node" }, "v": { "type": "null" } } } },
        "$ref": "#/$defs/node" });
    let nested = (0..14).fold(json!({ "v": 1 }), |inner, _| json!({ "n": inner }));
    assert_eq!(violations(&tree, &nested).len(), 1);
}
