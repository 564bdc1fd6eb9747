//! Name conflicts: the reaction of an upload, and the check that the upload queue makes before it sends a file.

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

/// Reaction to a file whose name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameConflict {
    /// Store the file as the next version.
    Replace,
    /// Keep both, the new file under a free name.
    Both,
    /// Skip the file.
    Skip,
}

impl NameConflict {
    /// Parses the form value.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "replace" => Ok(Self::Replace),
            "both" => Ok(Self::Both),
            "skip" => Ok(Self::Skip),
            _ => Err(Error::invalid("a file whose name is taken can replace it, be kept beside it, or be skipped")),
        }
    }

    /// Converts to the repository's type. `Skip` becomes `Fail`, and the caller treats that failure as skipped.
    pub fn on_conflict(self) -> OnConflict {
        match self {
            Self::Replace => OnConflict::Replace,
            Self::Both => OnConflict::KeepBoth,
            Self::Skip => OnConflict::Fail,
        }
    }
}

/// Returns whether the library of an item keeps versions.
async fn keeps_versions(visit: &Visit, place: Id) -> Result<bool> {
    Ok(visit.session.library_settings(&Target::Id(place)).await?.versioning != Versioning::None)
}

/// Returns the default reaction: a new version where versions are kept, otherwise both files stay.
pub async fn usual(visit: &Visit, place: &Item) -> Result<NameConflict> {
    Ok(if keeps_versions(visit, place.id).await? { NameConflict::Replace } else { NameConflict::Both })
}

/// Returns the radio buttons for the upload form.
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

/// Returns the destination of a file: in `place` itself, or in folders below it.
pub fn destination(place: &Item, folder: &NodePath, name: Name) -> Result<Destination> {
    if folder.is_empty() {
        return Ok(Destination::Child { parent: place.id, name });
    }
    let mut names = NodePath::parse(&place.path)?.names().to_vec();
    names.extend(folder.names().iter().cloned());
    names.push(name);
    Ok(Destination::Path(NodePath::from(names)))
}

/// Query parameters: the name to check.
#[derive(Deserialize)]
pub struct Question {
    /// Path of folders below the place; empty for the place itself.
    #[serde(default)]
    path: String,
    name: String,
}

/// Answers whether a document already has the name, and whether the library keeps versions. Used by the upload script.
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
    // A folder cannot be replaced. In that case the upload itself reports the conflict.
    let found = found.filter(|item| item.kind == NodeKind::Document);
    let versions = keeps_versions(&visit, place.id).await?;
    Ok(Json(json!({"taken": found.is_some(), "versions": versions})).into_response())
}
