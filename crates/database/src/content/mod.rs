//! Statements over a content database: site collections, scopes, items, versions, BLOB references, columns, the recycle
//! bin and events. One module per table or small family of tables. Business rules and permissions are not known here.

pub mod blob;
pub mod census;
pub mod collection;
pub mod column;
pub mod deletion_queue;
pub mod displaced;
pub mod event;
pub mod fault;
pub mod feed;
pub mod fields;
pub mod followed;
pub mod idempotency;
pub mod identity;
pub mod library;
pub mod listing;
pub mod lock;
pub mod name_lookup;
pub mod node;
pub mod placing;
pub mod progress;
pub mod property;
pub mod record;
pub mod recycle;
pub mod restored;
pub mod revision;
pub mod saved_view;
pub mod scope;
pub mod search;
pub mod share_link;
pub mod site;
pub mod sorted;
pub mod stored;
pub mod tree;
pub mod upload;
pub mod version;
