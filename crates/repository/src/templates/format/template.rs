//! The parts of a template, as its file has them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Error, LibrarySettings, Result, SmallImage, Versioning};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::text::Text;
use crate::items::containers::list_settings;

/// The format that this program reads and writes.
pub(crate) const FORMAT: i64 = 1;

/// A template: a site with its lists and libraries, or one list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Number of the format.
    pub(crate) format: i64,
    /// Kind of item that it makes.
    pub kind: TemplateKind,
    /// Name in addresses: small letters, digits and hyphens.
    pub name: String,
    /// Title.
    pub title: Text,
    /// What one gets.
    #[serde(default)]
    pub description: Text,
    /// Groups and people that the form asks for.
    #[serde(default)]
    pub ask: Vec<Text>,
    /// Roles for those who were asked for.
    #[serde(default)]
    pub grants: Vec<GrantTemplate>,
    /// Colour of the site.
    #[serde(default)]
    pub accent: Option<String>,
    /// Logo of the site.
    #[serde(default)]
    pub(crate) logo: Option<LogoTemplate>,
    /// Links above the pages of the site.
    #[serde(default)]
    pub navigation: Vec<LinkTemplate>,
    /// Lists and libraries of the site.
    #[serde(default)]
    pub lists: Vec<ListTemplate>,
    /// The list of a template that makes one.
    #[serde(default)]
    pub list: Option<ListTemplate>,
}

impl Template {
    /// Returns those whom the form for a new site asks for.
    pub fn asked(&self) -> &[Text] {
        &self.ask
    }

    /// Returns the names of the roles for one of those who are asked for.
    pub fn roles_of(&self, asked: &str) -> impl Iterator<Item = &str> {
        self.grants.iter().filter(move |grant| grant.to == asked).map(|grant| grant.role.as_str())
    }
}

/// A logo: the file in Base64 (RFC 4648, section 4).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct LogoTemplate(pub(crate) SmallImage);

impl TryFrom<String> for LogoTemplate {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let bytes = STANDARD.decode(text).map_err(|error| Error::invalid(format!("the logo is no Base64: {error}")))?;
        SmallImage::new(bytes).map(Self)
    }
}

impl LogoTemplate {
    /// Returns the file in Base64.
    pub(crate) fn encoded(&self) -> String {
        STANDARD.encode(&self.0.bytes)
    }
}

/// The kind of item that a template makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemplateKind {
    /// A site.
    Site,
    /// A list.
    List,
}

impl TemplateKind {
    /// Returns the word in files, in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::List => "list",
        }
    }
}

/// A role for those who were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantTemplate {
    /// One of `ask`.
    pub to: String,
    /// Name of the role.
    pub role: String,
}

/// A link above the pages of a site. Exactly one of `list` and `link` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTemplate {
    /// A list or library of the template.
    pub list: Option<String>,
    /// An address of this server, or of another one.
    pub link: Option<String>,
    /// What the link says; a list is called by its name if this is absent.
    pub label: Option<Text>,
}

/// The kind of items in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Documents: it is a library.
    #[default]
    Documents,
    /// Rows.
    Rows,
}

/// A list or library.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListTemplate {
    /// Name.
    pub name: Text,
    /// A template that has everything else about the list.
    #[serde(default)]
    pub template: Option<String>,
    /// Kind of its items.
    #[serde(default)]
    pub holds: Holds,
    /// Versioning: `none`, `major` or `major-minor`.
    #[serde(default)]
    pub versioning: Option<String>,
    /// Limit on the major versions of a document, or the versions of a row; 0 keeps all.
    #[serde(default)]
    pub major_limit: Option<u32>,
    /// Number of latest major versions that keep their drafts; 0 keeps all drafts.
    #[serde(default)]
    pub minor_limit: Option<u32>,
    /// Set when a document must be checked out before it is changed.
    #[serde(default)]
    pub require_checkout: Option<bool>,
    /// Set when drafts are published by approval only.
    #[serde(default)]
    pub require_approval: Option<bool>,
    /// Set when documents can be attached to the rows of a list.
    #[serde(default)]
    pub attachments: Option<bool>,
    /// Content types of a library.
    #[serde(default)]
    pub types: Vec<Text>,
    /// Columns.
    #[serde(default)]
    pub columns: Vec<ColumnTemplate>,
    /// Views for all users.
    #[serde(default)]
    pub views: Vec<ViewTemplate>,
    /// Rows: values by column.
    #[serde(default)]
    pub rows: Vec<toml::Table>,
    /// Pages of a library.
    #[serde(default)]
    pub pages: Vec<PageTemplate>,
}

impl ListTemplate {
    /// Returns the settings of the list or library.
    pub(crate) fn settings(&self) -> Result<LibrarySettings> {
        let usual = match self.holds {
            Holds::Documents => LibrarySettings::default(),
            Holds::Rows => list_settings(),
        };
        let settings = LibrarySettings {
            versioning: self.versioning.as_deref().map(Versioning::parse).transpose()?.unwrap_or(usual.versioning),
            major_limit: self.major_limit.unwrap_or(usual.major_limit),
            minor_limit: self.minor_limit.unwrap_or(usual.minor_limit),
            require_checkout: self.require_checkout.unwrap_or(usual.require_checkout),
            require_approval: self.require_approval.unwrap_or(usual.require_approval),
            attachments: self.attachments.unwrap_or(usual.attachments),
        };
        settings.check()?;
        Ok(settings)
    }
}

/// A page: a Markdown document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTemplate {
    /// Name, which ends with `.md`.
    pub name: Text,
    /// Its text.
    pub text: Text,
    /// Set for the page that the site opens with.
    #[serde(default)]
    pub home: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnTemplate {
    /// Name.
    pub name: Text,
    /// Kind of its values, in the words of the API.
    pub kind: String,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    #[serde(default)]
    pub required: bool,
    /// Set when a field of a choice, person or lookup column has several values.
    #[serde(default)]
    pub multiple: bool,
    /// Choices of a choice column.
    #[serde(default)]
    pub choices: Vec<Text>,
    /// The list of the template whose entries a lookup column takes.
    #[serde(default)]
    pub list: Option<String>,
    /// `title` for the column that gives the rows their titles.
    #[serde(default)]
    pub role: Option<String>,
    /// The content type that it belongs to.
    #[serde(default, rename = "type")]
    pub content_type: Option<String>,
    /// The formula of a calculated column.
    #[serde(default)]
    pub formula: Option<String>,
    /// The formula that gives new items their value.
    #[serde(default)]
    pub default: Option<String>,
    /// The formula that values must fulfil.
    #[serde(default)]
    pub check: Option<String>,
    /// Message to people whose values do not pass the check.
    #[serde(default)]
    pub message: Option<Text>,
    /// Set when no two rows may have the same value.
    #[serde(default)]
    pub unique: bool,
    /// Description of what to enter.
    #[serde(default)]
    pub description: Option<Text>,
}

/// A view for all users of a list. Columns are named as in the template; `modified`, `by`, `size`, `created`,
/// `version`, `type` and `name` are those that every list has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewTemplate {
    /// Name.
    pub name: Text,
    /// Set for the view with which the list opens.
    #[serde(default)]
    pub default: bool,
    /// `table` or `grid`.
    #[serde(default, rename = "as")]
    pub shape: Option<String>,
    /// Columns in order; all of them if there are none.
    #[serde(default)]
    pub columns: Vec<ViewColumn>,
    /// Column of the order.
    #[serde(default)]
    pub sort: Option<String>,
    /// Set for the opposite order.
    #[serde(default)]
    pub descending: bool,
    /// Set when rows with the same value are under one heading.
    #[serde(default)]
    pub group: bool,
    /// Conditions by column, as they are typed into the filter of a page.
    #[serde(default)]
    pub filter: BTreeMap<String, String>,
    /// Formula that the shown items fulfil.
    #[serde(default)]
    pub condition: Option<String>,
    /// Totals by column: `count`, `sum`, `average`, `min` or `max`.
    #[serde(default)]
    pub totals: BTreeMap<String, String>,
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewColumn {
    /// The column.
    pub column: String,
    /// Its width in CSS pixels.
    pub width: Option<u16>,
}

/// The table of a link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    #[serde(default)]
    list: Option<String>,
    #[serde(default)]
    link: Option<String>,
    #[serde(default)]
    label: Option<Text>,
}

impl From<LinkTable> for LinkTemplate {
    fn from(LinkTable { list, link, label }: LinkTable) -> Self {
        Self { list, link, label }
    }
}

impl From<String> for LinkTemplate {
    fn from(list: String) -> Self {
        Self { list: Some(list), link: None, label: None }
    }
}

/// The table of a column of a view.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewColumnTable {
    column: String,
    #[serde(default)]
    width: Option<u16>,
}

impl From<ViewColumnTable> for ViewColumn {
    fn from(ViewColumnTable { column, width }: ViewColumnTable) -> Self {
        Self { column, width }
    }
}

impl From<String> for ViewColumn {
    fn from(column: String) -> Self {
        Self { column, width: None }
    }
}

/// Reads a text, or a table `T`, which says more.
struct TextOr<Whole, T>(&'static str, PhantomData<(Whole, T)>);

impl<'de, Whole: From<String> + From<T>, T: Deserialize<'de>> Visitor<'de> for TextOr<Whole, T> {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<Whole, E> {
        Ok(text.to_owned().into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Whole, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}

impl<'de> Deserialize<'de> for LinkTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "the name of a list, or a table with `list` or `link`, and `label`";
        deserializer.deserialize_any(TextOr::<Self, LinkTable>(expected, PhantomData))
    }
}

impl<'de> Deserialize<'de> for ViewColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "the name of a column, or a table with `column` and `width`";
        deserializer.deserialize_any(TextOr::<Self, ViewColumnTable>(expected, PhantomData))
    }
}
