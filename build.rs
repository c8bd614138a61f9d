//! Puts the web pages into the binary: what Vite has built in web-demo/dist, or else the page that says how to build it.
//!
//! Writes a list of assets for `src/api/http/pages.rs`. A fresh clone compiles without Node.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

#[expect(clippy::disallowed_methods, reason = "this is how cargo tells a build script its folders")]
fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("web-demo");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (built, unbuilt) = (root.join("dist"), root.join("unbuilt"));
    watch(&built);
    watch(&unbuilt);
    println!("cargo::rerun-if-changed=build.rs");
    let is_built = built.join("index.html").is_file();
    let pages = if is_built { &built } else { &unbuilt };
    let assets = memory_serve::assets_to_code(&pages.to_string_lossy(), pages, &out, true, |_| {});
    fs::write(out.join("pages.rs"), assets)?;
    println!("cargo::rustc-env=TIDEFEED_PAGES={}", if is_built { "built" } else { "unbuilt" });
    Ok(())
}

/// Runs again when something in `folder` changes. Cargo takes a folder that is missing for one that always has changed,
/// and would compile the crate anew each time: so an empty one is made, which git ignores.
fn watch(folder: &Path) {
    // On a read-only source tree the only loss is the one just described.
    let _ = fs::create_dir_all(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
}
