//! Files that are being sent through links to this server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::Id;

/// Counts the files that are being sent, by link. Without it, all who begin before the first file is stored could send
/// one to a link that takes one file.
#[derive(Clone, Default)]
pub(crate) struct PendingLinkFiles(Arc<Mutex<HashMap<Id, i64>>>);

/// A file that is being sent, counted until it is dropped.
pub(crate) struct PendingLinkFile {
    files: PendingLinkFiles,
    link: Id,
}

impl PendingLinkFiles {
    /// Counts another file; `None` if `left` files are being sent through this link already.
    pub(crate) fn begin(&self, link: Id, left: Option<i64>) -> Option<PendingLinkFile> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&link).copied().unwrap_or_default();
        if left.is_some_and(|left| count >= left) {
            return None;
        }
        counts.insert(link, count + 1);
        Some(PendingLinkFile { files: self.clone(), link })
    }
}

impl Drop for PendingLinkFile {
    fn drop(&mut self) {
        let mut counts = self.files.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.link) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_as_many_files_under_way_as_it_takes() {
        let (files, link) = (PendingLinkFiles::default(), Id::new(7));
        let first = files.begin(link, Some(2)).unwrap();
        let second = files.begin(link, Some(2));
        assert!(second.is_some() && files.begin(link, Some(2)).is_none());
        assert!(files.begin(Id::new(8), Some(1)).is_some() && files.begin(link, None).is_some());
        drop(first);
        assert!(files.begin(link, Some(2)).is_some());
        drop(second);
        assert!(files.begin(Id::new(9), Some(0)).is_none());
        assert!(files.0.lock().unwrap().is_empty(), "a link without files is not remembered");
    }
}
