//! The messages between the server and a child that reads texts: the server sends a document, the child its text. Both
//! sides check lengths before they take memory for them.
//!
//! | message | bytes |
//! |---|---|
//! | ready | [`READY`] |
//! | document | number of the format (1), length (4), the document |
//! | answer | kind (1), flags (1), lengths of three parts (4 each), the parts |
//!
//! Numbers are little-endian. An answer's parts are title, author and text, or the code and the message of an error.

use std::io::{self, Read, Write};

use model::Result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::failure::refused;
use crate::readers::{DocumentText, MAX_DOCUMENT_BYTES, MAX_TEXT_BYTES, ReadableFormat};

/// The first byte that a child sends, once it has given up what it does not need.
pub const READY: u8 = 0xa5;
/// Limit on the bytes of a title, of an author, and of an error.
const MAX_SHORT: usize = 8 << 10;
/// Kinds of answers.
const TEXT: u8 = 1;
const REFUSED: u8 = 2;
/// Flags of an answer: the text is cut; the child ends now, because it has become large or old.
const CUT: u8 = 1;
const LAST: u8 = 2;
/// Length of the head of an answer.
const HEAD: usize = 14;

/// A child's answer.
pub struct Answer {
    pub read: Result<DocumentText>,
    /// Set if the child ends after this answer.
    pub is_last: bool,
}

/// Sends a document to a child.
pub async fn send_document(to: &mut (impl AsyncWrite + Unpin), format: ReadableFormat, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut head = vec![format.number()];
    head.extend(length.to_le_bytes());
    to.write_all(&head).await?;
    to.write_all(bytes).await?;
    to.flush().await
}

/// Receives a document in a child; `None` if the server sends no more.
pub fn receive_document(from: &mut impl Read) -> io::Result<Option<(ReadableFormat, Vec<u8>)>> {
    let mut head = [0; 5];
    match from.read(&mut head[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut head[1..])?,
    }
    let format = ReadableFormat::from_number(head[0]).ok_or(io::ErrorKind::InvalidData)?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if u64::from(length) > MAX_DOCUMENT_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some((format, bytes)))
}

/// Sends an answer to the server.
pub fn send_answer(to: &mut impl Write, read: &Result<DocumentText>, is_last: bool) -> io::Result<()> {
    let (kind, is_cut, parts) = match read {
        Ok(text) => (TEXT, text.is_cut, [text.title.as_str(), &text.author, &text.text]),
        Err(error) => {
            let message = &error.message()[..error.message().floor_char_boundary(MAX_SHORT)];
            (REFUSED, false, [error.code().as_str(), message, ""])
        }
    };
    let mut head = vec![kind, if is_cut { CUT } else { 0 } | if is_last { LAST } else { 0 }];
    for part in parts {
        head.extend(u32::try_from(part.len()).map_err(io::Error::other)?.to_le_bytes());
    }
    to.write_all(&head)?;
    parts.into_iter().try_for_each(|part| to.write_all(part.as_bytes()))?;
    to.flush()
}

/// Receives an answer from a child. An answer against the rules is an error, like a child that ends.
pub async fn receive_answer(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Answer> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head).await?;
    let length = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
    let mut parts = Vec::with_capacity(3);
    for (length, most) in [(length(2), MAX_SHORT), (length(6), MAX_SHORT), (length(10), MAX_TEXT_BYTES)] {
        if length > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut part = vec![0; length];
        from.read_exact(&mut part).await?;
        parts.push(String::from_utf8(part).map_err(io::Error::other)?);
    }
    let [first, second, third] = <[String; 3]>::try_from(parts).map_err(|_| io::ErrorKind::InvalidData)?;
    let read = match head[0] {
        TEXT => Ok(DocumentText { title: first, author: second, text: third, is_cut: head[1] & CUT != 0 }),
        REFUSED => Err(refused(&first, &second)),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok(Answer { read, is_last: head[1] & LAST != 0 })
}

#[cfg(test)]
mod tests {
    use model::{Code, Error};

    use super::*;

    async fn answered(read: &Result<DocumentText>, is_last: bool) -> Answer {
        let mut bytes = Vec::new();
        send_answer(&mut bytes, read, is_last).unwrap();
        receive_answer(&mut bytes.as_slice()).await.unwrap()
    }

    #[tokio::test]
    async fn documents_and_answers_come_back() {
        let mut bytes = Vec::new();
        send_document(&mut bytes, ReadableFormat::Html, b"<p>").await.unwrap();
        let mut sent = bytes.as_slice();
        assert_eq!(receive_document(&mut sent).unwrap(), Some((ReadableFormat::Html, b"<p>".to_vec())));
        assert_eq!(receive_document(&mut sent).unwrap(), None);
        let text = DocumentText { title: "T".into(), author: String::new(), text: "Größe".into(), is_cut: true };
        let answer = answered(&Ok(text.clone()), true).await;
        assert!(answer.is_last);
        assert_eq!(answer.read.unwrap(), text);
        let answer = answered(&Err(Error::invalid("it is encrypted").with_code(Code::NotReadable)), false).await;
        let error = answer.read.unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::NotReadable, "it is encrypted"));
        assert!(!answer.is_last);
    }

    #[tokio::test]
    async fn what_is_against_the_rules_takes_no_memory() {
        let long = [&[TEXT, 0][..], &0_u32.to_le_bytes(), &0_u32.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
        assert!(receive_answer(&mut long.as_slice()).await.is_err());
        assert!(receive_answer(&mut &[9; HEAD][..]).await.is_err());
        assert!(receive_answer(&mut &[][..]).await.is_err());
        let long = [&[0][..], &u32::MAX.to_le_bytes()].concat();
        assert!(receive_document(&mut long.as_slice()).is_err());
        assert!(receive_document(&mut &[0xff, 0, 0, 0, 0][..]).is_err());
        assert!(receive_document(&mut &[0, 9][..]).is_err());
    }
}
