//! Books in EPUB (W3C EPUB 3.3): an archive of XHTML pages in the order of their list.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use model::Result;

use crate::extract::package::Package;
use crate::extract::unreadable;
use crate::extract::xml::{Part, Piece};

use super::document_text::TextBuilder;
use super::{html, properties};

/// Limits on the pages of a book, on the bytes of an address, and on the bytes of a page.
const MAX_PAGES: usize = 20_000;
const MAX_ADDRESS: usize = 4_000;
const MAX_PAGE: u64 = 16 << 20;

/// Appends title, authors and pages of a book.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let mut package = Package::open(bytes)?;
    let list = list_of_pages(&mut package)?;
    properties::read(&mut package.required(&list)?, text);
    let pages = pages(&mut package.required(&list)?)?;
    let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names: HashSet<String> = package.names().map(Cow::into_owned).collect();
    for page in pages.iter().map(|page| resolved(folder, page)) {
        if text.is_over() {
            break;
        }
        let mut content = Vec::new();
        let is_whole = names.contains(&page)
            && package
                .bytes(&page)
                .is_ok_and(|part| part.is_some_and(|part| part.take(MAX_PAGE).read_to_end(&mut content).is_ok()));
        if !is_whole {
            text.note_cut();
        }
        html::read(&content, text);
        text.end_line();
    }
    properties::finish(&package, text)
}

/// The path of the list of pages, which the container names.
fn list_of_pages(package: &mut Package<'_>) -> Result<String> {
    let mut container = package.required("META-INF/container.xml")?;
    while let Some(piece) = container.next()? {
        if let Piece::Start(element) = piece
            && element.name() == b"rootfile"
            && let Some(path) = element.attribute("full-path")
        {
            return Ok(path.into_owned());
        }
    }
    Err(unreadable("it does not name its list of pages"))
}

/// The addresses of the pages in their order, each once.
fn pages(list: &mut Part<'_>) -> Result<Vec<String>> {
    let (mut items, mut pages) = (HashMap::new(), Vec::new());
    while let Some(piece) = list.next()? {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            b"item" if items.len() < MAX_PAGES => {
                if let (Some(id), Some(address)) = (element.attribute("id"), element.attribute("href"))
                    && id.len() + address.len() <= MAX_ADDRESS
                {
                    items.insert(id.into_owned(), address.into_owned());
                }
            }
            b"itemref" => pages.extend(element.attribute("idref").and_then(|id| items.remove(id.as_ref()))),
            _ => {}
        }
    }
    Ok(pages)
}

/// The path of a page within the archive.
fn resolved(folder: &str, address: &str) -> String {
    let address = address.split('#').next().unwrap_or_default();
    let mut path: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in address.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(path.pop()),
            name => path.push(name),
        }
    }
    unescaped(&path.join("/"))
}

/// Replaces the escapes of an address by their bytes.
fn unescaped(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
