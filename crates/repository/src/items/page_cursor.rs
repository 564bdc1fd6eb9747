//! Encrypted positions in listings. The position at which a page ends may reveal the size of a draft that the reader
//! does not see, so clients get it encrypted. A position is valid only for the caller and the listing that it was made
//! for. Every server of the farm can decrypt it.

use async_recursion::async_recursion as boxed;
use database::configuration::farm;
use database::{Reader, Transaction};
use model::{Error, Result};

use crate::farm::seal;
use crate::{Repository, Session};

/// Name of the setting that holds the key, in hexadecimal. The key protects no stored data.
const SETTING: &str = "place-key";
/// Padding unit in bytes: positions are padded to a multiple of it, which hides their exact length.
const PADDED_TO: usize = 128;
/// Byte that ends the position; zeros follow.
const END: u8 = 0x80;

impl Session {
    /// Encrypts a position in a listing for the caller, who returns it to continue there. `listing` describes the
    /// contents, the order and the filter.
    #[boxed]
    pub async fn seal_place(&self, listing: &str, place: &str) -> Result<Vec<u8>> {
        seal::seal_by_key(self.repository.place_key().await?, &self.place_of(listing), &plain_of(place))
    }

    /// Decrypts a result of [`Session::seal_place`] for the same caller and listing. Returns `None` for anything else.
    #[boxed]
    pub async fn open_place(&self, listing: &str, sealed: &[u8]) -> Result<Option<String>> {
        let subject = self.place_of(listing);
        Ok(seal::open_by_key(self.repository.place_key().await?, &subject, sealed).and_then(text_of))
    }

    fn place_of(&self, listing: &str) -> String {
        format!("place of {} in {listing}", self.principal.id)
    }
}

/// Returns the padded plaintext of a position.
pub(crate) fn plain_of(place: &str) -> Vec<u8> {
    let mut plain = place.as_bytes().to_vec();
    plain.push(END);
    plain.resize(plain.len().next_multiple_of(PADDED_TO), 0);
    plain
}

/// Returns the position from a result of [`plain_of`].
pub(crate) fn text_of(mut plain: Vec<u8>) -> Option<String> {
    let end = plain.iter().rposition(|byte| *byte != 0).unwrap_or_default();
    plain.truncate(end);
    String::from_utf8(plain).ok()
}

impl Repository {
    async fn place_key(&self) -> Result<&[u8; seal::KEY]> {
        self.inner.cursor_key.get_or_try_init(|| self.find_place_key()).await
    }

    /// Returns the stored key, or creates and stores one. If two servers create one at the same time, both use the
    /// first.
    async fn find_place_key(&self) -> Result<[u8; seal::KEY]> {
        let configuration = &self.inner.configuration;
        let read = |reader: &mut Reader<'_>| farm::setting(reader, SETTING);
        let text = match configuration.read(read).await? {
            Some(text) => text,
            None => {
                let new = seal::new_key()?;
                let write = move |transaction: &mut Transaction<'_>| {
                    farm::change_directory(transaction)?;
                    if let Some(text) = farm::setting(transaction, SETTING)? {
                        return Ok(text);
                    }
                    farm::put_setting(transaction, SETTING, &new)?;
                    Ok(new.clone())
                };
                configuration.write_vital(write).await?
            }
        };
        seal::decode(&text).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            Error::corrupt(format!("the setting \"{SETTING}\" in the configuration database is not a key"))
        })
    }
}
