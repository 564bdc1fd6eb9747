//! Places in listings, sealed: where a page ends may be at the size of a draft that the reader does not see. A place works
//! only for the caller and the listing that it was sealed for. Every server of the farm opens what another has sealed.

use database::configuration::farm;
use database::{Reader, Transaction};
use model::{Error, Result};

use crate::farm::seal;
use crate::{Repository, Session};

/// The setting that keeps the key, in hexadecimal. It guards nothing that is stored.
const SETTING: &str = "place-key";
/// All places of a similar length are sealed to the same length.
const PADDED_TO: usize = 128;
/// Ends the place; zeros follow.
const END: u8 = 0x80;

impl Session {
    /// Seals a place in a listing for the caller, who hands it back to go on there. `listing` says what is listed, in
    /// which order, and what is left out.
    pub async fn seal_place(&self, listing: &str, place: &str) -> Result<Vec<u8>> {
        seal::seal_by_key(self.repository.place_key().await?, &self.place_of(listing), &plain_of(place))
    }

    /// Opens what [`Session::seal_place`] made for the same caller and listing; none for anything else.
    pub async fn open_place(&self, listing: &str, sealed: &[u8]) -> Result<Option<String>> {
        let subject = self.place_of(listing);
        Ok(seal::open_by_key(self.repository.place_key().await?, &subject, sealed).and_then(text_of))
    }

    fn place_of(&self, listing: &str) -> String {
        format!("place of {} in {listing}", self.principal.id)
    }
}

/// What is sealed of a place.
pub(crate) fn plain_of(place: &str) -> Vec<u8> {
    let mut plain = place.as_bytes().to_vec();
    plain.push(END);
    plain.resize(plain.len().next_multiple_of(PADDED_TO), 0);
    plain
}

/// The place of which [`plain_of`] made this.
pub(crate) fn text_of(mut plain: Vec<u8>) -> Option<String> {
    let end = plain.iter().rposition(|byte| *byte != 0).unwrap_or_default();
    plain.truncate(end);
    String::from_utf8(plain).ok()
}

impl Repository {
    async fn place_key(&self) -> Result<&[u8; seal::KEY]> {
        self.inner.place_key.get_or_try_init(|| self.find_place_key()).await
    }

    /// The key that is there, or a new one. Of two servers that make one at the same moment, both take the first.
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
        seal::decode(&text)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Error::corrupt(format!("the setting \"{SETTING}\" in the configuration database is no key")))
    }
}
