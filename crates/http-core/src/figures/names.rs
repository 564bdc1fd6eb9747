//! Names of the metrics that this crate records.

/// Name of the histogram of request durations, in seconds.
pub const REQUESTS: &str = "strongroom_http_request_seconds";
/// Name of the gauge of this process's resident memory, in bytes. Exporters of other programs use the same name.
pub const MEMORY: &str = "process_resident_memory_bytes";
/// Name of the gauge of open connections.
pub const CONNECTIONS: &str = "strongroom_http_connections";
/// Name of the counter of bytes received from clients.
pub const RECEIVED: &str = "strongroom_http_received_bytes_total";
/// Name of the counter of bytes sent to clients.
pub const SENT: &str = "strongroom_http_sent_bytes_total";
/// Name of the counter of rejected connections and requests, by `limit`.
pub const TURNED_AWAY: &str = "strongroom_http_turned_away_total";
