//! How a site looks.

use model::{Accent, Error, Id, Result};
use repository::{LinkTarget, SiteLink, SiteLook, SiteLookChange};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;

/// How a site looks.
#[derive(Serialize, ToSchema)]
pub struct SiteLookJson {
    /// Colour of its pages; null for that of the site collection.
    pub accent: Option<&'static str>,
    /// Links above its pages, in order, without those to items that the caller may not know of.
    pub navigation: Vec<SiteLinkJson>,
    /// True if it has a logo.
    pub has_logo: bool,
    /// The page that it opens with; null for its contents, and for a page that the caller may not open.
    pub home: Option<String>,
    /// Name of the template that it was made from; null for none.
    pub template: Option<String>,
}

/// A link above the pages of a site: to an item or to an address.
#[derive(Serialize, ToSchema)]
pub struct SiteLinkJson {
    /// Text of the link.
    pub label: String,
    /// Identifier of the item; null for an address.
    pub item: Option<String>,
    /// Path of the item; null for an address.
    pub path: Option<String>,
    /// Address of this server or of another one; null for an item.
    pub address: Option<String>,
}

impl SiteLookJson {
    /// Returns how a site looks, with its home page.
    pub fn new(look: SiteLook, home: Option<Id>) -> Self {
        Self {
            accent: look.accent.map(Accent::as_str),
            navigation: look.links.into_iter().map(Into::into).collect(),
            has_logo: look.logo.is_some(),
            home: home.map(|home| home.to_string()),
            template: Some(look.template).filter(|name| !name.is_empty()),
        }
    }
}

impl From<SiteLink> for SiteLinkJson {
    fn from(link: SiteLink) -> Self {
        let label = link.label;
        match link.target {
            LinkTarget::Item { id, path } => {
                Self { label, item: Some(id.to_string()), path: Some(path), address: None }
            }
            LinkTarget::Address(address) => Self { label, item: None, path: None, address: Some(address) },
        }
    }
}

/// A change to how a site looks. Absent fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLookForm {
    /// New colour; null for that of the site collection.
    #[serde(default, deserialize_with = "super::double_option")]
    #[schema(value_type = Option<super::rules::AccentWord>)]
    pub accent: Option<Option<String>>,
    /// New links, in order, at most 30.
    #[serde(default, deserialize_with = "super::objects")]
    #[schema(max_items = 30)]
    pub navigation: Option<Vec<SiteLinkForm>>,
    /// The document that the site opens with; null for its contents.
    #[serde(default, deserialize_with = "super::double_option")]
    #[schema(value_type = Option<super::rules::Identifier>)]
    pub home: Option<Option<IdText>>,
}

/// A link to an item of the site collection, or to an address: exactly one of the two.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLinkForm {
    /// Text of the link; the name of the item when absent or empty. A link to an address needs one.
    #[serde(default)]
    #[schema(value_type = super::rules::LinkLabel)]
    pub label: String,
    /// Identifier of the item.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::Identifier>)]
    pub item: Option<IdText>,
    /// Address: a path of this server, or a web address.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::LinkAddress>)]
    pub address: Option<String>,
}

impl SiteLookForm {
    /// Returns the change.
    ///
    /// # Errors
    /// `Invalid` for a colour that does not exist, and for a link with two targets or none.
    pub fn change(self) -> Result<SiteLookChange> {
        let accent = match self.accent {
            Some(Some(word)) => Some(Some(Accent::parse(&word)?)),
            Some(None) => Some(None),
            None => None,
        };
        let links = self.navigation.map(|links| links.into_iter().map(SiteLinkForm::link).collect());
        Ok(SiteLookChange {
            accent,
            links: links.transpose()?,
            logo: None,
            home: self.home.map(|home| home.map(|IdText(id)| id)),
        })
    }
}

impl SiteLinkForm {
    fn link(self) -> Result<SiteLink> {
        let target = match (self.item, self.address) {
            (Some(IdText(id)), None) => LinkTarget::Item { id, path: String::new() },
            (None, Some(address)) => LinkTarget::Address(address),
            _ => return Err(Error::invalid("a link of a site has either an item or an address")),
        };
        Ok(SiteLink { label: self.label, target })
    }
}
