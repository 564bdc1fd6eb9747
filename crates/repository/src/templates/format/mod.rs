//! The format of templates: TOML, read strictly. A key that the program does not know is refused with its line, because
//! a template that is only partly understood would make something else than its author meant.
//!
//! This module is pure: it knows no database, no caller and no identifier.

mod check;
mod check_list;
mod read;
mod reason;
mod rules;
mod template;
mod text;
mod values;
mod write;

pub use read::MAX_TEMPLATE_BYTES;
pub use template::{Template, TemplateKind};
pub use text::Text;

pub(super) use template::{
    ColumnTemplate, Holds, LinkTemplate, ListTemplate, LogoTemplate, PageTemplate, ViewColumn, ViewTemplate,
};

pub(super) use check::MAX_LISTS;
pub(super) use check_list::{MAX_PAGE_BYTES, MAX_PAGES, MAX_ROWS, PAGE_EXTENSION, check_lookups, each, kind_of};
pub(super) use reason::invalid;
pub(super) use rules::is_template_name;
pub(super) use template::FORMAT;
pub(super) use values::{value_of, value_to_toml};

#[cfg(test)]
mod tests;
