//! How a site looks: its navigation, its accent, its logo and its home page.

mod home;
pub(crate) mod links;
mod logo;
pub(crate) mod options;
mod site;

pub use logo::{LogoImage, MAX_LOGO_BYTES};
pub use site::{LinkTarget, SiteLink, SiteLook, SiteLookChange};
