//! The names of the metrics that this crate counts.

/// Name of the histogram of request durations, in seconds.
pub const REQUESTS: &str = "strongroom_http_request_seconds";
/// Name of the gauge of the memory that this process holds, in bytes, as exporters of other programs call it.
pub const MEMORY: &str = "process_resident_memory_bytes";
/// Name of the gauge of open connections.
pub const CONNECTIONS: &str = "strongroom_http_connections";
/// Name of the counter of bytes that clients have sent.
pub const RECEIVED: &str = "strongroom_http_received_bytes_total";
/// Name of the counter of bytes that were sent to clients.
pub const SENT: &str = "strongroom_http_sent_bytes_total";
/// Name of the counter of connections and requests that were turned away, by `limit`.
pub const TURNED_AWAY: &str = "strongroom_http_turned_away_total";
