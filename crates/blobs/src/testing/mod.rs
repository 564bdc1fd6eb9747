//! Test support for every implementation of [`Provider`](crate::Provider): the contract's test suite
//! ([`provider_contract!`](crate::provider_contract)), a provider that injects faults, a real S3 server, and a proxy
//! that injects faults into its traffic.

mod content;
mod contract;
mod faults;
pub mod promises;
pub mod proxy;
pub mod s3;

pub use content::{random_bytes, read_all, read_range};
pub use faults::{Fault, FaultyProvider, Operation};
