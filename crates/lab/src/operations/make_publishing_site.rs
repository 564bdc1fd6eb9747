//! Creating a site from the template *publishing*, with its lists, libraries and home page.

use super::make_site::make;
use super::operation::{Operation, STRONGROOM, no_preparation};

/// Creating a site from the template *publishing*.
pub const OPERATION: Operation = Operation {
    name: "make-publishing-site",
    description: "A new site from the template \"publishing\", below the site of the corpus",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, _| Box::pin(make(user, Some("publishing"))),
};
