//! Tidefeed.
fn main() {}
