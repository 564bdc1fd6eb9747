//! Comparison of a directory with its folder: the entries of the directory, and the items that already exist in the
//! farm.

use std::collections::HashMap;
use std::ffi::OsStr;

use model::{Name, NodeKind, Result};
use repository::{Item, Session, Sort};

use super::context::Context;
use super::owners::Grants;
use super::scan;
use crate::posix::{Directory, EntryKind, Status, entries};
use crate::progress::{Fault, Reason};

/// Number of folder entries per page.
const PAGE: usize = 1_000;

/// A directory entry that can be imported.
pub(super) struct DirectoryEntry {
    pub(super) name: Name,
    pub(super) status: Status,
    /// Grants of a directory. Empty for a file, and when permissions are not mapped.
    pub(super) grants: Grants,
}

/// Result of comparing an entry.
pub(super) enum Comparison {
    /// The folder has no item with this name.
    Missing,
    /// The folder has an item with this name: a document with another size or time, or an item that is kept as it is,
    /// such as a folder.
    Present(Box<Item>),
}

/// Reads a directory. Returns the importable entries by folded name, and faults for the others. Blocking.
pub(super) fn read(
    context: &Context,
    directory: &Directory,
) -> std::io::Result<(HashMap<String, DirectoryEntry>, Vec<Fault>)> {
    let mut found: HashMap<String, DirectoryEntry> = HashMap::new();
    let mut faults = Vec::new();
    for entry in directory.names()? {
        let path = directory.path_of(&entry);
        let mut fault = |reason, message: String| faults.push(Fault::new(&path, reason, message));
        let status = match directory.status(&entry) {
            Ok(status) => status,
            Err(error) => {
                fault(Reason::Unreadable, format!("it cannot be examined: {error}"));
                continue;
            }
        };
        match status.kind {
            EntryKind::File | EntryKind::Directory => {}
            EntryKind::Link => {
                fault(Reason::Link, "it is a symbolic link; links are not followed".to_owned());
                continue;
            }
            EntryKind::Special => {
                fault(Reason::Special, "it is a device, socket or pipe".to_owned());
                continue;
            }
        }
        let name = match usable(&entry) {
            Ok(name) => name,
            Err(message) => {
                fault(Reason::Name, message);
                pass_over(context, directory, &entry, &status);
                continue;
            }
        };
        if context.exclude.is_some_and(|excluded| excluded.is_same_file(&status)) {
            fault(Reason::Refused, "it is the data directory of the farm itself".to_owned());
            pass_over(context, directory, &entry, &status);
            continue;
        }
        let folded = name.folded();
        if let Some(twin) = found.get(&folded) {
            fault(
                Reason::Name,
                format!("the farm regards its name as equal to \"{}\": rename one of the two", twin.name),
            );
            pass_over(context, directory, &entry, &status);
            continue;
        }
        let grants = match status.kind {
            EntryKind::Directory if context.owners.maps_permissions() => grants(context, directory, &entry, &status),
            _ => Grants::new(),
        };
        found.insert(folded, DirectoryEntry { name, status, grants });
    }
    Ok((found, faults))
}

/// Adds an entry that is left out to the progress, with everything below it. Blocking.
pub(super) fn pass_over(context: &Context, directory: &Directory, name: &OsStr, status: &Status) {
    if status.kind == EntryKind::Directory {
        scan::pass_over(directory, name, &context.progress);
    } else {
        context.progress.add_files(1);
        context.progress.add_bytes(status.size);
    }
}

fn usable(entry: &OsStr) -> Result<Name, String> {
    let text = entry.to_str().ok_or("its name is not valid UTF-8: rename it")?;
    Name::new(text).map_err(|error| error.message().to_owned())
}

/// Returns the grants of a directory. If the directory cannot be opened, only its owner and others count here; the
/// fault is reported when it is visited.
fn grants(context: &Context, parent: &Directory, name: &OsStr, status: &Status) -> Grants {
    let list = parent.enter(name).map_or_else(|_| Some(Vec::new()), |directory| directory.access_list());
    let entries = entries(status.mode, list.as_deref());
    context.owners.grants(status.user, status.group, &entries, |group| context.note_unmapped_group(group))
}

/// Looks up the entries in their folder, page by page. Removes unchanged files from `local`, and returns the other
/// items that exist.
pub(super) async fn look_up(
    session: &Session,
    folder: model::Id,
    local: &mut HashMap<String, DirectoryEntry>,
    mut same: impl FnMut(&DirectoryEntry),
) -> Result<HashMap<String, Comparison>> {
    let mut found = HashMap::new();
    let mut after = None;
    loop {
        let (_, page) = session.list(&folder.into(), Sort::Name, false, after, PAGE).await?;
        for item in page.items {
            let folded = model::fold(&item.name);
            let Some(entry) = local.get(&folded) else { continue };
            if entry.status.kind == EntryKind::File && is_same(&item, &entry.status) {
                same(entry);
                local.remove(&folded);
                continue;
            }
            found.insert(folded, Comparison::Present(Box::new(item)));
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
