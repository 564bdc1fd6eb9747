//! Enumeration in digest order, and usage totals.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use model::{Digest, Result, Timestamp};

use super::catalog::Catalog;
use super::files::{free_bytes, io_error, is_gone, is_unreadable};
use super::index::Slot;
use super::large::Footer;
use super::layout::Layout;
use super::segment::Segment;
use crate::provider::{Entry, Page, Usage};

/// Number of entries read at once from each source.
const AHEAD: u64 = 32;

/// Returns a page of all entries, merged from the sorted indexes and the sorted names of large files.
pub fn page(catalog: &Catalog, after: Option<Digest>, limit: usize) -> Result<Page> {
    if after.is_none() {
        // One refresh per enumeration is enough: BLOBs stored later need not be listed.
        catalog.refresh()?;
    }
    loop {
        let segments = catalog.segments();
        match catalog.with_indexes(|| merge(catalog, &segments, after, limit)) {
            // A segment was compacted away while it was read. Its BLOBs are in a newer segment, which this page must
            // include.
            _ if segments.iter().any(|segment| is_gone(segment.path())) => {
                catalog.refresh()?;
            }
            page => return page,
        }
    }
}

fn merge(catalog: &Catalog, segments: &[Arc<Segment>], after: Option<Digest>, limit: usize) -> Result<Page> {
    let mut cursors = Vec::new();
    for segment in segments.iter().cloned() {
        cursors.push(Cursor::new(Lister::of(segment), after)?);
    }
    cursors.push(Cursor::new(Lister::Large(LargeNames::new(&catalog.layout, after)), after)?);
    let mut heads: BinaryHeap<Reverse<(Digest, usize)>> =
        cursors.iter().enumerate().filter_map(|(at, cursor)| Some(Reverse((cursor.head()?, at)))).collect();
    let mut page = Page::default();
    while let Some(Reverse((digest, at))) = heads.pop() {
        let repeated = page.entries.last().is_some_and(|last: &Entry| last.digest == digest);
        if !repeated && page.entries.len() == limit {
            page.next = page.entries.last().map(|last| last.digest);
            break;
        }
        if let Some(entry) = cursors[at].take()?
            && !repeated
        {
            page.entries.push(entry);
        }
        heads.extend(cursors[at].head().map(|head| Reverse((head, at))));
    }
    Ok(page)
}

/// A source that lists its entries in digest order.
enum Lister {
    Sealed(Arc<Segment>),
    Growing(Arc<Segment>, Vec<(Digest, Slot)>),
    Large(LargeNames),
}

/// The names of large files in order, read directory by directory.
struct LargeNames {
    layout: Layout,
    /// The next directory to read.
    next: u16,
    /// Names that were read but not yet returned.
    names: VecDeque<Digest>,
}

impl LargeNames {
    fn new(layout: &Layout, after: Option<Digest>) -> Self {
        let next = after.map_or(0, |after| u16::from(after.as_bytes()[0]));
        Self { layout: layout.clone(), next, names: VecDeque::new() }
    }

    /// Returns the next names above `after`, at most `limit`; none at the end.
    fn following(&mut self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>> {
        while self.names.is_empty() {
            let Ok(first) = u8::try_from(self.next) else { return Ok(Vec::new()) };
            let names = self.layout.large_names(first)?;
            let mut digests: Vec<Digest> = names
                .iter()
                .filter_map(|name| name.parse().ok())
                .filter(|digest| after.is_none_or(|after| *digest > after))
                .collect();
            digests.sort_unstable();
            self.names = digests.into();
            self.next += 1;
        }
        Ok(self.names.drain(..limit.min(self.names.len())).collect())
    }
}

impl Lister {
    fn of(segment: Arc<Segment>) -> Self {
        match segment.slots() {
            Some(mut slots) => {
                slots.sort_unstable_by_key(|(digest, _)| *digest);
                Self::Growing(segment, slots)
            }
            None => Self::Sealed(segment),
        }
    }

    /// Returns some live entries above `after`, and the digest of the last entry examined, which may be a deleted one.
    fn following(&mut self, after: Option<Digest>) -> Result<(Vec<Entry>, Option<Digest>)> {
        let entry = |(digest, slot): &(Digest, Slot)| Entry {
            digest: *digest,
            size: slot.extent.length(),
            stored_at: slot.stored_at,
        };
        let live = |segment: &Segment, found: &[(Digest, Slot)]| {
            let live = found.iter().filter(|(_, slot)| !segment.is_dead(slot.offset)).map(entry).collect();
            (live, found.last().map(|(digest, _)| *digest))
        };
        match self {
            Self::Sealed(segment) => {
                let found = match segment.sealed() {
                    Some(index) => index.following(after.as_ref(), AHEAD)?,
                    None => Vec::new(),
                };
                Ok(live(segment, &found))
            }
            Self::Growing(segment, slots) => {
                let from = after.map_or(0, |after| slots.partition_point(|(digest, _)| *digest <= after));
                Ok(live(segment, &slots[from..slots.len().min(from + AHEAD as usize)]))
            }
            Self::Large(names) => large_files(names, after),
        }
    }
}

struct Cursor {
    lister: Lister,
    entries: VecDeque<Entry>,
    last: Option<Digest>,
    done: bool,
}

impl Cursor {
    fn new(lister: Lister, after: Option<Digest>) -> Result<Self> {
        let mut cursor = Self { lister, entries: VecDeque::new(), last: after, done: false };
        cursor.fill()?;
        Ok(cursor)
    }

    fn head(&self) -> Option<Digest> {
        self.entries.front().map(|entry| entry.digest)
    }

    fn take(&mut self) -> Result<Option<Entry>> {
        let entry = self.entries.pop_front();
        self.fill()?;
        Ok(entry)
    }

    fn fill(&mut self) -> Result<()> {
        while self.entries.is_empty() && !self.done {
            let (entries, last) = self.lister.following(self.last)?;
            self.done = last.is_none();
            self.last = last.or(self.last);
            self.entries = entries.into();
        }
        Ok(())
    }
}

/// Returns some large files above `after`, and the last digest examined. Opens only these files.
fn large_files(names: &mut LargeNames, after: Option<Digest>) -> Result<(Vec<Entry>, Option<Digest>)> {
    let digests = names.following(after, AHEAD as usize)?;
    let entries = digests.iter().filter_map(|digest| large_entry(&names.layout, digest).transpose());
    Ok((entries.collect::<Result<_>>()?, digests.last().copied()))
}

/// Returns the entry of a large file. A file with a damaged footer is listed too: it exists and may still be needed.
fn large_entry(layout: &Layout, digest: &Digest) -> Result<Option<Entry>> {
    let path = layout.large_file(digest);
    let io = |e: std::io::Error| io_error("read", &path, e);
    match File::open(&path).and_then(|file| Footer::read(&file)) {
        Ok(Some((footer, _))) => {
            return Ok(Some(Entry { digest: *digest, size: footer.length, stored_at: footer.stored_at }));
        }
        Ok(None) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_unreadable(&error) => {}
        Err(error) => return Err(io(error)),
    }
    match fs::metadata(&path).and_then(|meta| Ok((meta.len(), meta.modified()?))) {
        Ok((size, modified)) => Ok(Some(Entry { digest: *digest, size, stored_at: modified.into() })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // Dated now, so that it is not old enough to be collected.
        Err(error) if is_unreadable(&error) => {
            Ok(Some(Entry { digest: *digest, size: 0, stored_at: Timestamp::now() }))
        }
        Err(error) => Err(io(error)),
    }
}

/// Computes the contents and disk usage of the store.
pub fn usage(catalog: &Catalog) -> Result<Usage> {
    catalog.refresh()?;
    let mut usage = Usage { free_bytes: Some(free_bytes(catalog.layout.root())?), ..Usage::default() };
    for segment in catalog.segments() {
        let path = segment.path();
        let (live, meta) = match (catalog.with_indexes(|| segment.live()), fs::metadata(path)) {
            (Ok(live), Ok(meta)) => (live, meta),
            _ if is_gone(path) => continue,
            (Err(error), _) => return Err(error),
            (_, Err(error)) => return Err(io_error("read the metadata of", path, error)),
        };
        usage.blobs += live.blobs;
        usage.content_bytes += live.content;
        usage.disk_bytes += meta.blocks() * 512;
        if segment.sealed().is_some() && segment.dead_count() > 0 {
            usage.reclaimable_bytes += meta.len().saturating_sub(live.footprint);
        }
    }
    let (mut after, mut names) = (None, LargeNames::new(&catalog.layout, None));
    loop {
        let (entries, last) = large_files(&mut names, after)?;
        for entry in entries {
            usage.blobs += 1;
            usage.content_bytes += entry.size;
            let path = catalog.layout.large_file(&entry.digest);
            usage.disk_bytes += fs::metadata(path).map_or(0, |meta| meta.blocks() * 512);
        }
        match last {
            Some(_) => after = last,
            None => return Ok(usage),
        }
    }
}
