//! How pages say what the farm tells: names of people, values of columns, events, rights, and what is missing.

pub mod away;
pub mod cells;
pub mod events;
pub mod names;
pub mod people;
pub mod rights;
