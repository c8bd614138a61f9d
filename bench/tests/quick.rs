//! Tests that the benchmark can measure every row of its table, in a small world and for a moment. Ignores the figures.
//! Leaves out the rows of the peer, which need PostgreSQL and a package with hundreds of dependencies.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The binary that the integration tests of the service are built with, beside this one.
fn tidefeed() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_tidefeed-bench"));
    own.with_file_name("tidefeed")
}

/// Each engine has a folder of its own: tests run at the same time.
fn every_row_on(engine: &str) {
    let tidefeed = tidefeed();
    assert!(tidefeed.is_file(), "{} is missing: run cargo build", tidefeed.display());
    let bench = env!("CARGO_BIN_EXE_tidefeed-bench");
    let listed = Command::new(bench).arg("--tidefeed").arg(&tidefeed).arg("--list").output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let rows: Vec<&str> = listed.lines().filter(|row| row.ends_with(engine) && !row.starts_with("peer")).collect();
    assert!(rows.len() > 5, "too few rows: {listed}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{engine}"));
    let mut command = Command::new(bench);
    command.arg("--tidefeed").arg(&tidefeed).arg("--folder").arg(&folder).args(["--quick", "--fresh"]);
    let output = command.args(["--row", &rows.join(",")]).output();
    let (printed, complaint) = output.map_or_else(
        |error| (String::new(), error.to_string()),
        |output| {
            let [printed, complaint] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
            (printed, if output.status.success() { String::new() } else { complaint })
        },
    );
    assert_eq!(complaint, "", "{printed}");
    for row in rows {
        assert!(printed.contains(&format!("\n| {row} | ")), "{row} printed nothing: {printed}");
    }
}

#[test]
fn every_row_can_be_measured_on_sqlite() {
    every_row_on("sqlite");
}

#[test]
fn every_row_can_be_measured_on_mariadb() {
    every_row_on("mariadb");
}
