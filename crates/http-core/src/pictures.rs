//! Small pictures of documents, for pages: made by child processes, kept in memory.

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Code, Error, ErrorKind, Result};
use repository::{Content, Session, shrink_picture};

use crate::result_cache::ResultCache;

/// Limits of the cache: bytes and number of pictures.
const KEPT_BYTES: usize = 64 << 20;
const MAX_KEPT: usize = 4_000;

/// Size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureSize {
    /// For a tile: at most 360 pixels wide and high.
    Small,
    /// For the page of a document: at most 2,400 pixels wide and high.
    Large,
}

impl PictureSize {
    const fn pixels(self) -> u32 {
        match self {
            Self::Small => 360,
            Self::Large => 2_400,
        }
    }
}

/// Makes small pictures and keeps the latest.
pub struct Pictures(ResultCache);

impl Default for Pictures {
    fn default() -> Self {
        Self(ResultCache::new(KEPT_BYTES, MAX_KEPT))
    }
}

impl Pictures {
    /// Returns a document as a picture of this size, PNG or JPEG.
    ///
    /// # Errors
    /// `Invalid` with code `not_readable` for a document of which none can be made; `Unavailable` when too many are
    /// waiting.
    #[boxed]
    pub async fn of(&self, session: &Session, document: Content, size: PictureSize) -> Result<Bytes> {
        let key = format!("{} {}", document.etag(), size.pixels());
        if let Some(made) = self.0.known(&key) {
            return made.ok_or_else(unreadable);
        }
        match shrink_picture(session, document, size.pixels()).await {
            Ok(picture) => {
                let picture = Bytes::from(picture);
                self.0.keep(key, Some(picture.clone()));
                Ok(picture)
            }
            Err(error) => {
                if error.kind() != ErrorKind::Invalid {
                    return Err(error);
                }
                match error.code() {
                    Code::NotReadable | Code::TooLarge => self.0.keep(key, None),
                    _ => self.0.keep_briefly(key),
                }
                Err(unreadable().with_source(error))
            }
        }
    }
}

fn unreadable() -> Error {
    Error::invalid("no picture can be made of this document").with_code(Code::NotReadable)
}
