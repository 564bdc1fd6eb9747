//! Queries to an index: inflections, operators, filters, similar words, orders and counts; and that no answer
//! depends on entries which are not admitted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod filters;
mod ranking;
mod shelf;
#[path = "../support/mod.rs"]
mod support;
mod words;
