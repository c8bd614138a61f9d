//! The demo: a world of made-up people of any size, as a pure function of a plan, and the pictures that they show.
//!
//! A guest of the server (cargo feature `demo`): `tidefeed seed` writes the world through a port of the server's own,
//! and a node that has the demo serves [`pictures::router`]. Nothing here knows a store, and no release contains it.

mod album;
mod applause;
mod calendar;
mod cast;
mod guest;
mod lexicon;
mod life;
mod manners;
mod numbers;
mod people;
pub mod pictures;
mod popularity;
pub mod seeding;
mod speech;
mod talk;
mod topics;
mod world;

pub use self::{
    album::Album,
    cast::Cast,
    guest::{Guest, HANDLE, InvalidGuest, PASSWORD},
    life::{Act, Life, Remark, Scene},
    world::{Plan, World},
};
