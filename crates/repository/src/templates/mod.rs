//! Templates: sites and lists as data. They are read, applied, made of what is there, and stored.
//!
//! `format/` is pure and knows the file; the other files know the database.

mod apply;
mod built_in;
mod capture;
mod format;
mod formulas;
mod pages;
mod plan;
mod saved;
pub(crate) mod view_query;

pub use apply::NewSite;
pub use built_in::built_in_templates;
pub use capture::TemplateDraft;
pub use format::{MAX_TEMPLATE_BYTES, Template, TemplateKind, Text as TemplateText};
pub use saved::{TemplateOrigin, TemplateSummary};
