//! Names that are taken: what an upload does then, and the question that the queue of uploads asks before it sends.

use axum::Json;
use axum::extract::{Path, Query};
use axum::response::IntoResponse;
use model::{Error, ErrorKind, Id, Name, NodeKind, NodePath, Result, Versioning};
use repository::{Destination, Item, OnConflict, Target};
use serde::Deserialize;
use serde_json::json;

use crate::frame::form::{Choice, Field, Input};
use crate::frame::item;
use crate::frame::visit::Visit;
use http_core::server::error::Answer;

/// What to do with a file whose name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameConflict {
    /// Make it the next version.
    Replace,
    /// Keep both, the new one under a free name.
    Both,
    /// Leave the file out.
    Skip,
}

impl NameConflict {
    /// Reads the word of a form.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "replace" => Ok(Self::Replace),
            "both" => Ok(Self::Both),
            "skip" => Ok(Self::Skip),
            _ => Err(Error::invalid("a file whose name is taken replaces it, is kept beside it, or is skipped")),
        }
    }

    /// The same for the repository, which refuses where a file is to be skipped.
    pub fn on_conflict(self) -> OnConflict {
        match self {
            Self::Replace => OnConflict::Replace,
            Self::Both => OnConflict::KeepBoth,
            Self::Skip => OnConflict::Fail,
        }
    }
}

/// Whether the library of a place keeps versions.
async fn keeps_versions(visit: &Visit, place: Id) -> Result<bool> {
    Ok(visit.session.library_settings(&Target::Id(place)).await?.versioning != Versioning::None)
}

/// What happens when nobody says: another version where versions are kept, otherwise both stay.
pub async fn usual(visit: &Visit, place: &Item) -> Result<NameConflict> {
    Ok(if keeps_versions(visit, place.id).await? { NameConflict::Replace } else { NameConflict::Both })
}

/// The choice on the form for uploads.
pub async fn field(visit: &Visit, place: &Item) -> Result<Field> {
    let (page, usual) = (&visit.page, usual(visit, place).await?);
    let replace = if usual == NameConflict::Replace { page.s("upload.replace") } else { page.s("upload.overwrite") };
    let choices = [
        Choice::new("replace", replace, usual == NameConflict::Replace),
        Choice::new("both", page.s("upload.both"), usual == NameConflict::Both),
        Choice::new("skip", page.s("upload.skip"), false),
    ];
    Ok(Field::of("taken", page.s("upload.when-taken"), Input::Radio(choices.into())))
}

/// Where a file goes: into the place itself, or into folders below it.
pub fn destination(place: &Item, folder: &NodePath, name: Name) -> Result<Destination> {
    if folder.is_empty() {
        return Ok(Destination::Child { parent: place.id, name });
    }
    let mut names = NodePath::parse(&place.path)?.names().to_vec();
    names.extend(folder.names().iter().cloned());
    names.push(name);
    Ok(Destination::Path(NodePath::from(names)))
}

/// Which file is asked about.
#[derive(Deserialize)]
pub struct Question {
    /// Folders below the place; empty for none.
    #[serde(default)]
    path: String,
    name: String,
}

/// Whether a document or folder has the name already, for the script that uploads.
pub async fn show(visit: Visit, Path(id): Path<String>, Query(question): Query<Question>) -> Answer {
    let place = item::find(&visit, &id).await?;
    let (name, folder) = (Name::new(question.name)?, NodePath::parse(&question.path)?);
    let mut names = NodePath::parse(&place.path)?.names().to_vec();
    names.extend(folder.names().iter().cloned());
    names.push(name);
    let found = match visit.session.item(&Target::Path(NodePath::from(names))).await {
        Ok(item) => Some(item),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    // A folder of that name cannot be replaced: the upload itself says so.
    let found = found.filter(|item| item.kind == NodeKind::Document);
    let versions = keeps_versions(&visit, place.id).await?;
    Ok(Json(json!({"taken": found.is_some(), "versions": versions})).into_response())
}
