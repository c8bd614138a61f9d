//! A small file system that a test can fill, so that the database on it runs out of space. Needs the right to mount,
//! which root has.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::servers::{Recipe, watchdog::Watchdog};

const REMEDY: &str = "a file system to fill can be mounted by root alone: run as root, or within `unshare --map-root-user --mount`, or leave the fault out with WITHOUT_FULL_DISK=1";

/// Whether the caller has left this fault out, because the user may not mount.
pub fn is_left_out() -> bool {
    std::env::var_os("WITHOUT_FULL_DISK").is_some()
}

/// A file system in memory. It goes with this value, and with this process.
pub struct Disk {
    watchdog: Watchdog,
    folder: PathBuf,
}

impl Disk {
    /// Empty, and `size` large, as `mount` takes it. The error says what to do where nothing may be mounted.
    pub async fn of(size: &'static str) -> Result<Self> {
        let recipe = Recipe {
            program: "mount".to_owned(),
            within: std::env::temp_dir(),
            prepare: r#"mkdir "$folder/disk"; mount -t tmpfs -o "size=$size,mode=0700" tidefeed-test "$folder/disk""#,
            serve: "",
            more: String::new(),
            remedy: REMEDY,
            ready_within: Duration::ZERO,
        };
        let watchdog = Watchdog::with(&recipe, &[("size", size)])?;
        let prepared = watchdog.order("prepare").await?;
        ensure!(prepared == "prepared", "{REMEDY}\n{}", watchdog.last_words());
        let folder = watchdog.folder().join("disk");
        Ok(Self { watchdog, folder })
    }

    /// What is kept here can be kept from growing.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes all the room that is left. What others give back they may have again, until this is called again.
    pub async fn fill(&self) -> Result<()> {
        let filled = self.watchdog.order("fill").await?;
        ensure!(filled == "filled", "the disk cannot be filled: {}", self.watchdog.last_words());
        Ok(())
    }

    /// Gives the room back.
    pub async fn free(&self) -> Result<()> {
        self.watchdog.order("free").await.map(drop)
    }
}
