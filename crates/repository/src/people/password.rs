//! Judging, hashing, verifying and generating passwords.
//!
//! Must not know accounts or the database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use model::{Code, Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::blocking::blocking;

/// Minimum number of characters of a password.
pub const MIN_PASSWORD_CHARS: usize = 12;
/// Maximum number of characters of a password.
pub const MAX_PASSWORD_CHARS: usize = 1_024;

/// Minimum number of guesses that finding a password must take. The estimate assumes an attacker who knows common
/// patterns.
const FEWEST_GUESSES: u64 = 1_000_000;
/// Number of characters of a password that are judged.
const JUDGED_CHARS: usize = 64;

/// Memory of one hash in KiB, and passes over it (`PASSES`): the minimum that OWASP's cheat sheet on password storage
/// gives for one lane.
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
/// Maximum time that a check waits for its permit.
const MAX_PERMIT_WAIT: Duration = Duration::from_secs(20);
/// Maximum time that a successful sign-in waits for a permit to judge its password.
const MAX_ADVICE_PERMIT_WAIT: Duration = Duration::from_secs(1);
/// Letters and digits that are not confused with each other; 32 of them, so that each carries 5 bits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Runs argon2id, a few hashes at a time, on threads that may block.
pub(crate) struct Hasher {
    permits: Arc<Semaphore>,
}

/// Permit to run one hash.
pub(crate) struct HashPermit(OwnedSemaphorePermit);

impl HashPermit {
    /// Runs work on the blocking pool. The permit is released when the work ends, even if no caller waits for the
    /// result any more.
    async fn run<T: Send + 'static>(self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        blocking(move || {
            let _permit = self.0;
            work()
        })
        .await
    }
}

impl Hasher {
    /// Returns a hasher that runs one hash per processor at a time, and at most four.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { permits: Arc::new(Semaphore::new(processors.min(4))) }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// `Unavailable` when too many others are waiting.
    pub(crate) async fn permit(&self) -> Result<HashPermit> {
        self.permit_within(MAX_PERMIT_WAIT).await
    }

    async fn permit_within(&self, limit: Duration) -> Result<HashPermit> {
        match tokio::time::timeout(limit, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(HashPermit(permit)),
            _ => Err(Error::unavailable("too many people are signing in at the moment; try again in a minute")
                .with_code(Code::SignInBusy)),
        }
    }

    /// Returns the hash of a new password of an account, in PHC string format. `own` are texts that belong to the user.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_password` or `easy_password`.
    pub(crate) async fn hash_new(&self, password: &str, own: &[&str]) -> Result<String> {
        let (permit, password) = (self.permit().await?, password.to_owned());
        let own: Vec<String> = own.iter().map(|text| (*text).to_owned()).collect();
        permit
            .run(move || {
                let own: Vec<&str> = own.iter().map(String::as_str).collect();
                check(&password, &own)?;
                hash(&password)
            })
            .await
    }

    /// Returns whether a verified password would be refused as a new one. Returns false while all permits are taken:
    /// the sign-in that asks must not fail for the sake of this advice.
    pub(crate) async fn is_outdated(&self, password: &str, own: Vec<String>) -> bool {
        let Ok(permit) = self.permit_within(MAX_ADVICE_PERMIT_WAIT).await else { return false };
        let password = password.to_owned();
        let judged = permit.run(move || {
            let own: Vec<&str> = own.iter().map(String::as_str).collect();
            Ok(check(&password, &own).is_err())
        });
        judged.await.unwrap_or(false)
    }

    /// Returns the hash of a link's password, in PHC string format.
    pub(crate) async fn hash(&self, password: &str) -> Result<String> {
        let (permit, password) = (self.permit().await?, password.to_owned());
        permit.run(move || hash(&password)).await
    }
}

/// Returns whether `password` matches the hash `stored`. Without a stored hash, returns false after the same time.
pub(crate) async fn verify(permit: HashPermit, password: &str, stored: Option<String>) -> Result<bool> {
    let password = password.to_owned();
    permit
        .run(move || {
            let exists = stored.is_some();
            let text = match &stored {
                Some(text) => text.as_str(),
                None => dummy_hash()?,
            };
            let parsed = PasswordHash::new(text).map_err(|e| {
                Error::corrupt("a stored password hash cannot be read; set a new password").with_source(e)
            })?;
            Ok(argon2()?.verify_password(password.as_bytes(), &parsed).is_ok() && exists)
        })
        .await
}

/// Refuses passwords that are too short, too long or too easy to guess. `own` are texts that belong to the user, such
/// as the login and the name. Takes some milliseconds.
pub(crate) fn check(password: &str, own: &[&str]) -> Result<()> {
    let length = password.chars().take(MAX_PASSWORD_CHARS + 1).count();
    if !(MIN_PASSWORD_CHARS..=MAX_PASSWORD_CHARS).contains(&length) {
        return Err(Error::invalid(format!("a password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters"))
            .with_code(Code::InvalidPassword));
    }
    if is_easy(password, own) {
        return Err(Error::invalid(
            "this password is too easy to guess: it is common, or made of the login, the name or a simple pattern; \
            four words \
             that have nothing to do with each other are better",
        )
        .with_code(Code::EasyPassword));
    }
    Ok(())
}

/// Returns whether few guesses find the password. Such passwords are among the commonest or derived from one, or are
/// made of the user's own texts, keyboard rows, dates or repetitions.
fn is_easy(password: &str, own: &[&str]) -> bool {
    let folded = password.to_lowercase();
    if own.iter().any(|text| text.to_lowercase() == folded) {
        return true;
    }
    // Further characters make the password no easier, and each lengthens the estimate.
    let begin: String = password.chars().take(JUDGED_CHARS).collect();
    zxcvbn::zxcvbn(&begin, own).guesses() < FEWEST_GUESSES
}

/// Returns a random password of 100 bits, in four groups of five characters that can be read aloud.
///
/// # Errors
/// `Unavailable` when the operating system gives no random numbers.
pub fn generate_password() -> Result<String> {
    let mut random = [0u8; 20];
    super::secret::fill_random(&mut random)?;
    let mut password = String::with_capacity(23);
    for (i, byte) in random.iter().enumerate() {
        if i > 0 && i % 5 == 0 {
            password.push('-');
        }
        password.push(char::from(ALPHABET[usize::from(byte & 31)]));
    }
    Ok(password)
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).map_err(failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str) -> Result<String> {
    Ok(argon2()?.hash_password(password.as_bytes()).map_err(failed)?.to_string())
}

/// Returns the hash of a password that no account has, for logins that do not exist.
fn dummy_hash() -> Result<&'static str> {
    static NOBODY: OnceLock<String> = OnceLock::new();
    match NOBODY.get() {
        Some(text) => Ok(text),
        None => {
            let text = hash(&generate_password()?)?;
            Ok(NOBODY.get_or_init(|| text))
        }
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::unavailable("the password could not be hashed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_passwords_is_counted_in_characters() {
        let code = |text: &str, length: usize| {
            let password: String = text.chars().cycle().take(length).collect();
            check(&password, &[]).err().map_or("ok", |error| error.code().as_str())
        };
        let text = "übt öfter schräge Flötentöne quer ";
        assert_eq!((code(text, MIN_PASSWORD_CHARS), code(text, MAX_PASSWORD_CHARS)), ("ok", "ok"));
        assert_eq!(code(text, MIN_PASSWORD_CHARS - 1), "invalid_password");
        assert_eq!(code(text, MAX_PASSWORD_CHARS + 1), "invalid_password");
    }

    #[test]
    fn what_is_easy_to_guess_is_refused() {
        let own = ["anna.mueller", "Anna Müller-Lüdenscheidt"];
        for easy in [
            "password1234",
            "passwordpassword",
            "qwertyuiop123",
            "aaaaaaaaaaaaaaa",
            "123456789012",
            "anna.mueller",
            "ANNA.MUELLER1",
            "Anna Müller-Lüdenscheidt",
            "P@ssw0rd2024",
        ] {
            assert_eq!(check(easy, &own).err().map_or("ok", |error| error.code().as_str()), "easy_password", "{easy}");
        }
        for good in ["correct horse battery", "a-good-password", "the-admin-password", "Vx7 mole under tin"] {
            assert!(check(good, &own).is_ok(), "{good}");
        }
    }

    #[test]
    fn generated_passwords_fit_the_rules_and_differ() {
        let (one, two) = (generate_password().unwrap(), generate_password().unwrap());
        assert!(check(&one, &[]).is_ok());
        assert_eq!(one.len(), 23);
        assert_ne!(one, two);
    }

    #[tokio::test]
    async fn only_the_right_password_fits_and_nobody_has_one() {
        let hasher = Hasher::new();
        let stored = hasher.hash("correct horse").await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let permit = async || hasher.permit().await.unwrap();
        assert!(verify(permit().await, "correct horse", Some(stored.clone())).await.unwrap());
        assert!(!verify(permit().await, "correct hors", Some(stored)).await.unwrap());
        assert!(!verify(permit().await, "correct horse", None).await.unwrap());
        let broken = verify(permit().await, "correct horse", Some("$argon2id$".into())).await.unwrap_err();
        assert_eq!(broken.kind(), model::ErrorKind::Corrupt);
    }
}
