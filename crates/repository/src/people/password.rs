//! Owns how passwords are judged, hashed, checked and generated.
//!
//! Must not know accounts or the database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use model::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Fewest characters of a password.
pub const MIN_PASSWORD_CHARS: usize = 10;
/// Most characters of a password.
pub const MAX_PASSWORD_CHARS: usize = 1_024;

/// Memory of one hash in KiB, and passes over it: the floor that OWASP's cheat sheet on password storage names for one lane.
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
/// Longest time that a check waits for its turn.
const LONGEST_QUEUE: Duration = Duration::from_secs(20);
/// Letters and digits that are not taken for each other; 32 of them, so that each carries 5 bits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Runs argon2id, a few at once, on threads that may block.
pub(crate) struct Hasher {
    turns: Arc<Semaphore>,
}

/// The right to run one hash now.
pub(crate) struct Turn(OwnedSemaphorePermit);

impl Hasher {
    /// A hasher that uses at most as many processors as there are, and at most four.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { turns: Arc::new(Semaphore::new(processors.min(4))) }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// Unavailable, when too many others wait.
    pub(crate) async fn turn(&self) -> Result<Turn> {
        match tokio::time::timeout(LONGEST_QUEUE, self.turns.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Turn(permit)),
            _ => Err(Error::unavailable("too many people sign in at this moment; try again in a minute")
                .with_code("sign_in_busy")),
        }
    }

    /// The hash of a new password, in PHC text form.
    pub(crate) async fn hash(&self, password: &str) -> Result<String> {
        let (turn, password) = (self.turn().await?, password.to_owned());
        blocking(turn, move || hash(&password)).await
    }
}

/// Whether `password` is the one behind `stored`. Without a stored hash the answer is no, after the same time.
pub(crate) async fn verify(turn: Turn, password: &str, stored: Option<String>) -> Result<bool> {
    let password = password.to_owned();
    blocking(turn, move || {
        let exists = stored.is_some();
        let text = match &stored {
            Some(text) => text.as_str(),
            None => nobody()?,
        };
        let parsed = PasswordHash::new(text)
            .map_err(|e| Error::corrupt("a stored password hash cannot be read; set a new password").with_source(e))?;
        Ok(argon2()?.verify_password(password.as_bytes(), &parsed).is_ok() && exists)
    })
    .await
}

/// Refuses passwords that are too short or too long.
pub(crate) fn check(password: &str) -> Result<()> {
    let length = password.chars().take(MAX_PASSWORD_CHARS + 1).count();
    if (MIN_PASSWORD_CHARS..=MAX_PASSWORD_CHARS).contains(&length) {
        return Ok(());
    }
    Err(Error::invalid(format!("a password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters"))
        .with_code("invalid_password"))
}

/// A random password of 100 bits, in four groups of five characters that can be read aloud.
///
/// # Errors
/// Unavailable, when the operating system gives no random numbers.
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

/// The hash of a password that nobody has, for logins that do not exist.
fn nobody() -> Result<&'static str> {
    static NOBODY: OnceLock<String> = OnceLock::new();
    match NOBODY.get() {
        Some(text) => Ok(text),
        None => {
            let text = hash(&generate_password()?)?;
            Ok(NOBODY.get_or_init(|| text))
        }
    }
}

async fn blocking<T: Send + 'static>(turn: Turn, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    // The turn ends with the work, even when nobody waits for its outcome any more.
    let task = tokio::task::spawn_blocking(move || {
        let _turn = turn.0;
        work()
    });
    task.await.map_err(|e| Error::unavailable("the server is stopping").with_source(e))?
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::unavailable("the password could not be hashed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_passwords_is_counted_in_characters() {
        assert!(check(&"ü".repeat(MIN_PASSWORD_CHARS)).is_ok());
        assert!(check(&"ü".repeat(MAX_PASSWORD_CHARS)).is_ok());
        assert!(check(&"ü".repeat(MIN_PASSWORD_CHARS - 1)).is_err());
        assert!(check(&"ü".repeat(MAX_PASSWORD_CHARS + 1)).is_err());
    }

    #[test]
    fn generated_passwords_fit_the_rules_and_differ() {
        let (one, two) = (generate_password().unwrap(), generate_password().unwrap());
        assert!(check(&one).is_ok());
        assert_eq!(one.len(), 23);
        assert_ne!(one, two);
    }

    #[tokio::test]
    async fn only_the_right_password_fits_and_nobody_has_one() {
        let hasher = Hasher::new();
        let stored = hasher.hash("correct horse").await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let turn = async || hasher.turn().await.unwrap();
        assert!(verify(turn().await, "correct horse", Some(stored.clone())).await.unwrap());
        assert!(!verify(turn().await, "correct hors", Some(stored)).await.unwrap());
        assert!(!verify(turn().await, "correct horse", None).await.unwrap());
        let broken = verify(turn().await, "correct horse", Some("$argon2id$".into())).await.unwrap_err();
        assert_eq!(broken.kind(), model::ErrorKind::Corrupt);
    }
}
