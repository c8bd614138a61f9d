//! How long files and functions may be. Blank lines, comments and `#[cfg(test)]` do not count.

use super::Rule;
use crate::tidy::tree::{Finding, Tree};

const FILE_MEDIAN: usize = 100;
const FILE_P90: usize = 250;
const FILE_MOST: usize = 400;
const FUNCTION_P90: usize = 30;
const FUNCTION_MOST: usize = 60;

macro_rules! lines {
    ($count:tt) => {
        concat!("fn long() {\n", repeat!($count), "}\n")
    };
}
/// As many statements as the number says, in tens.
macro_rules! repeat {
    (20) => {
        concat!(repeat!(10), repeat!(10))
    };
    (40) => {
        concat!(repeat!(20), repeat!(20))
    };
    (80) => {
        concat!(repeat!(40), repeat!(40))
    };
    (160) => {
        concat!(repeat!(80), repeat!(80))
    };
    (320) => {
        concat!(repeat!(160), repeat!(160))
    };
    (480) => {
        concat!(repeat!(320), repeat!(160))
    };
    (10) => {
        "a();\na();\na();\na();\na();\na();\na();\na();\na();\na();\n"
    };
}

pub const FILES: Rule = Rule {
    remedy: "split the file along what it knows (code lines: median below 100, p90 below 250, none above 400)",
    check: files,
    broken_by: &[
        &[("src/read/mod.rs", lines!(480))],
        &[("tests/it/reading.rs", lines!(480))],
        &[("src/read/mod.rs", lines!(320)), ("src/live/mod.rs", "//! Short.")],
        &[("src/read/mod.rs", lines!(160))],
        &[("src/read/mod.rs", "this is not Rust")],
    ],
    kept_by: &[
        &[("src/read/mod.rs", concat!("#[cfg(test)] mod tests {\n", lines!(480), "}"))],
        &[("src/read/mod.rs", lines!(80))],
    ],
};

pub const FUNCTIONS: Rule = Rule {
    remedy: "give the steps of the function names of their own (lines: p90 below 30, none above 60)",
    check: functions,
    broken_by: &[
        &[("src/read/mod.rs", lines!(80))],
        &[("tests/it/reading.rs", concat!("impl World {\n", lines!(80), "}"))],
        &[("src/read/mod.rs", lines!(40))],
    ],
    kept_by: &[
        &[("src/read/mod.rs", lines!(20))],
        &[("src/read/mod.rs", "fn short() {\n// a\n// b\n\n\n}\nstruct S;\n")],
    ],
};

fn files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sizes = Vec::new();
    for (file, rust) in tree.rust() {
        let size = rust.code_lines.len();
        if let Some(error) = &rust.broken {
            findings.push(file.finding(1, format!("cannot be parsed: {error}")));
        } else if size > FILE_MOST {
            findings.push(file.finding(1, format!("{size} lines of code, at most {FILE_MOST}")));
        }
        if file.is_product() {
            sizes.push((size, file.path.as_str()));
        }
    }
    findings.extend(share_above(&mut sizes, 50, FILE_MEDIAN));
    findings.extend(share_above(&mut sizes, 90, FILE_P90));
    findings
}

fn functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sizes = Vec::new();
    for (file, rust) in tree.rust() {
        for function in &rust.functions {
            if function.length > FUNCTION_MOST {
                let what = format!("`{}` has {} lines, at most {FUNCTION_MOST}", function.name, function.length);
                findings.push(file.finding(function.line, what));
            }
            if file.is_product() && !rust.is_test_code(function.line) {
                sizes.push((function.length, file.path.as_str()));
            }
        }
    }
    findings.extend(share_above(&mut sizes, 90, FUNCTION_P90));
    findings
}

/// The size below which `percent` of all lie must stay below `limit`; if not, the finding names the largest.
fn share_above(sizes: &mut [(usize, &str)], percent: usize, limit: usize) -> Option<Finding> {
    sizes.sort_unstable();
    let rank = (sizes.len() * percent).div_ceil(100).checked_sub(1)?;
    let (size, _) = sizes[rank];
    let (largest, path) = sizes.last().copied()?;
    (size >= limit).then(|| Finding {
        path: path.to_owned(),
        line: 1,
        what: format!("{percent} % reach {size} lines, must stay below {limit}; the largest here has {largest}"),
    })
}
