//! Wording of the farm's data on pages: names of people, values of columns, events, rights, and missing content.

pub mod cells;
pub mod entries;
pub mod events;
pub mod names;
pub mod passages;
pub mod people;
pub mod rights;
pub mod unavailable;
