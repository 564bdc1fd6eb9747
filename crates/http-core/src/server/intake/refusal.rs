//! Why the server does not read the body of a request to its end.

use std::error::Error as StdError;
use std::fmt;

use model::{Code, Error};

/// Most bytes of a body that is read into memory: forms and JSON.
pub const FIELDS: usize = 2 << 20;

/// Why a body is not read to its end.
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    /// Longer than this many bytes.
    TooLarge(usize),
    /// Nothing came for a minute.
    Silent,
    /// Slower than this many bytes a second.
    TooSlow(u64),
    /// The server reads too much at the moment.
    NoRoom,
    /// The server reads too much of the same sender.
    NoShare,
}

impl Refused {
    /// Returns the error that the client is told.
    pub fn error(self) -> Error {
        match self {
            Self::TooLarge(most) => {
                let most = if most < FIELDS { format!("{} KiB", most >> 10) } else { format!("{} MiB", most >> 20) };
                let text = format!("the body is larger than {most}, the most that is taken here");
                Error::exhausted(text).with_code(Code::TooLarge)
            }
            Self::Silent => {
                Error::invalid("no byte of the body came for a minute: send it again").with_code(Code::BodyTimeout)
            }
            Self::TooSlow(rate) => {
                let text =
                    format!("the body came more slowly than {rate} bytes a second: send it again on a better line");
                Error::invalid(text).with_code(Code::BodyTimeout)
            }
            Self::NoRoom => {
                let text = "the server is reading too many forms at the moment: try again in a few seconds";
                Error::unavailable(text).with_code(Code::Busy)
            }
            Self::NoShare => {
                let text = "too many bodies of yours are being read: wait until some have arrived, then try again";
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
