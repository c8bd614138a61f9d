//! Puts the web pages into the binary: what Vite has built in web-demo/dist, or else the page that says how to build
//! it. And asks the linker for short relocations.
//!
//! Writes a list of assets for `src/api/pages.rs`, each in the compressed forms that `scripts/web.sh` has made, or as
//! it is if there are none. A fresh clone compiles without Node.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

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
    let mut files = Vec::new();
    files_in(pages, &mut files)?;
    files.sort();
    files.retain(|file| !is_compressed(file));
    let mut list = format!("static ASSETS: [Asset; {}] = [\n", files.len());
    for file in &files {
        list.push_str(&asset(pages, file)?);
    }
    list.push_str("];\n");
    fs::write(out.join("pages.rs"), list)?;
    if !is_built && env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::warning=The web pages are not built. This binary serves the API, and a page that says so.");
        println!("cargo::warning=For the demo and GraphiQL run `make web` first, or `make release` or `make install`.");
    }
    println!("cargo::rustc-env=TIDEFEED_PAGES={}", if is_built { "built" } else { "unbuilt" });
    if loads_short_relocations() {
        println!("cargo::rustc-link-arg-bin=tidefeed=-Wl,-z,pack-relative-relocs");
    }
    Ok(())
}

/// Whether the C library of this machine, for which the binary is built, reads relative relocations in their short
/// form. In the long one they take 1.3 MB, all of which each start reads.
#[expect(clippy::disallowed_methods, reason = "this is how cargo tells a build script its target")]
fn loads_short_relocations() -> bool {
    let is = |name: &str, value: &str| env::var_os(name).is_some_and(|it| it == value);
    if env::var_os("TARGET") != env::var_os("HOST") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return false;
    }
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = answer.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    let version = text.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    version.is_some_and(|(major, minor)| (number(major), number(minor)) >= (2, 36))
}

/// Runs again when something in `folder` changes. Cargo takes a folder that is missing for one that always has
/// changed, and would compile the crate anew each time: so an empty one is made, which git ignores.
fn watch(folder: &Path) {
    // On a read-only source tree the only loss is the one just described.
    let _ = fs::create_dir_all(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
}

fn files_in(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files_in(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// Whether `file` is another one, compressed.
fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "br" || extension == "gz")
}

/// An `Asset` of `src/api/pages.rs`.
fn asset(pages: &Path, file: &Path) -> io::Result<String> {
    let route = file.strip_prefix(pages).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
    let content_type = match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        Some("ttf") => "font/ttf",
        Some("woff2") => "font/woff2",
        _ => return Err(io::Error::other(format!("{}: add its content type to build.rs", file.display()))),
    };
    let plain = fs::read(file)?;
    let hash = Sha256::digest(&plain);
    let etag = hash.iter().take(16).try_fold(String::new(), |mut hex, byte| write!(hex, "{byte:02x}").map(|()| hex));
    let etag = etag.map_err(io::Error::other)?;
    let compressed = |suffix: &str| {
        let path = PathBuf::from(format!("{}.{suffix}", file.display()));
        path.is_file().then(|| included(&path))
    };
    let bytes = match compressed("gz") {
        None => format!("Packed::new({}, false)", included(file)),
        Some(gzip) => format!("Packed::new({gzip}, true)"),
    };
    let brotli = compressed("br").map_or_else(|| "None".to_owned(), |bytes| format!("Some({bytes})"));
    let route = format!("/{route}");
    Ok(format!(
        "Asset {{ route: {route:?}, content_type: {content_type:?}, etag: {etag:?}, bytes: {bytes}, brotli: {brotli} }},\n",
    ))
}

/// An expression for the bytes of `file`.
fn included(file: &Path) -> String {
    format!("include_bytes!(r\"{}\")", file.display())
}
