//! Stages of the recycle bin.

use crate::words::words;

words! {
    /// The bin that a deleted item is in.
    RecycleStage: "the stage of a deleted item";
    /// The personal bin of the user who deleted the item.
    Person = "person",
    /// The site's bin, after the user emptied the personal bin.
    Site = "site",
}
