//! Request bodies: nothing, a text, or a document that is generated while it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::corpus::Content;

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub enum RequestBody {
    /// None.
    #[default]
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A document, and the number of bytes still to be sent.
    Document(Box<Content>, u64),
}

impl RequestBody {
    /// Creates a body from a document.
    pub fn document(content: Content) -> Self {
        let length = content.length();
        Self::Document(Box::new(content), length)
    }

    /// Bytes still to be sent.
    pub fn length(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Document(_, left) => *left,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let next = match this {
            Self::Empty => None,
            Self::Bytes(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Self::Document(content, left) => content.next().inspect(|piece| *left -= piece.len() as u64),
        };
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.length() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length())
    }
}
