//! The REST interface under `/api/v1/`.
//!
//! Every route is registered together with its description, so that the OpenAPI document cannot omit one. Handlers turn
//! requests into calls of a `Session`, and the results into JSON. They decide nothing about permissions.

mod archive;
mod collections;
pub(crate) mod content;
mod documents;
pub(crate) mod extract;
mod feed;
mod figures;
mod following;
mod groups;
mod images;
mod items;
mod jobs;
mod libraries;
mod locks;
mod look;
mod me;
mod moving;
mod openapi;
mod permissions;
mod preconditions;
mod routes;
mod rows;
mod saved_searches;
mod search;
mod search_indexes;
mod sharing;
mod storage;
mod suggestions;
mod templates;
mod uploads;
mod usage;
mod users;
mod views;
mod wire;

pub use routes::{document, require_supported_preconditions, routes};
pub use uploads::keep_tidy;
