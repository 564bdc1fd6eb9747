//! Load generators on other machines. An agent waits for plans and sends its measurements back every second. The leader
//! merges them like those of its own threads.

mod address;
mod lead;
mod protocol;
mod serve;
mod watch;

pub use address::resolve_monitor_agent;
pub use lead::run_on_agents;
pub use serve::serve;
pub use watch::watch;
