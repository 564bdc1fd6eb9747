//! Templates, and what is made from them.

use std::collections::HashMap;

use repository::{NewSite, TemplateOrigin, TemplateSummary, TemplateText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;
use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A template in a list of them.
#[derive(Serialize, ToSchema)]
pub struct TemplateJson {
    /// Name in addresses.
    pub name: String,
    /// Kind of item that it makes: `site` or `list`.
    pub kind: &'static str,
    /// Title: a text, or an object of texts by language.
    #[schema(value_type = Object)]
    pub title: TemplateText,
    /// What one gets: a text, or an object of texts by language.
    #[schema(value_type = Object)]
    pub description: TemplateText,
    /// Origin: `built-in`, `farm` or `site-collection`.
    pub origin: &'static str,
    /// Time at which it was saved; null for a built-in one.
    pub changed_at: Option<String>,
    /// User who saved it.
    pub changed_by: Option<PersonJson>,
}

impl TemplateJson {
    /// Returns a template with the name of the user who saved it.
    pub fn of(template: TemplateSummary, names: &Names) -> Self {
        Self {
            name: template.name,
            kind: template.kind.as_str(),
            title: template.title,
            description: template.description,
            origin: match template.origin {
                TemplateOrigin::BuiltIn => "built-in",
                TemplateOrigin::Farm => "farm",
                TemplateOrigin::SiteCollection => "site-collection",
            },
            changed_at: template.changed_at.map(time::format),
            changed_by: template.changed_by.and_then(|id| names.optional_person(id)),
        }
    }
}

/// A new name and title of a template.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateChange {
    /// Name in addresses.
    #[schema(value_type = super::rules::TemplateName)]
    pub name: String,
    /// Title in every language; unchanged when absent.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::Title>)]
    pub title: Option<String>,
}

/// A new site.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSiteForm {
    /// 1 to 255 characters, without slashes or control characters.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Name of the template to make it from.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::TemplateName>)]
    pub template: Option<String>,
    /// Users and groups by the entries of the template's `ask`.
    #[serde(default)]
    pub people: HashMap<String, Vec<IdText>>,
    /// Language of the template's names and choices; English when absent.
    #[serde(default)]
    #[schema(value_type = super::rules::LanguageTag)]
    pub language: String,
}

impl NewSiteForm {
    /// Returns what the template does not say.
    pub fn new_site(self) -> NewSite {
        let people = self.people.into_iter().map(|(asked, ids)| (asked, ids.into_iter().map(|id| id.0).collect()));
        NewSite { people: people.collect(), language: self.language }
    }
}
