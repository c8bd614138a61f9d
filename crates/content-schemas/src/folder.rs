//! Reads a folder of schemas: TYPE.json for each type.

use std::{
    collections::BTreeMap,
    fs::{File, read_dir},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use domain::{
    limits::{MAX_SCHEMA_BYTES, MAX_SCHEMAS},
    object::ContentType,
};
use serde_json::Value;

use crate::{
    ContentSchemas,
    schema::Schema,
    unusable::{Fault, UnusableSchema},
};

const NAME_A_FOLDER: &str = "name a folder with a file TYPE.json for each type, or leave content.schemas empty";

impl ContentSchemas {
    /// Reads every file of the folder that ends in `.json`, in the order of their names, and fails at the first that
    /// cannot be used. Other files are left alone.
    pub fn read(folder: &Path) -> Result<Self, UnusableSchema> {
        let unreadable = |error: io::Error| {
            UnusableSchema::at(folder, Fault::new(format!("cannot be read ({error})"), NAME_A_FOLDER))
        };
        let mut paths = paths(folder).map_err(unreadable)?;
        if paths.len() > MAX_SCHEMAS {
            let seen = format!("has more than {MAX_SCHEMAS} files that end in .json");
            return Err(UnusableSchema::at(folder, Fault::new(seen, NAME_A_FOLDER)));
        }
        paths.sort_unstable();
        let read = paths.iter().map(|path| read(path).map_err(|fault| UnusableSchema::at(path, fault)));
        read.collect::<Result<BTreeMap<_, _>, _>>().map(Self)
    }
}

/// One more than may be at most.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    paths.filter(|path| path.as_ref().map_or(true, is_json)).take(MAX_SCHEMAS + 1).collect()
}

fn read(path: &Path) -> Result<(ContentType, Schema), Fault> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let content_type = ContentType::try_new(name)
        .map_err(|invalid| Fault::new(format!("is not named after a type ({invalid})"), "rename or remove the file"))?;
    let bytes = bytes(path)
        .map_err(|error| Fault::new(format!("cannot be read ({error})"), "let the service read it, or remove it"))?;
    if bytes.len() > MAX_SCHEMA_BYTES {
        return Err(Fault::new(format!("has more than {MAX_SCHEMA_BYTES} bytes"), "write a shorter schema"));
    }
    let document: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Fault::new(format!("is not JSON ({error})"), "correct the file"))?;
    Schema::compile(name, document).map(|schema| (content_type, schema))
}

/// One more than may be at most.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_SCHEMA_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
