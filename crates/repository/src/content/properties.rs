//! Dead properties: data that clients attach to items and that the server returns without interpreting it.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::property::{self, PropertyRow};
use model::{Code, Error, NodeKind, Result, Right};

use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

/// Limit on the properties of one item.
const MAX_PROPERTIES: i64 = 500;
/// Limit on the characters of all values of one item together, and of all values that one change sets.
pub const MAX_PROPERTY_CHARS: usize = 256 * 1024;
/// Limit on the length of a namespace and of a name, in bytes.
const MAX_NAME: usize = 1_024;

/// A dead property of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Namespace of the name; may be empty.
    pub namespace: String,
    /// Local name.
    pub name: String,
    /// The whole element, as XML that does not depend on its surroundings.
    pub value: String,
}

impl From<PropertyRow> for Property {
    fn from(row: PropertyRow) -> Self {
        Self { namespace: row.namespace, name: row.name, value: row.value }
    }
}

/// One step of a change of properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyChange {
    /// Set it.
    Set(Property),
    /// Remove it, by namespace and name.
    Remove(String, String),
}

impl Session {
    /// Changes properties of a folder or document, in order, all or nothing.
    ///
    /// # Errors
    /// `Exhausted` with the code `too_many_properties` beyond 500 properties or 262,144 characters on one item.
    #[boxed]
    pub async fn change_properties(&self, target: &Target, changes: Vec<PropertyChange>) -> Result<()> {
        let located = self.locate(target).await?.to(Right::Edit)?;
        let guard = self.guard([&located])?;
        if !matches!(located.node().kind, NodeKind::Document | NodeKind::Folder) {
            return Err(Error::forbidden("only documents and folders have properties").with_code(Code::WrongKind));
        }
        if changes.iter().any(is_too_long) {
            return Err(Error::invalid(format!("the name of a property has at most {MAX_NAME} bytes")));
        }
        // Checked before the transaction, so that an oversized change never reaches the database's writer.
        if changes.iter().map(chars).sum::<usize>() > MAX_PROPERTY_CHARS {
            return Err(too_many());
        }
        self.require_not_held(&located).await?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            for change in &changes {
                match change {
                    PropertyChange::Set(Property { namespace, name, value }) => {
                        let (namespace, name, value) = (namespace.clone(), name.clone(), value.clone());
                        property::put(transaction, &PropertyRow { node_id: id, namespace, name, value })?;
                    }
                    PropertyChange::Remove(namespace, name) => property::remove(transaction, id, namespace, name)?,
                }
            }
            let (count, chars) = property::totals(transaction, id)?;
            if count > MAX_PROPERTIES || usize::try_from(chars).is_ok_and(|chars| chars > MAX_PROPERTY_CHARS) {
                return Err(too_many());
            }
            guard.record(transaction, id, "item.properties", path.as_str())
        };
        guard.write(write).await
    }
}

fn too_many() -> Error {
    Error::exhausted(format!(
        "an item has at most {MAX_PROPERTIES} properties with {MAX_PROPERTY_CHARS} characters in total"
    ))
    .with_code(Code::TooManyProperties)
}

fn chars(change: &PropertyChange) -> usize {
    if let PropertyChange::Set(property) = change { property.value.chars().count() } else { 0 }
}

fn is_too_long(change: &PropertyChange) -> bool {
    let (namespace, name) = match change {
        PropertyChange::Set(property) => (&property.namespace, &property.name),
        PropertyChange::Remove(namespace, name) => (namespace, name),
    };
    namespace.len() > MAX_NAME || name.len() > MAX_NAME
}
