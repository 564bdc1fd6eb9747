//! Profiles: what people tell about themselves. Every account may read them, like the names of accounts.

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::Transaction;
use database::configuration::{account, principal, profile};
use model::{Code, ColumnKind, ColumnValue, Error, Id, MAX_NAME_CHARS, Result, SmallImage};

use crate::Session;

use super::accounts::{missing, record};
use super::{PrincipalName, Profile};

/// Limit on the characters of the text about somebody.
pub const MAX_ABOUT_CHARS: usize = 10_000;

impl Session {
    /// Returns the name and the profile of a person; an empty profile for somebody who told nothing.
    ///
    /// # Errors
    /// `NotFound` for groups, and for accounts that do not exist or were deleted.
    #[boxed]
    pub async fn profile(&self, person: Id) -> Result<(PrincipalName, Profile)> {
        let read = move |reader: &mut Reader| {
            account::find(reader, person)?.filter(|account| !account.deleted).ok_or_else(|| missing(person))?;
            let name = principal::names(reader, &[person])?.pop().ok_or_else(|| missing(person))?;
            Ok((name, profile::find(reader, person)?.unwrap_or_default()))
        };
        self.repository.inner.configuration.read(read).await
    }

    /// Returns the picture of a person.
    ///
    /// # Errors
    /// `NotFound` if there is none, and for accounts that were deleted.
    #[boxed]
    pub async fn profile_picture(&self, person: Id) -> Result<SmallImage> {
        let read = move |reader: &mut Reader| {
            // An older server of the farm deletes an account without its profile.
            let account = account::find(reader, person)?.filter(|account| !account.deleted);
            account.map_or(Ok(None), |_| profile::picture(reader, person))
        };
        let found = self.repository.inner.configuration.read(read).await?;
        let (media_type, bytes) = found.ok_or_else(|| Error::not_found("this person has no picture"))?;
        Ok(SmallImage { media_type, bytes })
    }

    /// Changes the caller's own profile; that of others needs a farm administrator. `profile.revision` is the one that
    /// the author of the change saw. The picture stays. Returns the profile as it is now.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Invalid` for a text outside its limits; `Conflict` with code `overtaken` if the
    /// profile was changed meanwhile.
    #[boxed]
    pub async fn set_profile(&self, person: Id, profile: Profile) -> Result<Profile> {
        let new = checked(profile)?;
        self.change_profile(person, Some(new.revision), move |tx, before| {
            let after = Profile { revision: before.revision + 1, has_picture: before.has_picture, ..new.clone() };
            profile::put(tx, person, &after)?;
            Ok(after)
        })
        .await
    }

    /// Sets or removes the picture of the caller; that of others needs a farm administrator.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`.
    #[boxed]
    pub async fn set_profile_picture(&self, person: Id, picture: Option<SmallImage>) -> Result<Profile> {
        self.change_profile(person, None, move |tx, before| {
            if before.revision == 0 {
                profile::put(tx, person, before)?;
            }
            let after = Profile { revision: before.revision + 1, has_picture: picture.is_some(), ..before.clone() };
            let (media_type, bytes) = match &picture {
                Some(picture) => (picture.media_type.as_str(), picture.bytes.as_slice()),
                None => ("", [].as_slice()),
            };
            profile::set_picture(tx, person, after.revision, media_type, bytes)?;
            Ok(after)
        })
        .await
    }

    async fn change_profile(
        &self,
        person: Id,
        seen: Option<i64>,
        mut change: impl FnMut(&mut Transaction, &Profile) -> Result<Profile> + Send + 'static,
    ) -> Result<Profile> {
        let actor = self.principal.id;
        if person == actor {
            self.require_own_account("change a profile")?;
        } else {
            self.require_farm_administrator("change the profiles of others")?;
        }
        let write = move |tx: &mut Transaction| {
            profile::lock(tx, person)?;
            let account = account::find(tx, person)?.filter(|account| !account.deleted);
            let account = account.ok_or_else(|| missing(person))?;
            let before = profile::find(tx, person)?.unwrap_or_default();
            if seen.is_some_and(|seen| seen != before.revision) {
                return Err(Error::conflict("the profile was changed meanwhile: look at it again before you save")
                    .with_code(Code::Overtaken));
            }
            let after = change(tx, &before)?;
            record(tx, actor, "account.profile", person, &account.login)?;
            Ok(after)
        };
        self.repository.inner.configuration.write(write).await
    }
}

/// Checks and trims the texts of a profile.
fn checked(profile: Profile) -> Result<Profile> {
    let line = |what: &str, text: &str| {
        let text = text.trim();
        if text.chars().count() > MAX_NAME_CHARS || text.contains(char::is_control) {
            let reason = format!("{what} has up to {MAX_NAME_CHARS} characters and no control characters");
            return Err(Error::invalid(reason).with_code(Code::InvalidProfile));
        }
        Ok(text.to_owned())
    };
    let web_address = line("a web address", &profile.web_address)?;
    if !web_address.is_empty() {
        let checked = ColumnKind::Link.check(&ColumnValue::Text(web_address.clone()));
        checked.map_err(|error| error.with_code(Code::InvalidWebAddress))?;
    }
    let about = profile.about.replace("\r\n", "\n").replace('\r', "\n");
    let about = about.trim_matches([' ', '\n', '\t']).to_owned();
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if about.chars().count() > MAX_ABOUT_CHARS || about.contains(bad) {
        return Err(Error::invalid(format!(
            "the text about a person has up to {MAX_ABOUT_CHARS} characters and no control characters"
        ))
        .with_code(Code::InvalidProfile));
    }
    Ok(Profile {
        job_title: line("a job title", &profile.job_title)?,
        department: line("a department", &profile.department)?,
        office: line("an office", &profile.office)?,
        phone: line("a telephone number", &profile.phone)?,
        web_address,
        about,
        ..profile
    })
}
