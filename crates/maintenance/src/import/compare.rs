//! What of a directory is missing in its folder: entries of the directory, and what the farm has already.

use std::collections::HashMap;
use std::ffi::OsStr;

use model::{Name, NodeKind, Result};
use repository::{Item, Session, Sort};

use super::context::Context;
use super::owners::Grants;
use crate::posix::{Directory, Kind, Status, entries};
use crate::progress::{Fault, Reason};

/// Entries of one page of a folder.
const PAGE: usize = 1_000;

/// An entry that can be imported.
pub(super) struct Local {
    pub(super) name: Name,
    pub(super) status: Status,
    /// What a directory grants; empty for a file, and when permissions do not count.
    pub(super) grants: Grants,
}

/// What became of an entry when it was compared.
pub(super) enum Found {
    /// The farm has nothing of that name.
    Missing,
    /// The farm has an older or newer one; a folder is as it should be.
    Present(Box<Item>),
}

/// Reads a directory: entries that can be imported by folded name, and faults for the others. Blocks.
pub(super) fn read(context: &Context, directory: &Directory) -> std::io::Result<(HashMap<String, Local>, Vec<Fault>)> {
    let mut found: HashMap<String, Local> = HashMap::new();
    let mut faults = Vec::new();
    for entry in directory.names()? {
        let path = directory.path_of(&entry);
        let mut fault = |reason, message: String| faults.push(Fault::new(&path, reason, message));
        let status = match directory.status(&entry) {
            Ok(status) => status,
            Err(error) => {
                fault(Reason::Unreadable, format!("it cannot be looked at: {error}"));
                continue;
            }
        };
        match status.kind {
            Kind::File | Kind::Directory => {}
            Kind::Link => {
                fault(Reason::Link, "it is a symbolic link; links are not followed".to_owned());
                continue;
            }
            Kind::Special => {
                fault(Reason::Special, "it is a device, socket or pipe".to_owned());
                continue;
            }
        }
        let name = match usable(&entry) {
            Ok(name) => name,
            Err(message) => {
                fault(Reason::Name, message);
                continue;
            }
        };
        if context.exclude.is_some_and(|excluded| excluded.is_same_file(&status)) {
            fault(Reason::Refused, "it is the data directory of the farm itself".to_owned());
            continue;
        }
        let folded = name.folded();
        if let Some(twin) = found.get(&folded) {
            fault(Reason::Name, format!("to the farm it has the same name as \"{}\": rename one", twin.name));
            continue;
        }
        let grants = match status.kind {
            Kind::Directory if context.owners.maps_permissions() => grants(context, directory, &entry, &status),
            _ => Grants::new(),
        };
        found.insert(folded, Local { name, status, grants });
    }
    Ok((found, faults))
}

fn usable(entry: &OsStr) -> Result<Name, String> {
    let text = entry.to_str().ok_or("its name is not valid UTF-8: rename it")?;
    Name::new(text).map_err(|error| error.message().to_owned())
}

/// What a directory grants. One that cannot be opened is reported when its turn comes.
fn grants(context: &Context, parent: &Directory, name: &OsStr, status: &Status) -> Grants {
    let list = parent.enter(name).map_or_else(|_| Some(Vec::new()), |directory| directory.access_list());
    let entries = entries(status.mode, list.as_deref());
    context.owners.grants(status.user, status.group, &entries, |group| context.note_unmapped_group(group))
}

/// Looks up entries in their folder, page by page, and takes those out of `local` that need nothing.
pub(super) async fn look_up(
    session: &Session,
    folder: model::Id,
    local: &mut HashMap<String, Local>,
    mut same: impl FnMut(&Local),
) -> Result<HashMap<String, Found>> {
    let mut found = HashMap::new();
    let mut after = None;
    loop {
        let (_, page) = session.list(&folder.into(), Sort::Name, false, after, PAGE).await?;
        for item in page.items {
            let folded = model::fold(&item.name);
            let Some(entry) = local.get(&folded) else { continue };
            if entry.status.kind == Kind::File && is_same(&item, &entry.status) {
                same(entry);
                local.remove(&folded);
                continue;
            }
            found.insert(folded, Found::Present(Box::new(item)));
        }
        after = page.next;
        if after.is_none() || found.len() == local.len() {
            return Ok(found);
        }
    }
}

fn is_same(item: &Item, status: &Status) -> bool {
    item.kind == NodeKind::Document && item.size == status.size && item.modified_at == status.modified
}
