//! Errors of the rules for a new store, whether it is a directory or a prefix of a bucket.

use database::configuration::farm::StoreRow;
use model::{Code, Error, StoreKind};

use crate::locations::nesting::Nesting;

/// Returns the error for a location that is another one, contains it, or lies within it.
pub(super) fn nested(nesting: Nesting, place: &str, other: &str, what: &str) -> Error {
    let advice = match nesting {
        Nesting::Same => "choose another location",
        Nesting::Within => "choose a location outside it",
        Nesting::Around => "choose a location beside it",
    };
    let how = nesting.sentence(place, other, what);
    Error::conflict(format!("{how}: {advice}")).with_code(Code::PlaceNested)
}

/// Returns the error for a location that another store of the farm has. The same location reached by another address
/// counts too.
pub(crate) fn taken(row: &StoreRow, other: &StoreRow) -> Error {
    // The leading slash of a directory is significant; that of a bucket prefix is not.
    let shown = |row: &StoreRow| match row.kind {
        StoreKind::Directory if row.location.len() > 1 => row.location.trim_end_matches('/').to_owned(),
        StoreKind::Directory => row.location.clone(),
        StoreKind::Database | StoreKind::S3 | StoreKind::Azure | StoreKind::Gcs => {
            row.location.trim_matches('/').to_owned()
        }
    };
    let (new, known) = (&shown(row), &shown(other));
    match nesting_of_names(row, other) {
        Some(nesting) if new != known => nested(nesting, new, known, &format!("the BLOB store \"{}\"", other.name)),
        _ => occupied(&other.name, known),
    }
}

/// Returns the error for a location at which there is already a store of the farm.
pub(super) fn occupied(name: &str, place: &str) -> Error {
    let text = format!("the BLOB store \"{name}\" is already at that location ({place}): choose another location");
    Error::conflict(text).with_code(Code::PlaceTaken)
}

/// Compares the locations of two stores by their names alone; none if they are separate.
pub(super) fn nesting_of_names(one: &StoreRow, other: &StoreRow) -> Option<Nesting> {
    Nesting::of_prefixes(&one.location, &other.location)
}
