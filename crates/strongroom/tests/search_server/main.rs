//! Tests with a real OpenSearch server, which `./check search-server` installs and runs. What documents are found by,
//! and what nobody finds, is tested by the same tests as for an index in the data directory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod mounted {
    //! What tests of others use of this module.
    pub use crate::shared::until;
}
mod opensearch;
#[path = "../e2e/queries.rs"]
mod queries;
mod shared;
#[path = "../e2e/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "these tests use a part of it")]
mod support;
mod tls;
mod troubles;
#[path = "../e2e/words.rs"]
mod words;
