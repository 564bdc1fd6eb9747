//! Statements over the configuration database: the farm itself, its content databases, BLOB stores and site
//! collections, and people. One module per table or small family of tables. Business rules and permissions are not
//! known here.

pub mod account;
pub mod backup;
pub mod edit_token;
pub mod event;
pub mod farm;
pub mod group;
pub mod job;
pub mod known_device;
pub mod link_network;
pub mod password_link;
pub mod password_list;
pub mod policy;
pub mod principal;
pub mod profile;
pub mod restored;
pub mod role;
pub mod saved_search;
pub mod server;
pub mod site_collection;
pub mod template;
pub mod throttle;
pub mod token;
pub mod web_session;

pub use crate::content::idempotency;
