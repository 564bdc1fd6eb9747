//! The `Upload-Metadata` that a client sends for a resumable upload.

use model::{Code, Error, Name, NodePath, Result};
use repository::{Destination, OnConflict, UploadOptions};

use http_core::protocol::time;

/// Converts the pairs of the field to the destination and options of the document.
///
/// The destination is `path` (in the farm; missing folders are created), or `parent` (identifier of a library or
/// folder) with `filename`, or `document` (identifier; its next version). Further keys: `filetype`, `comment`,
/// `publish` (`true`), `on_conflict`, `modified_at`. Other keys are kept and ignored, since clients send keys of their
/// own.
pub fn read(pairs: &[(String, String)]) -> Result<(Destination, UploadOptions)> {
    let get = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let bad = |text: &'static str| Error::invalid(text).with_code(Code::InvalidMetadata);
    let id = |text: &str| text.parse().map_err(|_| bad("an identifier in Upload-Metadata is not a number"));
    let mut options = UploadOptions {
        media_type: get("filetype").or_else(|| get("type")).map(ToOwned::to_owned),
        modified_at: get("modified_at").map(time::parse).transpose()?,
        comment: get("comment").unwrap_or_default().to_owned(),
        publish: match get("publish") {
            None | Some("" | "false") => false,
            Some("true") => true,
            Some(_) => return Err(bad("publish is true or false")),
        },
        on_conflict: on_conflict(get("on_conflict"), Code::InvalidMetadata)?,
        ..UploadOptions::default()
    };
    let name = get("filename").or_else(|| get("name"));
    let destination = match (get("path"), get("parent"), get("document"), name) {
        (Some(path), None, None, _) => {
            options.create_parents = true;
            Destination::Path(NodePath::parse(path)?)
        }
        (None, Some(parent), None, Some(name)) => Destination::Child { parent: id(parent)?, name: Name::new(name)? },
        (None, None, Some(document), _) => Destination::Document(id(document)?),
        _ => {
            return Err(bad(
                "Upload-Metadata must say where the document goes: path, or parent and filename, or document",
            ));
        }
    };
    Ok((destination, options))
}

/// Parses the behaviour for a name that is taken.
///
/// # Errors
/// Invalid with the code of the part of the request that contains the word.
pub fn on_conflict(word: Option<&str>, code: Code) -> Result<OnConflict> {
    match word {
        None | Some("replace") => Ok(OnConflict::Replace),
        Some("fail") => Ok(OnConflict::Fail),
        Some("keep-both") => Ok(OnConflict::KeepBoth),
        Some(_) => Err(Error::invalid("on_conflict is one of replace, fail, keep-both").with_code(code)),
    }
}
