//! What is not as it should be yet, each with its reason, and what may tell of hidden items on purpose.

use model::Right;

use super::ground::Node;
use super::people::Column;
use super::table::Row;

/// Row, column, the status that comes, and why it is left.
const KNOWN: &[(&str, &str, u16, &str)] = &[(
    r#"POST /api/v1/site-collections {"path":"s{n}","title":"S"}"#,
    "farm-only",
    404,
    "the site collection is made; a token that is for the farm alone sees no content, and so cannot be shown it",
)];

/// The status that is known to come instead of the right one.
pub fn status(row: &Row, column: &Column) -> Option<u16> {
    let known = KNOWN.iter().find(|known| known.0 == row.told() && known.1 == column.name)?;
    assert!(!known.3.is_empty(), "what is known has a reason");
    Some(known.2)
}

/// The log of a whole site collection is for who manages it, and names whatever something was done to. An answer may
/// name what the caller itself has named.
pub fn may_tell(row: &Row, column: &Column) -> bool {
    let named = row.fields.iter().any(|(_, value)| value.contains("{elsewhere}"));
    named || row.route.contains("audit") && column.rights(Node::Root).has(Right::ManageSite)
}
