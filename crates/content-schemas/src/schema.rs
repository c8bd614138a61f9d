//! One compiled schema.

use std::error::Error;

use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas, UrlLoader};
use serde_json::{Map, Value};

use crate::{
    unusable::Fault,
    violations::{Violations, is_cycle},
};

/// The address of a document without an `$id`. No loader knows it.
const BASE: &str = "content-schema:///";
const CORRECT_IT: &str = "correct the file";
const ONE_FILE: &str = "nothing is fetched, so put that schema under `$defs` of the same file, with its `$id`, or refer to it by `#/$defs/..`";
const DRAFTS: &str = "write https://json-schema.org/draft/2020-12/schema, or that of 2019-09, draft-07, -06 or -04";

pub struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
}

/// Loads nothing, neither files nor addresses.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn Error>> {
        Err("it is not in the file".into())
    }
}

impl Schema {
    /// Compiles a document. `name` tells documents apart that have no `$id`. Without `$schema` it is of 2020-12.
    /// `format` counts in every draft.
    pub fn compile(name: &str, document: Value) -> Result<Self, Fault> {
        if let Some(dialect) = document.get("$schema").filter(|it| !is_known(it)) {
            return Err(Fault::new(format!("has an unknown `$schema` ({dialect})"), DRAFTS));
        }
        let location = format!("{BASE}{name}.json");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(NoLoader));
        compiler.enable_format_assertions();
        compiler.add_resource(&location, document).map_err(|error| fault(&error))?;
        let root = compiler.compile(&location, &mut schemas).map_err(|error| fault(&error))?;
        let schema = Self { schemas, root };
        if schema.schemas.validate(&Value::Object(Map::new()), root).is_err_and(|error| is_cycle(&error)) {
            return Err(Fault::new("refers to itself without end", CORRECT_IT));
        }
        Ok(schema)
    }

    pub fn check(&self, attributes: &Value) -> Result<(), Violations> {
        self.schemas.validate(attributes, self.root).map_err(|error| Violations::of(&error))
    }
}

/// Whether `$schema` names one of the drafts, which are part of the validator.
fn is_known(dialect: &Value) -> bool {
    let Some(dialect) = dialect.as_str() else { return false };
    let dialect = dialect.strip_suffix('#').unwrap_or(dialect);
    let draft = ["http://", "https://"].iter().find_map(|scheme| dialect.strip_prefix(scheme));
    let draft = draft.and_then(|it| it.strip_prefix("json-schema.org/")).and_then(|it| it.strip_suffix("/schema"));
    draft.is_some_and(|it| ["draft/2020-12", "draft/2019-09", "draft-07", "draft-06", "draft-04"].contains(&it))
}

fn fault(error: &CompileError) -> Fault {
    match error {
        CompileError::LoadUrlError { url, .. } | CompileError::UnsupportedUrlScheme { url } => {
            Fault::new(format!("refers to `{}`, which is not in it", shown(url)), ONE_FILE)
        }
        CompileError::ValidationError { url, src } => {
            let found = Violations::of(src);
            let within = url.split_once('#').map_or("", |(_, pointer)| pointer);
            let (pointer, message) = found.first().map(|it| (it.pointer(), it.message.clone())).unwrap_or_default();
            Fault::new(format!("is not a JSON Schema (at `{within}{pointer}`: {message})"), CORRECT_IT)
        }
        CompileError::InvalidRegex { regex, src, .. } => pattern(Some(regex), src.as_ref()),
        // Of patterns that the metaschema takes: the validator has no other name for them.
        CompileError::Bug(src) => pattern(None, src.as_ref()),
        CompileError::JsonPointerNotFound(location) | CompileError::InvalidJsonPointer(location) => {
            Fault::new(format!("refers to `{}`, which is not in it", shown(location)), CORRECT_IT)
        }
        CompileError::AnchorNotFound { reference, .. } => {
            Fault::new(format!("refers to `{}`, which is not in it", shown(reference)), CORRECT_IT)
        }
        other => Fault::new(format!("is not a JSON Schema ({})", shown(&format!("{other:#}"))), CORRECT_IT),
    }
}

fn pattern(regex: Option<&str>, error: &dyn Error) -> Fault {
    let which = regex.map(|regex| format!(" `{regex}`")).unwrap_or_default();
    let text = error.to_string();
    // The library draws the place on lines of its own.
    let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").trim_end_matches('.');
    Fault::new(
        format!("has a pattern{which} that cannot be used ({reason})"),
        "write it without look-around and back references, and for fewer repetitions",
    )
}

/// An address as the file has it.
fn shown(address: &str) -> String {
    address.replace(BASE, "")
}
