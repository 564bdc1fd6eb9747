//! Generators on other machines: an agent waits for plans and sends what it measured second by second; whoever leads
//! them merges that as if its own threads had measured it.

mod address;
mod lead;
mod protocol;
mod serve;
mod watch;

pub use address::known;
pub use lead::lead;
pub use serve::serve;
pub use watch::watch;
