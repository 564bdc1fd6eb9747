//! Profiles: what people tell about themselves, with a picture.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND_PROFILE = "SELECT revision, job_title, department, office, phone, web_address, about, picture_type \
        FROM profile WHERE account_id = $1";
    LOCK_ACCOUNT = "SELECT id FROM account WHERE id = $1 {for_update}";
    PUT_PROFILE = "INSERT INTO profile (account_id, revision, job_title, department, office, phone, web_address, \
        about, picture_type, picture) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9) \
        ON CONFLICT (account_id) DO UPDATE SET revision = excluded.revision, job_title = excluded.job_title, \
        department = excluded.department, office = excluded.office, phone = excluded.phone, \
        web_address = excluded.web_address, about = excluded.about";
    FIND_PICTURE = "SELECT picture_type, picture FROM profile WHERE account_id = $1 AND picture_type <> ''";
    SET_PICTURE = "UPDATE profile SET revision = $2, picture_type = $3, picture = $4 WHERE account_id = $1";
    DELETE_PROFILE = "DELETE FROM profile WHERE account_id = $1";
}

/// Profile of an account, as its owner wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Number of changes of the profile and its picture; 0 for an empty profile that was never changed.
    pub revision: i64,
    /// Job title.
    pub job_title: String,
    /// Department.
    pub department: String,
    /// Where the person works, such as a room.
    pub office: String,
    /// Telephone number.
    pub phone: String,
    /// A web address (http or https), or empty.
    pub web_address: String,
    /// A text of several lines.
    pub about: String,
    /// True if there is a picture.
    pub has_picture: bool,
}

/// The profile of an account; `None` for one that was never changed.
pub fn find(reader: &mut Reader, account: Id) -> Result<Option<Profile>> {
    reader.find(FIND_PROFILE, &params![account], |row| {
        Ok(Profile {
            revision: row.get(0)?,
            job_title: row.get(1)?,
            department: row.get(2)?,
            office: row.get(3)?,
            phone: row.get(4)?,
            web_address: row.get(5)?,
            about: row.get(6)?,
            has_picture: !row.get::<String>(7)?.is_empty(),
        })
    })
}

/// Lets no other transaction change the profile of an account until this one ends.
pub fn lock(tx: &mut Transaction, account: Id) -> Result<()> {
    tx.find(LOCK_ACCOUNT, &params![account], |row| row.get::<Id>(0)).map(drop)
}

/// Stores a profile. Its picture stays.
pub fn put(tx: &mut Transaction, account: Id, profile: &Profile) -> Result<()> {
    let none: &[u8] = &[];
    let values = params![
        account,
        profile.revision,
        profile.job_title.as_str(),
        profile.department.as_str(),
        profile.office.as_str(),
        profile.phone.as_str(),
        profile.web_address.as_str(),
        profile.about.as_str(),
        none
    ];
    tx.execute(PUT_PROFILE, &values).map(drop)
}

/// The picture of a profile: media type and bytes.
pub fn picture(reader: &mut Reader, account: Id) -> Result<Option<(String, Vec<u8>)>> {
    reader.find(FIND_PICTURE, &params![account], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Sets the picture of a profile that is stored. An empty media type removes it.
pub fn set_picture(tx: &mut Transaction, account: Id, revision: i64, media_type: &str, bytes: &[u8]) -> Result<()> {
    tx.execute(SET_PICTURE, &params![account, revision, media_type, bytes]).map(drop)
}

/// Removes the profile of an account.
pub fn remove(tx: &mut Transaction, account: Id) -> Result<()> {
    tx.execute(DELETE_PROFILE, &params![account]).map(drop)
}
