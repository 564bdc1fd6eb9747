//! Test support for every implementation of [`Provider`](crate::Provider): the contract's test suite, a provider that
//! injects faults, a real S3 server, and a proxy that injects faults into its traffic.
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
