//! HTTP as virtual users speak it: a target's address, one connection each, cookies, bodies that stream. Knows no
//! operation.

pub mod address;
mod body;
mod client;
mod fault;
mod link;
mod target;
mod target_plan;

pub use body::Outgoing;
pub use client::{Answer, Ask, Client, WireCounts};
pub use fault::{Fault, FaultKind, excerpt};
pub use target::{Login, Target, encode};
pub use target_plan::{Kind, TargetPlan};
