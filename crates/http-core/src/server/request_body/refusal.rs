//! Reasons for not reading a request body to its end.

use std::error::Error as StdError;
use std::fmt;

use model::{Code, Error};

/// Limit on the bytes of a body that is read into memory: forms and JSON.
pub const FIELDS: usize = 2 << 20;

/// Reason for not reading a body to its end.
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    /// Longer than this many bytes.
    TooLarge(usize),
    /// No bytes for a minute.
    Silent,
    /// Slower than this many bytes per second.
    TooSlow(u64),
    /// The memory for bodies is used up.
    NoRoom,
    /// The sender's quota is used up.
    NoShare,
}

impl Refused {
    /// Returns the error for the client.
    pub fn error(self) -> Error {
        match self {
            Self::TooLarge(most) => {
                let most = if most < FIELDS { format!("{} KiB", most >> 10) } else { format!("{} MiB", most >> 20) };
                let text = format!("the body is larger than {most}, the limit here");
                Error::exhausted(text).with_code(Code::TooLarge)
            }
            Self::Silent => {
                Error::invalid("no byte of the body arrived for a minute: send it again").with_code(Code::BodyTimeout)
            }
            Self::TooSlow(rate) => {
                let text = format!(
                    "the body arrived more slowly than {rate} bytes a second: send it again over a faster connection"
                );
                Error::invalid(text).with_code(Code::BodyTimeout)
            }
            Self::NoRoom => {
                let text = "the server is reading too many forms at the moment: try again in a few seconds";
                Error::unavailable(text).with_code(Code::Busy)
            }
            Self::NoShare => {
                let text = "too many of your requests are still arriving: wait until some have arrived, then try again";
                Error::exhausted(text).with_code(Code::TooManyRequests)
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.error().message())
    }
}

impl StdError for Refused {}
