//! Operations in the papers that no target offers to the lab yet. A plan may name them. Reports show their share of the
//! mix, and the other operations are scaled up.

/// Names of the operations, each with the missing feature.
const UNAVAILABLE: &[(&str, &str)] = &[
    ("start-workflow", "workflows"),
    ("complete-task", "workflows"),
    ("sync-with-mail", "synchronisation with mail programs"),
    ("incoming-mail", "incoming mail"),
    ("rpc-open", "FrontPage RPC"),
    ("rpc-save", "FrontPage RPC"),
];

/// Returns the feature that is missing for an operation on every target; `None` if the operation is available or
/// unknown.
pub fn missing_feature(name: &str) -> Option<&'static str> {
    UNAVAILABLE.iter().find(|(known, _)| *known == name).map(|(_, needs)| *needs)
}
