//! How a site looks: its navigation, its accent, its logo and its home page.

mod home;
pub(crate) mod links;
pub(crate) mod options;
mod site;

pub use site::{LinkTarget, SiteLink, SiteLook, SiteLookChange};
