//! Many documents and folders as one archive that is generated while it is sent. The session checks the contents before
//! the first byte, and again for each document.

use std::collections::VecDeque;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use crc32fast::Hasher;
use futures_util::stream;
use model::{Code, Error, ErrorKind, Id, MAX_PAGE, NodeKind, Result, Timestamp};
use repository::{Content, Item, Session, Sort, Target, VersionChoice};

use crate::protocol::disposition;
use crate::protocol::zip::{Headers, Names};
use crate::server::concurrency::KeyedPermit;
use crate::server::request;

/// Maximum number of documents and folders in one archive.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of bytes in one archive.
const MAX_BYTES: u64 = 100 << 30;
/// Maximum number of rows of a list that are looked at for attachments.
const MAX_ROWS: usize = 100_000;
/// Limit on the total length of the paths in one archive, which stay in memory until its end.
const MAX_PATHS: usize = 8 << 20;
/// Name of the entry that lists the documents that could not be sent, unless a document has this name.
const MISSING: &str = "_not in this archive.txt";

struct Entry {
    id: Id,
    kind: NodeKind,
    size: u64,
    modified: Timestamp,
    path: String,
}

impl Entry {
    /// Creates the entry of an item, with its path in the archive.
    fn new(item: &Item, path: String) -> Self {
        Self { id: item.id, kind: item.kind, size: item.size, modified: item.modified_at, path }
    }
}

fn too_large() -> Error {
    Error::exhausted("an archive has at most 10,000 documents and folders, 8 MiB of paths and 100 GiB: select fewer")
        .with_code(Code::ArchiveTooLarge)
}

/// Returns the response that sends these items, folders with everything in them, and rows and lists with attachments.
///
/// # Errors
/// Exhausted with code `archive_too_large` when there are more than 10,000 items, 8 MiB of paths or 100 GiB.
#[boxed]
pub async fn send(session: &Session, ids: &[Id]) -> Result<Response> {
    let permit = request::acquire_costly()?;
    let Gathered { name, entries, missing_path } = gather(session, ids).await?;
    let state = Sending {
        session: session.clone(),
        entries,
        headers: Headers::default(),
        open: None,
        missing: Vec::new(),
        missing_path,
        ended: false,
        _permit: permit,
    };
    let parts = stream::unfold(Some(state), |state| async {
        let mut state = state?;
        match state.next().await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some(state))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    let fields = [
        (header::CONTENT_TYPE, "application/zip".to_owned()),
        (header::CONTENT_DISPOSITION, disposition::attachment(&format!("{name}.zip"))),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((fields, Body::from_stream(parts)).into_response())
}

/// The contents of an archive, as they were when it began.
struct Gathered {
    /// Name of the archive, without its extension.
    name: String,
    entries: VecDeque<Entry>,
    /// Path of the list of documents that could not be sent. No entry has it.
    missing_path: String,
}

/// Returns whether a row belongs into an archive: of a list, it holds the attachments, in a folder for each row.
fn has_attachments(row: &Item) -> bool {
    row.attachments.is_some_and(|count| count > 0)
}

async fn gather(session: &Session, ids: &[Id]) -> Result<Gathered> {
    let (mut names, mut entries, mut bytes, mut paths) = (Names::default(), VecDeque::new(), 0_u64, 0_usize);
    let (mut rest, mut name, mut rows): (VecDeque<Entry>, _, _) = (VecDeque::new(), String::new(), 0);
    for id in ids {
        let item = session.item(&Target::Id(*id)).await?;
        if item.kind == NodeKind::Site {
            return Err(Error::invalid("an archive holds documents, and what contains them below a site")
                .with_code(Code::WrongKind));
        }
        if name.is_empty() {
            let above = item.path.rsplit('/').nth(1).unwrap_or("documents");
            name = if ids.len() == 1 { item.name.clone() } else { above.to_owned() };
        }
        let path = names.give("", &item.name);
        paths += path.len();
        rest.push_back(Entry::new(&item, path));
    }
    while let Some(entry) = rest.pop_front() {
        bytes = bytes.saturating_add(entry.size);
        if entries.len() + rest.len() >= MAX_ENTRIES || bytes > MAX_BYTES || paths > MAX_PATHS {
            return Err(too_large());
        }
        let mut next = (entry.kind.has_contents()).then_some(None);
        while let Some(after) = next {
            let (_, page) = session.list(&Target::Id(entry.id), Sort::Name, false, after, MAX_PAGE).await?;
            rows += if entry.kind == NodeKind::List { page.items.len() } else { 0 };
            if rows > MAX_ROWS {
                return Err(too_large());
            }
            for child in page.items.into_iter().filter(|child| child.kind != NodeKind::Row || has_attachments(child)) {
                let path = names.give(&entry.path, &child.name);
                paths += path.len();
                rest.push_back(Entry::new(&child, path));
            }
            if paths > MAX_PATHS {
                return Err(too_large());
            }
            next = page.next.filter(|_| rest.len() <= MAX_ENTRIES).map(Some);
        }
        entries.push_back(entry);
    }
    Ok(Gathered { name, entries, missing_path: names.give("", MISSING) })
}

/// A document that is being sent.
struct Open {
    content: Content,
    /// The first bytes, until they are sent.
    first: Option<Bytes>,
    crc: Hasher,
    left: u64,
}

/// The part of the archive that is still to be sent.
struct Sending {
    session: Session,
    entries: VecDeque<Entry>,
    headers: Headers,
    open: Option<Open>,
    missing: Vec<String>,
    missing_path: String,
    ended: bool,
    /// Permit of the user's costly requests, held while the archive is sent.
    _permit: Option<KeyedPermit<String>>,
}

impl Sending {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if self.open.is_some() {
                return self.more().await.map(Some);
            }
            let Some(entry) = self.entries.pop_front() else { return Ok(self.end()) };
            if entry.kind.has_contents() {
                return Ok(Some(self.headers.folder(&entry.path, entry.modified).into()));
            }
            match Self::begin(&self.session, &entry).await {
                Ok(open) => {
                    let head = self.headers.file(&entry.path, open.left, entry.modified);
                    self.open = Some(open);
                    return Ok(Some(head.into()));
                }
                // A document that was deleted or is known to be damaged does not fail the archive.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden | ErrorKind::Corrupt) =>
                {
                    self.missing.push(entry.path);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens a document and reads its first bytes.
    ///
    /// # Errors
    /// Corrupt when these bytes are missing or damaged, or when damage of others is on record.
    async fn begin(session: &Session, entry: &Entry) -> Result<Open> {
        let mut content = session.open(&Target::Id(entry.id), VersionChoice::Visible).await?;
        content.refuse_known_fault().await?;
        let first = match content.try_whole() {
            Some(whole) => Some(whole?),
            None => content.next_chunk().await?,
        };
        Ok(Open { left: content.size(), content, crc: Hasher::new(), first })
    }

    async fn more(&mut self) -> Result<Bytes> {
        let Some(open) = &mut self.open else { return Ok(Bytes::new()) };
        let chunk = match open.first.take() {
            Some(first) => Some(first),
            None => open.content.next_chunk().await?,
        };
        match chunk {
            Some(chunk) if open.left > 0 => {
                open.crc.update(&chunk);
                open.left = open.left.saturating_sub(chunk.len() as u64);
                Ok(chunk)
            }
            _ if open.left > 0 => Err(Error::corrupt("the content of a document ended too early")),
            _ => {
                let crc = std::mem::take(&mut open.crc).finalize();
                self.open = None;
                Ok(self.headers.end(crc).into())
            }
        }
    }

    /// Returns the list of documents that could not be sent, if any, and the central directory.
    fn end(&mut self) -> Option<Bytes> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let mut out = Vec::new();
        if !self.missing.is_empty() {
            let text = self.missing.join("\r\n") + "\r\n";
            let mut crc = Hasher::new();
            crc.update(text.as_bytes());
            out = self.headers.file(&self.missing_path, text.len() as u64, Timestamp::now());
            out.extend_from_slice(text.as_bytes());
            out.extend(self.headers.end(crc.finalize()));
        }
        out.extend(self.headers.finish());
        Some(out.into())
    }
}
