//! Tidefeed.
