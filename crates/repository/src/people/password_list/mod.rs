//! The list of forbidden passwords, which an administrator installs in the farm: importing it from a file of SHA-1
//! sums, and looking passwords up.
//!
//! The list is stored in the configuration database, where all servers find it, in parts of some kilobytes. A look-up
//! reads one part. It wrongly finds one in 65,536 of the passwords that are not on the list.

mod coding;
mod file;

use std::path::Path;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{event, password_list};
use metrics::counter;
use model::{Code, Error, Id, Result, Timestamp};

use self::coding::{MAX_BITS, Sum, number, part_of};
use self::file::SumFile;
use crate::blocking::blocking;
use crate::{Repository, Session};

pub use database::configuration::password_list::PasswordList;

/// Average number of entries in a part.
const PART_ENTRIES: u64 = 4_096;
/// Number of parts that one transaction writes or deletes.
const PARTS_AT_ONCE: usize = 64;
/// Maximum number of sums in one part. Sums of passwords spread evenly, so a file that exceeds it does not hold such
/// sums.
const MAX_PART_ENTRIES: usize = 8 * PART_ENTRIES as usize;
/// Number of entries in a part that can be decoded in less than a millisecond.
const SHORT_PART: u64 = 2 * PART_ENTRIES;
/// Age at which an incomplete list is taken for the remainder of an interrupted import.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

impl Session {
    /// Replaces the list with the SHA-1 sums in a sorted file, one per line. Calls `tell` with the bytes read and the
    /// total. The total is twice the size of the file, which is read twice.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed`; `Invalid` with
    /// code `invalid_password_list` when the file cannot be read, is empty, or has a line that is not a sum or not in
    /// order; the error names the line.
    pub async fn import_password_list(&self, path: &Path, tell: impl Fn(u64, u64)) -> Result<PasswordList> {
        self.require_farm_administrator("change the list of forbidden passwords")?;
        self.require_fresh("change the list of forbidden passwords")?;
        let size = std::fs::metadata(path).map_or(0, |data| data.len());
        let entries = self.count_sums(path, &|read| tell(read, 2 * size)).await?;
        let bits = entries.div_ceil(PART_ENTRIES).next_power_of_two().ilog2().min(MAX_BITS);
        let (id, made_at) = (self.repository.inner.ids.next(), Timestamp::now());
        let list = PasswordList { id, entries, bits, made_at };
        self.write(move |tx| password_list::insert(tx, &list)).await?;
        let mut source = SumFile::open(path)?;
        let mut first = source.next()?;
        let mut written = 0;
        while first.is_some() {
            let read = move || read_parts(source, first, bits);
            let (rest, next, parts) = blocking(read).await?;
            (source, first) = (rest, next);
            written += parts.iter().map(|part| part.entries).sum::<u64>();
            self.write(move |tx| parts.iter().try_for_each(|part| part.insert(tx, id))).await?;
            tell(size + source.bytes_read(), 2 * size);
        }
        let actor = self.principal.id;
        self.write(move |tx| {
            password_list::complete(tx, id, written)?;
            event::record(tx, made_at, actor, "passwords.import", "passwords", &format!("{written} passwords"))
        })
        .await?;
        self.remove_other_lists(id).await?;
        Ok(PasswordList { entries: written, ..list })
    }

    /// Returns the list in use.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators.
    #[boxed]
    pub async fn password_list(&self) -> Result<Option<PasswordList>> {
        self.require_farm_administrator("see the list of forbidden passwords")?;
        self.repository.inner.configuration.read(password_list::in_use).await
    }

    /// Removes the list. Returns whether there was one.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed`.
    #[boxed]
    pub async fn remove_password_list(&self) -> Result<bool> {
        self.require_farm_administrator("change the list of forbidden passwords")?;
        self.require_fresh("change the list of forbidden passwords")?;
        if self.password_list().await?.is_none() {
            return Ok(false);
        }
        let (actor, now) = (self.principal.id, Timestamp::now());
        self.remove_other_lists(Id::NONE).await?;
        self.write(move |tx| event::record(tx, now, actor, "passwords.remove", "passwords", "")).await?;
        Ok(true)
    }

    async fn count_sums(&self, path: &Path, tell: &impl Fn(u64)) -> Result<u64> {
        let mut source = SumFile::open(path)?;
        let mut entries = 0;
        loop {
            let count = move || {
                let mut counted = 0;
                while counted < PARTS_AT_ONCE as u64 * PART_ENTRIES && source.next()?.is_some() {
                    counted += 1;
                }
                Ok((source, counted))
            };
            let (rest, counted) = blocking(count).await?;
            source = rest;
            entries += counted;
            tell(source.bytes_read());
            if counted == 0 {
                break;
            }
        }
        if entries == 0 {
            return Err(Error::invalid(format!("the file {} holds no SHA-1 sums", path.display()))
                .with_code(Code::InvalidPasswordList));
        }
        Ok(entries)
    }

    async fn remove_other_lists(&self, kept: Id) -> Result<()> {
        let before = Timestamp::now().before(ABANDONED);
        while self.write(move |tx| password_list::remove_some(tx, kept, before, PARTS_AT_ONCE)).await? {}
        Ok(())
    }

    async fn write<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Transaction) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.repository.inner.configuration.write(change).await
    }
}

/// Result of looking up a password in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListLookup {
    /// The list that was consulted; [`Id::NONE`] when there is none.
    pub(super) list: Id,
    /// True if the password is on it.
    pub(super) listed: bool,
}

impl Repository {
    /// Returns whether a password is on the list of forbidden passwords.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    pub(super) async fn is_listed(&self, password: &str) -> Result<bool> {
        Ok(self.look_up_in_list(password).await?.listed)
    }

    /// Looks a password up in the list of forbidden passwords.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    pub(super) async fn look_up_in_list(&self, password: &str) -> Result<ListLookup> {
        let sum = sum_of(password);
        let find = move |reader: &mut database::Reader| {
            let Some(list) = password_list::in_use(reader)? else { return Ok((Id::NONE, None)) };
            Ok((list.id, password_list::part(reader, list.id, part_of(&sum, list.bits))?))
        };
        let (list, part) = self.inner.configuration.read(find).await?;
        let Some((entries, coded)) = part else { return Ok(ListLookup { list, listed: false }) };
        let look = move || coding::holds(&coded, entries, within_part(&sum));
        let listed = if entries <= SHORT_PART { look()? } else { blocking(look).await? };
        Ok(ListLookup { list, listed })
    }
}

/// Error for a password that is right but forbidden.
pub(super) fn leaked() -> Error {
    counter!("strongroom_listed_passwords_total").increment(1);
    Error::forbidden(
        "this password is known from a leak, so others may try it: sign in through the web page and choose another",
    )
    .with_code(Code::LeakedPassword)
}

impl Repository {
    /// Refuses a new password that is forbidden.
    ///
    /// # Errors
    /// `Invalid` with code `listed_password`.
    pub(super) async fn refuse_listed_new(&self, password: &str) -> Result<()> {
        if !self.is_listed(password).await? {
            return Ok(());
        }
        counter!("strongroom_listed_passwords_total").increment(1);
        Err(Error::invalid("this password is known from a leak: choose another one").with_code(Code::ListedPassword))
    }
}

/// A part in its stored form.
struct CodedPart {
    number: u64,
    entries: u64,
    coded: Vec<u8>,
}

impl CodedPart {
    fn insert(&self, tx: &mut Transaction, list: Id) -> Result<()> {
        password_list::insert_part(tx, list, self.number, self.entries, &self.coded)
    }
}

/// Reads and encodes the next parts of a file. `first`, the first sum of these parts, was read already.
fn read_parts(
    mut source: SumFile,
    mut first: Option<Sum>,
    bits: u32,
) -> Result<(SumFile, Option<Sum>, Vec<CodedPart>)> {
    let mut parts = Vec::new();
    while parts.len() < PARTS_AT_ONCE {
        let Some(part) = source.part(bits, MAX_PART_ENTRIES, &mut first)? else { break };
        let numbers: Vec<u64> = part.sums.iter().map(within_part).collect();
        parts.push(CodedPart { number: part.number, entries: numbers.len() as u64, coded: coding::encode(&numbers) });
    }
    Ok((source, first, parts))
}

fn sum_of(password: &str) -> Sum {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let mut sum: Sum = [0; 20];
    sum.copy_from_slice(digest.as_ref());
    sum
}

/// Returns the number that represents a sum within its part. It uses other bits than those that select the part.
fn within_part(sum: &Sum) -> u64 {
    number(sum, 8)
}
