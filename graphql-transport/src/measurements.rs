//! The names of the transport's metrics, which a service may choose.

/// Names of metrics. The default ones begin with `graphql_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricNames {
    /// Gauge: open connections.
    pub connections: &'static str,
    /// Counter: refused connections, by `reason`: `full` (the node) or `address`.
    pub connections_refused: &'static str,
    /// Gauge: bytes held for clients, by `what`: `heads`, `bodies`, `documents` or `answers`.
    pub held_bytes: &'static str,
    /// Counter: requests and events refused for lack of memory, by `what` and `bound`: `node` or `client`.
    pub held_bytes_refused: &'static str,
    /// Gauge: running queries and mutations, by `kind`: `query` or `mutation`.
    pub operations_running: &'static str,
    /// Gauge: waiting queries and mutations, by `kind`.
    pub operations_waiting: &'static str,
    /// Counter: queries and mutations refused under load, by `kind` and `reason`: `full` (too many waited already) or
    /// `late` (waited too long).
    pub operations_refused: &'static str,
    /// Gauge: open WebSockets.
    pub sockets: &'static str,
    /// Counter: WebSockets that the server has ended because of what their clients do, by `reason`: `unread` (they
    /// leave answers unread), `messages` (they send too many that cost no points), `operations` or `sockets` (more at
    /// once than they may have).
    pub sockets_cut_off: &'static str,
    /// Gauge: open or reserved event streams.
    pub streams: &'static str,
    /// Counter: what a client was refused beyond its bound or the node's, by `bound`: `points`, `sockets`, `streams` or
    /// `stream_operations`. What other counters count is not in it.
    pub refused: &'static str,
}

impl Default for MetricNames {
    fn default() -> Self {
        Self {
            connections: "graphql_connections",
            connections_refused: "graphql_connections_refused_total",
            held_bytes: "graphql_held_bytes",
            held_bytes_refused: "graphql_held_bytes_refused_total",
            operations_running: "graphql_operations_running",
            operations_waiting: "graphql_operations_waiting",
            operations_refused: "graphql_operations_refused_total",
            sockets: "graphql_websockets",
            sockets_cut_off: "graphql_websockets_cut_off_total",
            streams: "graphql_event_streams",
            refused: "graphql_refused_total",
        }
    }
}
