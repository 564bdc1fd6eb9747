//! The contract's test suite and a provider that injects faults, for every implementation of [`Provider`](crate::Provider);
//! a real S3 server and a proxy that spoils what passes to and from it.
//!
//! ```text
//! #[tokio::test]
//! async fn contract() {
//!     blobs::testing::contract(|| async { my_empty_store().await }).await;
//! }
//! ```

mod contract;
mod faults;
pub mod proxy;
pub mod s3;

pub use contract::{contract, random_bytes, read_all, read_range};
pub use faults::{Fault, FaultyProvider, Operation};
