//! The JSON forms of the interface. No other layer knows them.
//!
//! Identifiers are strings, since JavaScript numbers cannot hold them. Times are RFC 3339 in UTC. Sizes are bytes.

pub mod bin;
pub mod collection;
pub mod column;
pub mod content;
pub mod event;
pub mod farm;
pub mod figures;
pub mod home;
pub mod item;
pub mod job;
pub mod library;
pub mod link;
pub mod list;
pub mod lock;
pub mod look;
pub mod people;
pub mod permission;
pub mod policy;
pub mod profile;
pub mod row;
pub mod rules;
pub mod saved_search;
pub mod store;
pub mod template;
pub mod upload;
pub mod usage;
pub mod version;
pub mod view;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use model::Id;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

/// An error response (RFC 9457).
#[derive(Serialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`.
    pub r#type: String,
    /// Text for the status.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Description of the error, its subject and the remedy.
    pub detail: String,
    /// Stable error code for scripts, such as `not_found`, `name_taken`, `precondition_failed`.
    pub code: String,
    /// Identifier of the request, which the log contains too.
    pub instance: String,
}

/// A newly created object.
#[derive(Serialize, ToSchema)]
pub struct Created {
    /// Identifier.
    pub id: String,
}

/// An identifier in a body: decimal digits in a string.
#[derive(Clone, Copy)]
pub struct IdText(pub Id);

impl PartialSchema for IdText {
    fn schema() -> RefOr<Schema> {
        rules::Identifier::schema()
    }
}

impl ToSchema for IdText {
    fn name() -> Cow<'static, str> {
        rules::Identifier::name()
    }
}

impl<'de> Deserialize<'de> for IdText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Id::from_str(&text).map(Self).map_err(|error| serde::de::Error::custom(error.message()))
    }
}

/// Accepts a JSON object and nothing else. Derived deserialisers also accept an array with the field values in order,
/// which no description allows.
pub struct StrictObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = StrictObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<StrictObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(StrictObject)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// Deserialises a field that holds an object.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    StrictObject::deserialize(deserializer).map(|StrictObject(fields)| fields)
}

/// Deserialises a field that may hold a list of objects.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    let list: Option<Vec<StrictObject<T>>> = Option::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|StrictObject(fields)| fields).collect()))
}

/// Deserialises a field of a change, in which `null` removes the value and absence leaves it unchanged.
pub fn double_option<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Header field that makes a repeated request harmless.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct Once {
    /// The client's own key for this request. A repetition with the same key within seven days creates nothing again.
    #[expect(dead_code, reason = "it describes the field; the extractor reads it")]
    #[param(rename = "Idempotency-Key", value_type = Option<rules::RequestKey>)]
    idempotency_key: Option<String>,
}
