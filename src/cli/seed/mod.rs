//! Seed.
mod calendar;
mod lexicon;
mod numbers;
mod people;
mod popularity;
mod world;
