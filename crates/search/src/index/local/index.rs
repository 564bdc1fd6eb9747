//! The index of one content database in a directory, and its newest view.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, Result};
use tantivy::directory::MmapDirectory;
use tantivy::store::Compressor;
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy};

use super::analyzer;
use super::error::{index_error, index_failed};
use super::files;
use super::place_numbers::PlaceNumbers;
use super::schema::{self, Fields};
use super::view::{LocalView, newest_checkpoint};
use crate::index::checkpoint::{FORMAT, other_version};
use crate::index::word_tokenizers::{EndTokenizer, StemTokenizer};

/// Blocks of stored texts that are kept in memory for each segment. Each holds a whole text or several.
const CACHED_BLOCKS: usize = 1;

/// The index of one content database.
pub struct LocalIndex {
    pub(super) index: Index,
    pub(super) fields: Fields,
    reader: IndexReader,
    places: Arc<PlaceNumbers>,
    pub(super) directory: PathBuf,
    view: Mutex<Arc<LocalView>>,
}

impl LocalIndex {
    /// Opens the index in a directory; makes an empty one if the directory holds none. Blocks.
    ///
    /// # Errors
    /// `Corrupt` if the directory holds an index that cannot be read or is of another version; `Unavailable` if the
    /// directory cannot be read or written.
    pub fn open(directory: &Path) -> Result<Self> {
        files::note_open(directory)?;
        let (place, is_new) = open_directory(directory)?;
        let failed = |error| index_error(directory, error);
        let index = if is_new {
            // Texts are compressed before they are stored.
            let settings = IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
            Index::create(place, schema::schema().0, settings).map_err(failed)?
        } else {
            Index::open(place).map_err(failed)?
        };
        Self::take(directory, index, is_new)
    }

    /// Opens the index in a directory, if there is one, for reading while another process may write it. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_existing(directory: &Path) -> Result<Option<Self>> {
        let (place, is_new) = open_directory(directory)?;
        if is_new {
            return Ok(None);
        }
        let index = Index::open(place).map_err(|error| index_error(directory, error))?;
        Self::take(directory, index, false).map(Some)
    }

    fn take(directory: &Path, index: Index, is_new: bool) -> Result<Self> {
        let (fields, failed) = (schema::schema().1, |error| index_error(directory, error));
        if index.schema() != schema::schema().0 {
            return Err(other_version());
        }
        index.tokenizers().register(analyzer::STEMS, StemTokenizer::default());
        index.tokenizers().register(analyzer::PARTS, analyzer::PartTokenizer::default());
        index.tokenizers().register(analyzer::ENDS, EndTokenizer::default());
        index.tokenizers().register(analyzer::VALUES, analyzer::ValueTokenizer::default());
        let checkpoint = newest_checkpoint(&index)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(CACHED_BLOCKS)
            .try_into()
            .map_err(failed)?;
        let places = Arc::new(PlaceNumbers::default());
        let view = Arc::new(LocalView::of(&reader, checkpoint, fields, places.clone()));
        if !is_new && view.checkpoint().format != FORMAT {
            return Err(other_version());
        }
        Ok(Self { index, fields, reader, places, directory: directory.to_owned(), view: Mutex::new(view) })
    }

    /// Compares all files with their checksums. Blocks.
    ///
    /// # Errors
    /// `Corrupt` if a file differs or the disk cannot read it; `Unavailable` if one cannot be opened.
    pub fn verify(&self) -> Result<()> {
        files::read_through(&self.directory)?;
        let damaged = self.index.validate_checksum().map_err(index_failed)?;
        if damaged.is_empty() {
            return Ok(());
        }
        Err(Error::corrupt(format!("{} files of the search index are damaged", damaged.len())))
    }

    /// The newest commit.
    pub fn view(&self) -> Arc<LocalView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the newest commit into use.
    pub(super) fn reload(&self) -> Result<()> {
        let checkpoint = newest_checkpoint(&self.index)?;
        self.reader.reload().map_err(index_failed)?;
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        *view = Arc::new(LocalView::of(&self.reader, checkpoint, self.fields, self.places.clone()).after(&view));
        Ok(())
    }
}

/// Opens the directory of an index. Returns whether it holds none.
fn open_directory(directory: &Path) -> Result<(MmapDirectory, bool)> {
    let place = MmapDirectory::open(directory).map_err(|error| index_error(directory, error.into()))?;
    let exists = Index::exists(&place).map_err(|error| index_error(directory, error.into()))?;
    Ok((place, !exists))
}
