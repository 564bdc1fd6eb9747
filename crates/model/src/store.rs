//! Kinds and states of BLOB stores.

use crate::words::words;

words! {
    /// The kind of a BLOB store, which decides on its provider. The schema does not restrict the kinds of stored rows,
    /// so a new kind comes with a step of the schema: older programs then refuse the database as newer.
    StoreKind: "the kind of a BLOB store";
    /// The content databases themselves.
    Database = "database",
    /// A directory.
    Directory = "directory",
    /// A bucket of Amazon S3 or a compatible service.
    S3 = "s3",
    /// A container of Azure Blob Storage.
    Azure = "azure",
    /// A bucket of Google Cloud Storage.
    Gcs = "gcs",
}

words! {
    /// State of a BLOB store with regard to new BLOBs.
    StoreState: "the state of a BLOB store";
    /// Takes new BLOBs where a policy says so.
    Active = "active",
    /// Takes no new BLOBs; its content stays readable.
    ReadOnly = "read-only",
    /// Like `ReadOnly`, and its content is being moved to other stores.
    Draining = "draining",
}
