//! A folder for one run.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// A folder that is removed when this value is dropped.
pub struct Scratch {
    path: PathBuf,
    made: usize,
}

impl Scratch {
    /// A new one in `folder`.
    pub fn within(folder: &Path) -> Result<Self> {
        let path = folder.join(format!("run-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path: path.canonicalize()?, made: 0 })
    }

    /// A new folder in it.
    pub fn folder(&mut self) -> Result<PathBuf> {
        self.made += 1;
        let made = self.path.join(self.made.to_string());
        std::fs::create_dir(&made)?;
        Ok(made)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whatever cannot be removed stays in the target folder and does no harm there.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
