//! Statements over the counters of failed sign-ins.
//!
//! This module must not know how long a client has to wait.

use model::{Error, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND_ATTEMPTS = "SELECT failures, blocked_until, changed_at FROM sign_in_throttle WHERE subject = $1";
    COUNT_ATTEMPT = "INSERT INTO sign_in_throttle (subject, failures, blocked_until, changed_at) VALUES ($1, 1, 0, $2) \
        ON CONFLICT (subject) DO UPDATE SET failures = sign_in_throttle.failures + 1 \
        RETURNING failures, blocked_until, changed_at";
    UPDATE_ATTEMPTS = "UPDATE sign_in_throttle SET failures = $2, blocked_until = $3, changed_at = $4 \
        WHERE subject = $1";
    GIVE_BACK_ATTEMPT = "UPDATE sign_in_throttle SET failures = failures - 1, \
        blocked_until = CASE WHEN blocked_until = $2 THEN 0 ELSE blocked_until END WHERE subject = $1 AND failures > 0";
    DELETE_ATTEMPTS = "DELETE FROM sign_in_throttle WHERE subject = $1";
    DELETE_ATTEMPTS_BEHIND = "DELETE FROM sign_in_throttle WHERE SUBSTR(subject, 1, LENGTH(CAST($1 AS TEXT))) = $1";
    DELETE_OLD_ATTEMPTS = "DELETE FROM sign_in_throttle WHERE changed_at < $1";
    DELETE_SURPLUS_ATTEMPTS = "DELETE FROM sign_in_throttle WHERE changed_at < \
        (SELECT changed_at FROM sign_in_throttle ORDER BY changed_at DESC LIMIT 1 OFFSET $1)";
}

/// Failed sign-ins of one subject: an account name or a client address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// Failures that count at present, including attempts whose outcome is not known yet.
    pub failures: i64,
    /// Time before which no attempt is allowed.
    pub blocked_until: Timestamp,
    /// Time when an attempt was last let through.
    pub changed_at: Timestamp,
}

/// The counter of a subject, if it has one.
pub fn find(reader: &mut Reader, subject: &str) -> Result<Option<Attempts>> {
    reader.find(FIND_ATTEMPTS, &params![subject], attempts)
}

/// Counts one attempt at `now` and locks the subject's row until the transaction ends. Returns the counter as it was
/// before the attempt: zero failures for a new subject.
pub fn count(tx: &mut Transaction, subject: &str, now: Timestamp) -> Result<Attempts> {
    let counted = tx.query(COUNT_ATTEMPT, &params![subject, now], attempts)?;
    let counted = counted.first().ok_or_else(|| Error::corrupt("the counter of sign-in attempts was not stored"))?;
    Ok(Attempts { failures: counted.failures - 1, ..*counted })
}

/// Replaces the counter of a subject.
pub fn update(tx: &mut Transaction, subject: &str, attempts: Attempts) -> Result<u64> {
    tx.execute(UPDATE_ATTEMPTS, &params![subject, attempts.failures, attempts.blocked_until, attempts.changed_at])
}

/// Takes back one attempt that succeeded. Also ends the wait `blocked_until` that the attempt began, unless a different
/// wait is in force by now.
pub fn give_back(tx: &mut Transaction, subject: &str, blocked_until: Timestamp) -> Result<u64> {
    tx.execute(GIVE_BACK_ATTEMPT, &params![subject, blocked_until])
}

/// Deletes the counter of a subject.
pub fn remove(tx: &mut Transaction, subject: &str) -> Result<u64> {
    tx.execute(DELETE_ATTEMPTS, &params![subject])
}

/// Deletes the counters of all subjects that begin with this text.
pub fn remove_with_prefix(tx: &mut Transaction, beginning: &str) -> Result<u64> {
    tx.execute(DELETE_ATTEMPTS_BEHIND, &params![beginning])
}

/// Deletes subjects without an attempt since `before`, and the oldest ones beyond `keep`.
pub fn purge(tx: &mut Transaction, before: Timestamp, keep: usize) -> Result<u64> {
    let old = tx.execute(DELETE_OLD_ATTEMPTS, &params![before])?;
    Ok(old + tx.execute(DELETE_SURPLUS_ATTEMPTS, &params![keep as i64])?)
}

fn attempts(row: &Row) -> Result<Attempts> {
    Ok(Attempts { failures: row.get(0)?, blocked_until: row.get(1)?, changed_at: row.get(2)? })
}
