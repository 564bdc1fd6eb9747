//! HTTP as virtual users speak it: a target's address, one connection for each user, cookies, and streamed bodies.
//! Independent of operations.

pub mod address;
mod body;
mod client;
mod fault;
mod link;
mod target;
mod target_plan;

pub use body::RequestBody;
pub use client::{Client, ReadResponse, RequestBuilder, WireCounts};
pub use fault::{Fault, FaultKind, excerpt};
pub use target::{Login, Target, encode};
pub use target_plan::{TargetKind, TargetPlan};
