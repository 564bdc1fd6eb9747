//! Rules for locations that are about to be used: by a new store, as a backup destination, for a restoration or for a
//! new farm.
//!
//! Each rule has its own error code and its own exceptions, which are explained where they are made. All of them
//! recognise what is there by its markers and its nesting, so that no path or address leads around them.

pub(crate) mod backup_destination;
pub(crate) mod new_farm;
pub(crate) mod restoration;
mod store_directory;
mod store_prefix;
pub(crate) mod store_refusal;
