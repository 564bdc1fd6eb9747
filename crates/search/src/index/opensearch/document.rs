//! Entries as documents of the search server.

use model::{ColumnValue, Id, Result, fold};
use serde_json::{Value, json};

use super::tokens::{self, Tokens};
use crate::index::admission::PlaceKey;
use crate::index::entry::{Audience, Entry, name_print};
use crate::index::facets::year_of;
use crate::index::kept_text::TextPacker;
use crate::language::text_languages::TextLanguages;
use crate::language::words::Words;
use crate::query::value_key;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Makes documents of entries.
pub(super) struct Documents {
    tokens: Tokens,
    texts: TextPacker,
}

impl Documents {
    /// # Errors
    /// `Unavailable` if there is no memory for it.
    pub(super) fn new() -> Result<Self> {
        Ok(Self { tokens: Tokens::default(), texts: TextPacker::new()? })
    }

    /// Returns the fields of an entry in the place with a number.
    ///
    /// # Errors
    /// `Unavailable` if there is no memory for it.
    pub(super) fn of(&mut self, entry: &Entry, key: u32) -> Result<Value> {
        let (stem, extension) = entry.stem_and_extension();
        let (mut values, mut columns, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for (column, value) in &entry.values {
            columns.push(column.get());
            keys.push(value_text(*column, value_key(value)));
            if let ColumnValue::Text(text) = value {
                values.push(self.tokens.values(*column, text));
            }
        }
        let words: Vec<String> = entry.texts().map(|text| self.tokens.words(text)).collect();
        let ends: Vec<String> =
            entry.texts().map(|text| self.tokens.ends(text)).filter(|ends| !ends.is_empty()).collect();
        let print = name_print(&entry.name);
        let id = |id: Id| (!id.is_none()).then_some(id.get());
        let library = place_key_of(entry).library;
        let mut fields = json!({
            "text": words,
            "name": self.tokens.words(&entry.name),
            "title": self.tokens.words(&entry.title),
            "stated_author": self.tokens.words(&entry.stated_author),
            "parts": tokens::parts(&fold(&entry.name)),
            "ends": ends,
            "values": values,
            "node": entry.node.get(),
            "version": entry.version.get(),
            "collection": entry.collection.get(),
            "place": entry.place.get(),
            "spot": key,
            "face": entry.audience.number(),
            "author": entry.author.get(),
            "editor": entry.editor.get(),
            "created": entry.created.micros(),
            "modified": entry.modified.micros(),
            "year": year_of(entry.modified),
            "size": i64::try_from(entry.size).unwrap_or(i64::MAX),
            "name_print": print.cast_signed(),
            "properties_print": entry.properties_print().cast_signed(),
            "name_words": Words::of(stem).count(),
            "title_words": Words::of(&entry.title).count(),
            "value_columns": columns,
            "value_keys": keys,
            "state": state(entry.version, entry.audience, entry.holder, print, library),
            "body": STANDARD.encode(self.texts.pack(&entry.text)?),
        });
        let optional = [
            ("holder", id(entry.holder).map(Value::from)),
            ("checked_out_by", id(entry.checked_out_by).map(Value::from)),
            ("library", id(library).map(Value::from)),
            ("extension", extension.map(Value::from)),
            ("language", TextLanguages::of(&entry.text).main().map(|language| language.number().into())),
            ("fault", entry.fault.as_ref().map(|fault| fault.code.as_str().into())),
            ("reason", entry.fault.as_ref().map(|fault| fault.reason.as_str().into())),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                fields[name] = value;
            }
        }
        Ok(fields)
    }
}

/// Returns the place of an entry.
pub(super) fn place_key_of(entry: &Entry) -> PlaceKey {
    let library = if entry.values.is_empty() { Id::NONE } else { entry.library };
    PlaceKey { collection: entry.collection, place: entry.place, library }
}

/// Returns the identifier of the document for an entry.
pub(super) fn identifier(node: Id, audience: Audience) -> String {
    format!("{}-{}", node.get(), audience.number())
}

/// Returns a text by which entries are known that are still valid.
pub(super) fn state(version: Id, audience: Audience, holder: Id, name_print: u64, library: Id) -> String {
    format!("{:x}-{}-{:x}-{name_print:x}-{:x}", version.get(), audience.number(), holder.get(), library.get())
}

/// Returns a column with the key of a value, ordered as the keys are.
pub(super) fn value_text(column: Id, key: u64) -> String {
    format!("{:016x}{key:016x}", column.get())
}
