//! Common structure of all forms: a card with fields, a main button and a cancel link. A form is either a page of its
//! own, or a dialog that scripts open over the previous page.

use std::borrow::Cow;

use askama::Template;

use super::fields::Fields;
use super::format::Icon;
use super::page::Page;

/// A choice of a list.
pub struct Choice {
    /// Submitted value.
    pub value: String,
    /// Displayed label.
    pub label: String,
    /// Explanation; may be empty.
    pub hint: String,
    /// True if the choice is selected.
    pub chosen: bool,
}

impl Choice {
    /// Creates a choice without an explanation.
    pub fn new(value: impl Into<String>, label: impl Into<String>, chosen: bool) -> Self {
        Self { value: value.into(), label: label.into(), hint: String::new(), chosen }
    }

    /// Adds an explanation.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// A storage tier: a rule that moves BLOBs by age.
pub struct TierRow {
    /// True if the age counts from the last access.
    pub by_access: bool,
    /// Days, as typed.
    pub days: String,
    /// Possible target stores.
    pub stores: Vec<Choice>,
}

/// A column that a view can show.
pub struct ColumnPick {
    /// Submitted name.
    pub word: String,
    /// Name.
    pub label: String,
    /// True if the column is shown.
    pub shown: bool,
    /// Position, starting at 1; empty for none.
    pub position: String,
    /// Width in CSS pixels; empty for none.
    pub width: String,
}

/// A user or group that a field suggests.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// Text to type.
    pub value: String,
    /// The name.
    pub label: String,
}

/// Kind of input element.
pub enum Input {
    /// A single line, with the `type` of the input element.
    Line(&'static str),
    /// Several lines.
    Lines,
    /// A check box.
    Tick(bool),
    /// A drop-down list.
    Select(Vec<Choice>),
    /// Radio buttons.
    Radio(Vec<Choice>),
    /// A group of check boxes.
    Ticks(Vec<Choice>),
    /// A single line with suggestions.
    Suggest(Vec<String>),
    /// A single line for a user or group, whose suggestions follow what is typed.
    Person(Vec<Suggestion>),
    /// A single file.
    File,
    /// Any number of files.
    Files,
    /// Storage tiers. Each is submitted as `tier-basis`, `tier-days` and `tier-store`.
    Tiers(Vec<TierRow>),
    /// Columns of a view. Each is submitted as `column`, `position-WORD` and `width-WORD`.
    Columns(Vec<ColumnPick>),
    /// A hidden field.
    Hidden,
    /// A paragraph between fields. Its text is the label.
    Text,
}

/// A field of a form.
pub struct Field {
    /// Submitted name.
    pub name: Cow<'static, str>,
    /// Label.
    pub label: String,
    /// Value.
    pub value: String,
    /// Kind of input element.
    pub input: Input,
    /// Help text below the field; may be empty.
    pub hint: String,
    /// True if the field is mandatory.
    pub required: bool,
    /// Value of the `autocomplete` attribute.
    pub complete: &'static str,
    /// True if the last attempt was refused because of this field. The field then gets the focus.
    pub is_at_fault: bool,
}

impl Field {
    fn new(name: &'static str, label: impl Into<String>, value: impl Into<String>, input: Input) -> Self {
        let (label, value) = (label.into(), value.into());
        Self {
            name: Cow::Borrowed(name),
            label,
            value,
            input,
            hint: String::new(),
            required: false,
            complete: "off",
            is_at_fault: false,
        }
    }

    /// Creates a single-line text field.
    pub fn line(name: &'static str, label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(name, label, value, Input::Line("text"))
    }

    /// Creates a password field. `complete` tells password managers which password is expected.
    pub fn password(name: &'static str, label: impl Into<String>, complete: &'static str) -> Self {
        let mut field = Self::new(name, label, "", Input::Line("password"));
        field.complete = complete;
        field.required()
    }

    /// Creates a hidden field.
    pub fn hidden(name: &'static str, value: impl Into<String>) -> Self {
        Self::new(name, "", value, Input::Hidden)
    }

    /// Creates a field with any kind of input.
    pub fn of(name: &'static str, label: impl Into<String>, input: Input) -> Self {
        Self::new(name, label, "", input)
    }

    /// Creates a paragraph.
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self::new("", text, "", Input::Text)
    }

    fn is_many(&self) -> bool {
        matches!(self.input, Input::Files)
    }

    /// Adds a help text.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Makes the field mandatory.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// A form, shown on a page.
#[derive(Template)]
#[template(path = "form.html")]
pub struct Form<'a> {
    /// Surrounding page.
    pub page: &'a Page,
    /// Title of the page and the card.
    pub title: String,
    /// Icon beside the title.
    pub icon: Icon,
    /// URL to submit to.
    pub action: String,
    /// Fields of the form.
    pub fields: Vec<Field>,
    /// Label of the main button.
    pub submit: String,
    /// True if the main button is destructive.
    pub danger: bool,
    /// Target of "Cancel".
    pub back: String,
    /// Error of the last attempt; may be empty.
    pub fault: String,
}

impl Form<'_> {
    /// Puts back what the user typed and chose, in a form that is shown again after a refusal.
    #[must_use]
    pub fn refilled(mut self, typed: &Fields) -> Self {
        for field in &mut self.fields {
            let text = typed.text(&field.name);
            match &mut field.input {
                Input::Tick(ticked) => *ticked = typed.yes(&field.name),
                Input::Select(choices) | Input::Radio(choices) => {
                    choices.iter_mut().for_each(|choice| choice.chosen = choice.value == text);
                }
                Input::Line("password") => {}
                Input::Line(_) | Input::Lines => field.value = text,
                _ => {}
            }
        }
        self
    }

    fn has_field_at_fault(&self) -> bool {
        self.fields.iter().any(|field| field.is_at_fault)
    }

    fn has_file(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.input, Input::File | Input::Files))
    }
}
