//! Operations of the papers that no target offers to the lab yet. A plan may name them; reports say what share of its mix they
//! are, and the rest is scaled up.

/// Names, and why the lab cannot do them.
const UNBUILT: &[(&str, &str)] = &[
    ("read-list", "lists"),
    ("read-list-grid", "lists"),
    ("list-form", "lists"),
    ("new-list-item", "lists"),
    ("edit-list-item", "lists"),
    ("delete-list-item", "lists"),
    ("create-page", "pages that people write"),
    ("start-workflow", "workflows"),
    ("complete-task", "workflows"),
    ("sync-with-mail", "synchronisation with mail programs"),
    ("incoming-mail", "incoming mail"),
    ("feed", "feeds"),
    ("rpc-open", "FrontPage RPC"),
    ("rpc-save", "FrontPage RPC"),
    ("search-content", "search in contents"),
];

/// Why an operation cannot be done on any target; none when it can, or is none at all.
pub fn not_built(name: &str) -> Option<&'static str> {
    UNBUILT.iter().find(|(known, _)| *known == name).map(|(_, needs)| *needs)
}
