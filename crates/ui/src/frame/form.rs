//! One shape for all forms: a card with fields, a main button and a way back. Shown as a page of its own, or by the
//! scripts as a dialog over the page that led to it.

use std::borrow::Cow;

use askama::Template;

use super::format::Icon;
use super::page::Page;

/// A choice of a list.
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub label: String,
    /// A line of explanation; may be empty.
    pub hint: String,
    /// Whether it is chosen.
    pub chosen: bool,
}

impl Choice {
    /// A choice without explanation.
    pub fn new(value: impl Into<String>, label: impl Into<String>, chosen: bool) -> Self {
        Self { value: value.into(), label: label.into(), hint: String::new(), chosen }
    }

    /// Adds the explanation.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// A rule by which BLOBs move as they age.
pub struct TierRow {
    /// Whether the age is counted from the last access.
    pub by_access: bool,
    /// Days, as typed.
    pub days: String,
    /// The stores that they may move to.
    pub stores: Vec<Choice>,
}

/// A column that a view may show.
pub struct ColumnPick {
    /// The word that is sent.
    pub word: String,
    /// Its name.
    pub label: String,
    /// Whether it is shown.
    pub shown: bool,
    /// Its place, from 1 on; empty for none.
    pub position: String,
    /// Its width in CSS pixels; empty for none.
    pub width: String,
}

/// How a field is filled in.
pub enum Input {
    /// One line; the word is the `type` of the input element.
    Line(&'static str),
    /// Several lines.
    Lines,
    /// A box to tick.
    Tick(bool),
    /// One of a drop-down list.
    Select(Vec<Choice>),
    /// One of a few, all visible.
    Radio(Vec<Choice>),
    /// Any number of a few.
    Ticks(Vec<Choice>),
    /// One line, with a list of what one may mean.
    Suggest(Vec<String>),
    /// A file.
    File,
    /// Any number of files.
    Files,
    /// Rules by which BLOBs move as they age; each is sent as `tier-basis`, `tier-days` and `tier-store`.
    Tiers(Vec<TierRow>),
    /// Columns of a view; each is sent as `column`, `position-WORD` and `width-WORD`.
    Columns(Vec<ColumnPick>),
    /// Not shown.
    Hidden,
    /// A paragraph between fields, with the label as its text.
    Text,
}

/// A field of a form.
pub struct Field {
    /// The name under which it is sent.
    pub name: Cow<'static, str>,
    /// Its label.
    pub label: String,
    /// What stands in it.
    pub value: String,
    /// How it is filled in.
    pub input: Input,
    /// Help below it; may be empty.
    pub hint: String,
    /// Whether it may not stay empty.
    pub required: bool,
    /// The `autocomplete` word.
    pub complete: &'static str,
}

impl Field {
    fn new(name: &'static str, label: impl Into<String>, value: impl Into<String>, input: Input) -> Self {
        let (label, value) = (label.into(), value.into());
        Self { name: Cow::Borrowed(name), label, value, input, hint: String::new(), required: false, complete: "off" }
    }

    /// One line of text.
    pub fn line(name: &'static str, label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(name, label, value, Input::Line("text"))
    }

    /// A password; `complete` tells password managers which.
    pub fn password(name: &'static str, label: impl Into<String>, complete: &'static str) -> Self {
        let mut field = Self::new(name, label, "", Input::Line("password"));
        field.complete = complete;
        field.required()
    }

    /// A value that is sent along.
    pub fn hidden(name: &'static str, value: impl Into<String>) -> Self {
        Self::new(name, "", value, Input::Hidden)
    }

    /// Any other kind.
    pub fn of(name: &'static str, label: impl Into<String>, input: Input) -> Self {
        Self::new(name, label, "", input)
    }

    /// A paragraph.
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self::new("", text, "", Input::Text)
    }

    fn is_many(&self) -> bool {
        matches!(self.input, Input::Files)
    }

    /// Adds help.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Must be filled in.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// A form on a page.
#[derive(Template)]
#[template(path = "form.html")]
pub struct Form<'a> {
    /// The page around it.
    pub page: &'a Page,
    /// Title of page and card.
    pub title: String,
    /// Icon beside the title.
    pub icon: Icon,
    /// Where it is sent.
    pub action: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// What the main button says.
    pub submit: String,
    /// Whether the main button destroys something.
    pub danger: bool,
    /// Where "Cancel" leads.
    pub back: String,
    /// What was wrong with the last attempt; may be empty.
    pub fault: String,
}

impl Form<'_> {
    fn has_file(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.input, Input::File | Input::Files))
    }
}
