//! Owns the required schema of a database and its migration: forward only, one transaction for each step together with
//! its record. An interrupted upgrade therefore resumes where it stopped, and two processes never apply the same step.

use model::{Code, Error, Result};

use crate::Engine;

/// The two schemas that a database can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schema {
    /// The single configuration database of a farm: users, sites and content databases.
    Configuration,
    /// A database that holds whole site collections.
    Content,
}

/// One step of a schema.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// A step that a database has already taken, read from its own table.
pub(crate) struct Applied {
    pub(crate) version: i64,
    pub(crate) schema: String,
}

/// A step that has just been taken.
pub(crate) struct Taken {
    pub(crate) step: &'static Migration,
    /// Set if the database had no earlier steps.
    pub(crate) first: bool,
}

/// Logs a step. The steps of a database that is being created are of no interest to an administrator, unlike those of
/// an upgrade.
pub(crate) fn tell(database: &str, step: &Migration, fresh: bool) {
    if fresh {
        tracing::debug!(database, version = step.version, name = step.name, "schema created");
    } else {
        tracing::info!(database, version = step.version, name = step.name, "schema upgraded");
    }
}

/// The table of steps. All versions create it with this same text, on both engines.
pub(crate) const CREATE_HISTORY: &str = "CREATE TABLE schema_history (\
     version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, schema_name TEXT NOT NULL, applied_at BIGINT NOT NULL)";

/// All steps taken, in order.
pub(crate) const LIST_HISTORY: &str = "SELECT version, schema_name FROM schema_history ORDER BY version";

/// Records one step.
pub(crate) const INSERT_HISTORY: &str =
    "INSERT INTO schema_history (version, name, schema_name, applied_at) VALUES ($1, $2, $3, $4)";

impl Schema {
    /// The name in messages and in the table of steps.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Content => "content",
        }
    }

    /// The steps known to this program, in order.
    pub(crate) fn migrations(self, engine: Engine) -> &'static [Migration] {
        match (self, engine) {
            (Self::Configuration, Engine::Sqlite) => CONFIGURATION_SQLITE,
            (Self::Configuration, Engine::Postgres) => CONFIGURATION_POSTGRES,
            (Self::Content, Engine::Sqlite) => CONTENT_SQLITE,
            (Self::Content, Engine::Postgres) => CONTENT_POSTGRES,
        }
    }
}

/// The parameters of a migration.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) schema: Schema,
    pub(crate) known: &'static [Migration],
    /// Set if a missing database is to be created.
    pub(crate) makes: bool,
}

impl Plan {
    pub(crate) fn new(schema: Schema, engine: Engine) -> Self {
        Self { schema, known: schema.migrations(engine), makes: false }
    }

    /// The next step to take, or `None` if the schema is up to date.
    pub(crate) fn next(&self, applied: &[Applied], database: &str) -> Result<Option<&'static Migration>> {
        if let Some(other) = applied.iter().find(|step| step.schema != self.schema.as_str()) {
            return Err(Error::invalid(format!(
                "{database} is a {} database, but a {} database is expected; check the configuration",
                other.schema,
                self.schema.as_str()
            ))
            .with_code(Code::SchemaOther));
        }
        let newest = self.known.last().map_or(0, |step| i64::from(step.version));
        if let Some(newer) = applied.iter().find(|step| step.version > newest) {
            return Err(Error::invalid(format!(
                "{database} has schema version {}, but this program knows only up to {newest}; it was written by a \
                 newer version of Strongroom. Start that version or restore a backup; nothing was changed",
                newer.version
            ))
            .with_code(Code::SchemaNewer));
        }
        let last = applied.last().map_or(0, |step| step.version);
        Ok(self.known.iter().find(|step| i64::from(step.version) > last))
    }
}

/// The error for a database with tables but without the table of steps.
pub(crate) fn foreign(database: &str) -> Error {
    Error::invalid(format!(
        "{database} contains tables of another program; give Strongroom a database of its own. Nothing was changed"
    ))
    .with_code(Code::SchemaForeign)
}

/// The error for an empty database where one with content is expected.
pub(crate) fn empty(database: &str) -> Error {
    Error::unavailable(format!(
        "the database {database} is empty, but one with content is expected: check whether its disk is mounted, or \
         restore it from a backup. Nothing was changed"
    ))
    .with_code(Code::DatabaseEmpty)
}

/// The error for a step that the engine refused.
pub(crate) fn failed(database: &str, step: &Migration, error: Error) -> Error {
    let (kind, code) = (error.kind(), error.code());
    Error::new(
        kind,
        format!(
            "{database}: the upgrade to schema version {} ({}) failed and was rolled back: {}",
            step.version,
            step.name,
            error.message()
        ),
    )
    .with_code(code)
    .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[Migration] =
        &[Migration { version: 1, name: "a", sql: "" }, Migration { version: 2, name: "b", sql: "" }];

    fn applied(versions: &[i64]) -> Vec<Applied> {
        versions.iter().map(|v| Applied { version: *v, schema: "content".into() }).collect()
    }

    #[test]
    fn steps_are_taken_in_order_until_the_last() {
        let plan = Plan { schema: Schema::Content, known: STEPS, makes: false };
        assert_eq!(plan.next(&[], "x").unwrap().unwrap().version, 1);
        assert_eq!(plan.next(&applied(&[1]), "x").unwrap().unwrap().version, 2);
        assert!(plan.next(&applied(&[1, 2]), "x").unwrap().is_none());
    }

    #[test]
    fn newer_and_other_schemas_are_refused() {
        let plan = Plan { schema: Schema::Content, known: STEPS, makes: false };
        assert_eq!(plan.next(&applied(&[1, 2, 3]), "x").unwrap_err().code(), "schema_newer");
        let other = Plan { schema: Schema::Configuration, known: STEPS, makes: false };
        assert_eq!(other.next(&applied(&[1]), "x").unwrap_err().code(), "schema_other");
    }

    #[test]
    fn both_engines_take_the_same_steps() {
        for schema in [Schema::Configuration, Schema::Content] {
            let [sqlite, postgres] = [Engine::Sqlite, Engine::Postgres].map(|engine| {
                schema.migrations(engine).iter().map(|step| (step.version, step.name)).collect::<Vec<_>>()
            });
            assert_eq!(sqlite, postgres);
            assert!(sqlite.iter().enumerate().all(|(i, (version, _))| *version as usize == i + 1));
        }
    }
}
