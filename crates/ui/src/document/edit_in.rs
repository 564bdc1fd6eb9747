//! Editing in office programs: the address that a program opens, and whether the document has changed meanwhile.

use std::fmt::Write as _;

use askama::Template;
use axum::Json;
use axum::extract::Path;
use axum::response::IntoResponse;
use model::{Error, Result, Right};
use repository::{Item, Target};
use serde::Serialize;

use super::checkout::check_out_if_required;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::item::find;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use http_core::protocol::segments;

/// An office program that opens documents by addresses with a scheme of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Microsoft Word.
    Word,
    /// Microsoft Excel.
    Excel,
    /// Microsoft PowerPoint.
    PowerPoint,
    /// LibreOffice, for documents of all kinds.
    LibreOffice,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 4] = [Self::Word, Self::Excel, Self::PowerPoint, Self::LibreOffice];

    /// Returns the name in forms.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Excel => "excel",
            Self::PowerPoint => "powerpoint",
            Self::LibreOffice => "libreoffice",
        }
    }

    /// Returns the name that people know.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Word => "Word",
            Self::Excel => "Excel",
            Self::PowerPoint => "PowerPoint",
            Self::LibreOffice => "LibreOffice",
        }
    }

    /// Returns the scheme of its addresses. Those of Microsoft are in *Office URI Schemes*; LibreOffice takes the same
    /// commands.
    const fn scheme(self) -> &'static str {
        match self {
            Self::Word => "ms-word",
            Self::Excel => "ms-excel",
            Self::PowerPoint => "ms-powerpoint",
            Self::LibreOffice => "vnd.libreoffice.command",
        }
    }

    /// Returns the extensions of the documents that it edits, separated by spaces.
    pub const fn extensions(self) -> &'static str {
        match self {
            Self::Word => "docx doc docm dotx dotm dot rtf odt",
            Self::Excel => "xlsx xls xlsm xlsb xltx xltm ods",
            Self::PowerPoint => "pptx ppt pptm ppsx pps potx odp",
            Self::LibreOffice => {
                "odt ods odp odg ott ots otp fodt fods fodp docx doc docm dotx rtf xlsx xls xlsm xltx pptx ppt pptm \
                 ppsx potx"
            }
        }
    }

    fn parse(word: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|program| program.word() == word)
            .ok_or_else(|| Error::invalid("a program is word, excel, powerpoint or libreoffice"))
    }
}

/// Returns the programs that edit a document of this name: first the one that made such documents popular.
pub fn programs(name: &str) -> Vec<Program> {
    let extension = model::extension(name);
    let edits = |program: &Program| program.extensions().split(' ').any(|one| one == extension);
    let mut found: Vec<Program> = Program::ALL.into_iter().filter(edits).collect();
    if ["odt", "ods", "odp"].contains(&extension.as_str()) {
        found.reverse();
    }
    found
}

#[derive(Template)]
#[template(path = "edit-in.html")]
struct EditInPage<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    program: Program,
    /// Address with the scheme of the program.
    launch: String,
    /// True if the document is checked out to the caller, who then has to check it in.
    is_held: bool,
    /// Other programs that edit the document.
    others: Vec<Program>,
    back: String,
}

/// Makes an address and shows the page that opens it in the program.
pub async fn open(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let program = Program::parse(&fields.text("program"))?;
    let item = find(&visit, &id).await?;
    let was_checked_out = item.rights.has(Right::Edit) && check_out_if_required(&visit.session, item.id).await?;
    let token = visit.session.create_edit_token(&Target::Id(item.id)).await?;
    let name = segments::encode(token.name.as_str());
    let launch = format!("{}:ofe|u|{}/edit/{}/{name}", program.scheme(), visit.origin, token.secret);
    let page = &visit.page;
    Ok(html(&EditInPage {
        page,
        title: page.f2("edit-in.title", &item.name, program.label()),
        is_held: was_checked_out || item.check_out.is_some(),
        program,
        launch,
        others: programs(&item.name).into_iter().filter(|other| *other != program).collect(),
        back: address::browse(&item.path),
        item: &item,
    }))
}

/// Answer to the page of a document, which asks for it while it is open.
#[derive(Serialize)]
struct State {
    mark: String,
}

/// Returns a mark that changes with the version, the lock and the check-out of a document. Its page reloads when the
/// mark differs.
pub fn mark_of(item: &Item) -> String {
    let mut mark = item.version_id.unwrap_or(item.id).to_string();
    for holder in [item.locked_by, item.check_out.map(|held| held.by)] {
        // Writing to a string cannot fail.
        let _ = write!(mark, "-{}", holder.map_or_else(String::new, |holder| holder.to_string()));
    }
    mark
}

/// Sends the mark of a document.
pub async fn state(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = find(&visit, &id).await?;
    Ok(Json(State { mark: mark_of(&item) }).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_offered_by_the_kind_of_document() {
        assert_eq!(programs("Plan.DOCX"), [Program::Word, Program::LibreOffice]);
        assert_eq!(programs("Plan.ods"), [Program::LibreOffice, Program::Excel]);
        assert_eq!(programs("a.xlsb"), [Program::Excel]);
        for name in ["a.pdf", "docx", "", "a.", "a.docx.zip"] {
            assert_eq!(programs(name), [], "{name}");
        }
        for program in Program::ALL {
            assert_eq!(Program::parse(program.word()).unwrap(), program);
        }
        assert!(Program::parse("emacs").is_err());
    }
}
