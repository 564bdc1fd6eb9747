//! Settings of the search for the whole farm.

use async_recursion::async_recursion as boxed;
use database::configuration::{event, farm};
use database::{Reader, Transaction};
use model::{Error, Result, Timestamp, counted};

use crate::{CrawlWork, Session, Storage, Work};

/// Name of the setting that says how often all documents are read again; "0" for never.
const FULL_CRAWL_DAYS: &str = "search-full-crawl-days";
/// Name of the setting that says whether texts from stores that encrypt are indexed: "yes" or "no".
const ENCRYPTED_TEXTS: &str = "search-index-encrypted-texts";

/// Limit on the days between two full crawls.
const MAX_DAYS: u32 = 3_650;

/// Settings of the search for the whole farm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchSettings {
    /// Days after which all documents are read again; `None` for never.
    pub full_crawl_days: Option<u32>,
    /// True if texts from stores that encrypt are indexed too. The index stores texts unencrypted, so its
    /// directory should then be on an encrypted disk. Otherwise such documents are found by name only.
    pub index_encrypted_texts: bool,
}

impl Session {
    /// Returns the settings of the search.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn search_settings(&self) -> Result<SearchSettings> {
        self.storage().await?.search_settings().await
    }

    /// Returns the names of the stores that encrypt.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; those of opening the secrets of a store.
    #[boxed]
    pub async fn encrypting_stores(&self) -> Result<Vec<String>> {
        let (storage, mut names) = (self.storage().await?, Vec::new());
        for (row, _) in storage.stores() {
            if storage.encrypts(row.id).await? {
                names.push(row.name.clone());
            }
        }
        Ok(names)
    }

    /// Changes the settings of the search. When texts from stores that encrypt are to be indexed, a full crawl starts.
    /// When they are not any more, servers rebuild the indexes that contain them within seconds.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Invalid` for 0 days and for more than ten years between
    /// two crawls.
    #[boxed]
    pub async fn set_search_settings(&self, settings: SearchSettings) -> Result<()> {
        let storage = self.storage().await?;
        let days = settings.full_crawl_days.unwrap_or(0);
        if days > MAX_DAYS || settings.full_crawl_days == Some(0) {
            let message = format!("the number of days between full crawls must be from 1 to {MAX_DAYS}");
            return Err(Error::invalid(message));
        }
        let before = storage.search_settings().await?;
        let recording = storage.clone();
        let write = move |transaction: &mut Transaction<'_>| {
            let encrypted = if settings.index_encrypted_texts { "yes" } else { "no" };
            farm::put_setting(transaction, FULL_CRAWL_DAYS, &days.to_string())?;
            farm::put_setting(transaction, ENCRYPTED_TEXTS, encrypted)?;
            let crawl = if days == 0 {
                "no scheduled full crawl".to_owned()
            } else {
                format!("full crawl every {}", counted(days.into(), "day"))
            };
            let detail = format!("{crawl}, texts of encrypting stores indexed: {encrypted}");
            event::record(transaction, Timestamp::now(), recording.actor(), "search.settings", "search", &detail)
        };
        storage.configuration().write(write).await?;
        if settings.index_encrypted_texts && !before.index_encrypted_texts {
            self.start_job(Work::Crawl(CrawlWork::default())).await.map_err(|error| {
                let message = "the settings were saved, but the full crawl that applies them did not start: start one";
                Error::new(error.kind(), message).with_source(error)
            })?;
        }
        Ok(())
    }
}

impl Storage {
    /// Returns the settings of the search.
    #[boxed]
    pub async fn search_settings(&self) -> Result<SearchSettings> {
        let read = |reader: &mut Reader<'_>| {
            let days = farm::setting(reader, FULL_CRAWL_DAYS)?;
            let encrypted = farm::setting(reader, ENCRYPTED_TEXTS)?;
            Ok(SearchSettings {
                full_crawl_days: days.and_then(|days| days.parse().ok()).filter(|days| *days > 0),
                index_encrypted_texts: encrypted.as_deref() == Some("yes"),
            })
        };
        self.configuration().read(read).await
    }
}
