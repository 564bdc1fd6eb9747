//! Creating a site from the template *team*, with its lists, libraries and home page.

use super::make_site::make;
use super::operation::{Operation, STRONGROOM, no_preparation};

/// Creating a site from the template *team*.
pub const OPERATION: Operation = Operation {
    name: "make-team-site",
    description: "A new site from the template \"team\", below the site of the corpus",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, _| Box::pin(make(user, Some("team"))),
};
