//! Settings of the search for the whole farm.

use async_recursion::async_recursion as boxed;
use database::configuration::{event, farm};
use database::{Reader, Transaction};
use model::{Error, Result, Timestamp, counted};
use search::programs::is_language;

use crate::{CrawlWork, Session, Storage, Work};

/// Name of the setting that says how often all documents are read again; "0" for never.
const FULL_CRAWL_DAYS: &str = "search-full-crawl-days";
/// Name of the setting that says whether texts from stores that encrypt are indexed: "yes" or "no".
const ENCRYPTED_TEXTS: &str = "search-index-encrypted-texts";

/// Name of the setting that says whether text in pictures is recognised: "yes" or "no".
const RECOGNITION: &str = "search-recognition";
/// Name of the setting with the languages of such text, separated by plus signs.
const RECOGNITION_LANGUAGES: &str = "search-recognition-languages";
/// Its default: German and English.
const USUAL_LANGUAGES: [&str; 2] = ["deu", "eng"];
/// Limit on these languages.
const MAX_LANGUAGES: usize = 8;

/// Limit on the days between two full crawls.
const MAX_DAYS: u32 = 3_650;

/// Settings of the search for the whole farm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSettings {
    /// Days after which all documents are read again; `None` for never.
    pub full_crawl_days: Option<u32>,
    /// True if texts from stores that encrypt are indexed too. The index stores texts unencrypted, so its
    /// directory should then be on an encrypted disk. Otherwise such documents are found by name only.
    pub index_encrypted_texts: bool,
    /// True if text in pictures and scanned pages is recognised (OCR).
    pub recognizes_text: bool,
    /// Languages of such text, by the names that tesseract uses, such as `deu`. Those that are installed are used.
    pub recognition_languages: Vec<String>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            full_crawl_days: None,
            index_encrypted_texts: false,
            recognizes_text: false,
            recognition_languages: USUAL_LANGUAGES.map(ToOwned::to_owned).into(),
        }
    }
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

    /// Changes the settings of the search. When texts from stores that encrypt are to be indexed, or text in pictures
    /// is to be recognised, a full crawl starts. When texts from stores that encrypt are not to be indexed any more,
    /// servers rebuild the indexes that contain them within seconds.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Invalid` for 0 days and for more than ten years between
    /// two crawls, for a language that cannot be one, and for none or more than eight.
    #[boxed]
    pub async fn set_search_settings(&self, settings: SearchSettings) -> Result<()> {
        let storage = self.storage().await?;
        let days = settings.full_crawl_days.unwrap_or(0);
        if days > MAX_DAYS || settings.full_crawl_days == Some(0) {
            let message = format!("the number of days between full crawls must be from 1 to {MAX_DAYS}");
            return Err(Error::invalid(message));
        }
        require_languages(&settings.recognition_languages)?;
        let before = storage.search_settings().await?;
        let (recording, written) = (storage.clone(), settings.clone());
        let write = move |transaction: &mut Transaction<'_>| {
            let encrypted = if written.index_encrypted_texts { "yes" } else { "no" };
            farm::put_setting(transaction, FULL_CRAWL_DAYS, &days.to_string())?;
            let recognition = if written.recognizes_text { "yes" } else { "no" };
            let languages = written.recognition_languages.join("+");
            farm::put_setting(transaction, ENCRYPTED_TEXTS, encrypted)?;
            farm::put_setting(transaction, RECOGNITION, recognition)?;
            farm::put_setting(transaction, RECOGNITION_LANGUAGES, &languages)?;
            let crawl = if days == 0 {
                "no scheduled full crawl".to_owned()
            } else {
                format!("full crawl every {}", counted(days.into(), "day"))
            };
            let detail = format!(
                "{crawl}, texts of encrypting stores indexed: {encrypted}, text in pictures recognised: {recognition}, \
                 languages: {languages}"
            );
            event::record(transaction, Timestamp::now(), recording.actor(), "search.settings", "search", &detail)
        };
        storage.configuration().write(write).await?;
        let reads_more = settings.index_encrypted_texts && !before.index_encrypted_texts
            || settings.recognizes_text && !before.recognizes_text;
        if reads_more {
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
            let recognition = farm::setting(reader, RECOGNITION)?;
            let languages = farm::setting(reader, RECOGNITION_LANGUAGES)?;
            let languages = languages.map(|names| names.split('+').map(ToOwned::to_owned).collect());
            Ok(SearchSettings {
                full_crawl_days: days.and_then(|days| days.parse().ok()).filter(|days| *days > 0),
                index_encrypted_texts: encrypted.as_deref() == Some("yes"),
                recognizes_text: recognition.as_deref() == Some("yes"),
                recognition_languages: languages.unwrap_or(SearchSettings::default().recognition_languages),
            })
        };
        self.configuration().read(read).await
    }
}

fn require_languages(languages: &[String]) -> Result<()> {
    if languages.is_empty() || languages.len() > MAX_LANGUAGES {
        return Err(Error::invalid(format!("name from 1 to {MAX_LANGUAGES} languages, such as deu+eng")));
    }
    match languages.iter().find(|language| !is_language(language)) {
        Some(other) => Err(Error::invalid(format!(
            "{other:?} cannot be a language of tesseract: these are names such as deu and eng"
        ))),
        None => Ok(()),
    }
}
