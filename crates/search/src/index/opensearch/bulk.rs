//! Changes of documents, many in one request, and the outcome of each.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::Bounded;
use super::server::shown_type;

/// Limit on the changes that are sent at once.
pub(super) const MAX_ACTIONS: usize = 4_000;
/// Fields of the answer that are requested.
pub(super) const ANSWERED: &str = "items.*.status,items.*.error.type,error.type";
/// Status of what is too large, and the code that says so in an entry without its text.
pub(super) const TOO_LARGE: u16 = 413;
const FAULT: &str = "too_large";

/// A change of one document.
pub(super) struct Action {
    /// Identifier of the document.
    pub(super) id: String,
    /// The lines that are sent.
    pub(super) lines: Vec<u8>,
    has_fields: bool,
}

impl Action {
    /// Makes a change: what is to be done, with the fields of the document unless it is deleted.
    pub(super) fn new(id: String, what: &Value, fields: Option<&Value>) -> Self {
        let mut lines = format!("{what}\n").into_bytes();
        if let Some(fields) = fields {
            lines.extend(fields.to_string().into_bytes());
            lines.push(b'\n');
        }
        Self { id, lines, has_fields: fields.is_some() }
    }

    /// Returns whether the document is deleted.
    pub(super) fn is_deletion(&self) -> bool {
        !self.has_fields
    }

    /// Returns the same change without the text of the document, which gets a fault instead; `None` if it has none.
    pub(super) fn without_text(&self) -> Option<Self> {
        let mut lines = self.lines.split(|byte| *byte == b'\n');
        let what: Value = serde_json::from_slice(lines.next()?).ok()?;
        let mut fields: Value = serde_json::from_slice(lines.next()?).ok()?;
        fields.get("body")?;
        // The first text is the name.
        let name = fields["text"][0].take();
        fields["text"] = json!([name]);
        let members = fields.as_object_mut()?;
        members.remove("ends");
        members.remove("language");
        fields["body"] = json!("");
        fields["fault"] = json!(FAULT);
        fields["reason"] = json!("The search server does not take a text of this size.");
        Some(Self::new(self.id.clone(), &what, Some(&fields)))
    }
}

/// The outcomes of changes.
#[derive(Deserialize)]
pub(super) struct Outcomes {
    #[serde(default)]
    pub(super) items: Bounded<Item, MAX_ACTIONS>,
}

/// The outcome of a change, under the name of its action.
#[derive(Deserialize)]
pub(super) struct Item {
    index: Option<Outcome>,
    delete: Option<Outcome>,
    create: Option<Outcome>,
}

impl Item {
    pub(super) fn outcome(self) -> Option<Outcome> {
        self.index.or(self.delete).or(self.create)
    }
}

/// The outcome of a change.
#[derive(Deserialize)]
pub(super) struct Outcome {
    /// Status as of a request of its own.
    pub(super) status: u16,
    error: Option<Failure>,
}

impl Outcome {
    /// Returns the type of its error, as it can be shown; nothing if there is none.
    pub(super) fn error_type(&self) -> String {
        self.error.as_ref().map(|error| shown_type(&error.kind)).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default, rename = "type")]
    kind: String,
}
