//! New documents: blank ones of usual kinds, and copies of the library's own templates.

use std::borrow::Cow;

use axum::extract::Path;
use model::{Error, ErrorKind, Id, Name, NodeKind, Result, Right};
use repository::{Destination, Item, OnConflict, Session, Sort, Target, UploadOptions};

use crate::document::checkout::check_out_if_required;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{find, find_for};
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::texts::Language;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::pages::page_document;

/// Limit on the templates that the form offers.
const MAX_TEMPLATES: usize = 50;
/// Limit on the entries of the folder of templates that are looked at, folders among them.
const MAX_LISTED: usize = 500;
/// Text with the name of the folder of templates, in each language.
const FOLDER: &str = "new-document.folder";

/// A blank document.
struct Blank {
    /// Extension, which is also its name in the form.
    extension: &'static str,
    /// Text with the name of its kind.
    label: &'static str,
    bytes: &'static [u8],
}

/// Blank documents in the order of the form. `crates/ui/blank/make.py` writes them.
const BLANKS: [Blank; 8] = [
    blank("docx", "media.word", include_bytes!("../../blank/document.docx")),
    blank("xlsx", "media.excel", include_bytes!("../../blank/workbook.xlsx")),
    blank("pptx", "media.powerpoint", include_bytes!("../../blank/presentation.pptx")),
    blank("odt", "media.odt", include_bytes!("../../blank/document.odt")),
    blank("ods", "media.ods", include_bytes!("../../blank/workbook.ods")),
    blank("odp", "media.odp", include_bytes!("../../blank/presentation.odp")),
    blank("md", "media.markdown", b""),
    blank("txt", "media.text", b""),
];

const fn blank(extension: &'static str, label: &'static str, bytes: &'static [u8]) -> Blank {
    Blank { extension, label, bytes }
}

/// Initial content of a new document.
enum Beginning {
    Blank(&'static Blank),
    Template(Id),
}

impl Beginning {
    fn parse(word: &str) -> Result<Self> {
        match BLANKS.iter().find(|blank| blank.extension == word) {
            Some(blank) => Ok(Self::Blank(blank)),
            None => Ok(Self::Template(word.parse()?)),
        }
    }
}

fn form<'a>(page: &'a Page, place: &Item, templates: &[Item], name: &str, kind: &str) -> Form<'a> {
    let chosen = |word: &str| word == kind;
    let blanks = BLANKS.iter().map(|blank| {
        let label = format!("{} (.{})", page.s(blank.label), blank.extension);
        Choice::new(blank.extension, label, chosen(blank.extension))
    });
    let own = templates.iter().map(|template| {
        let word = template.id.to_string();
        let is_chosen = chosen(&word);
        Choice::new(word, template.name.as_str(), is_chosen).hint(page.s("new-document.template"))
    });
    Form {
        page,
        title: page.s("new-document.title").into(),
        icon: icon("plus"),
        action: format!("/items/{}/new-document", place.id),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required().hint(page.s("new-document.name-hint")),
            Field::of("kind", page.s("new-document.kind"), Input::Radio(own.chain(blanks).collect())),
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: address::browse(&place.path),
        fault: String::new(),
    }
}

/// Returns the documents in the folder of templates at the top of the library, whatever the language of its name.
async fn templates(session: &Session, place: &Item) -> Result<Vec<Item>> {
    let way = session.item_with_ancestors(&Target::Id(place.id)).await?;
    let Some(library) = way.iter().find(|item| item.kind == NodeKind::Library) else { return Ok(Vec::new()) };
    let mut found: Vec<Item> = Vec::new();
    let mut names: Vec<&str> = Language::all().map(|language| language.text(FOLDER)).collect();
    names.dedup();
    for name in names {
        let path = format!("{}/{name}", library.path);
        let target = Target::path(path.trim_start_matches('/'))?;
        match session.list(&target, Sort::Name, false, None, MAX_LISTED).await {
            Ok((_, page)) => found.extend(page.items.into_iter().filter(|item| item.kind == NodeKind::Document)),
            // There is no such folder, or not for the caller.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden) => {}
            Err(error) => return Err(error),
        }
    }
    found.truncate(MAX_TEMPLATES);
    Ok(found)
}

/// Shows the form for a new document.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let place = find_for(&visit, &id, Right::Add).await?;
    let templates = templates(&visit.session, &place).await?;
    let first = templates.first().map_or(Cow::Borrowed(BLANKS[0].extension), |item| item.id.to_string().into());
    Ok(html(&form(&visit.page, &place, &templates, "", &first)))
}

/// Creates a document. A text opens in the editor, any other document on its page.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let place = find(&visit, &id).await?;
    let (name, kind) = (fields.trimmed("name"), fields.text("kind"));
    match create(&visit.session, &place, &name, &kind).await {
        Ok((id, name)) => {
            let made = visit.session.item(&Target::Id(id)).await?;
            if !page_document::is_text(&made) || !made.rights.has(Right::Edit) {
                return Ok(done(&format!("/items/{id}/open"), &Flash::new("toast.created", name)));
            }
            let is_held = check_out_if_required(&visit.session, id).await?;
            let toast = if is_held { "toast.checked-out" } else { "toast.created" };
            Ok(done(&format!("/items/{id}/edit"), &Flash::new(toast, name)))
        }
        Err(error) => {
            let templates = templates(&visit.session, &place).await?;
            refuse::show_form_again(form(&visit.page, &place, &templates, &name, &kind), error)
        }
    }
}

async fn create(session: &Session, place: &Item, name: &str, kind: &str) -> Result<(Id, String)> {
    match Beginning::parse(kind)? {
        Beginning::Blank(Blank { extension, bytes, .. }) => {
            let name = Name::new(with_extension(name, extension))?;
            let destination = Destination::Child { parent: place.id, name };
            let options = UploadOptions { on_conflict: OnConflict::Fail, ..UploadOptions::default() };
            let saved = session.upload_bytes(&destination, options, (*bytes).into()).await?;
            Ok((saved.id, saved.name))
        }
        Beginning::Template(id) => {
            let template = session.item(&Target::Id(id)).await?;
            if template.kind != NodeKind::Document {
                return Err(Error::conflict(format!(
                    "\"{}\" is not a document: choose a template of the list",
                    template.name
                )));
            }
            let extension = template.name.rsplit_once('.').map_or("", |(_, end)| end);
            let name = Name::new(with_extension(name, extension))?;
            let copy = session.copy_to(&Target::Id(id), &Target::Id(place.id), Some(&name)).await?;
            Ok((copy.id, copy.name))
        }
    }
}

/// Returns a name that ends with the extension of the kind, which nobody has to type.
fn with_extension(name: &str, extension: &str) -> String {
    let has_it = name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension));
    // An empty name is refused as such.
    if name.is_empty() || extension.is_empty() || has_it { name.to_owned() } else { format!("{name}.{extension}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_extension_that_is_missing() {
        for (name, made) in [("Plan", "Plan.docx"), ("Plan.DOCX", "Plan.DOCX"), ("v1.2", "v1.2.docx"), ("", "")] {
            assert_eq!(with_extension(name, "docx"), made);
        }
        assert_eq!(with_extension("Plan", ""), "Plan");
    }
}
