//! Owns the location of a database: a SQLite file or the address of a PostgreSQL server.

use std::fmt;
use std::path::PathBuf;

use model::{Error, Result};
use tokio_postgres::config::Host;

/// The two database engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// A file, served within this process.
    Sqlite,
    /// A server.
    Postgres,
}

impl Engine {
    /// The name for messages, metrics and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// The location of a database. Displayed without its password.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// The path of a SQLite file.
    Sqlite(PathBuf),
    /// A connection string of PostgreSQL, `postgres://user:password@host:port/database`.
    Postgres(String),
}

impl Location {
    /// Parses `postgres://...` (or `postgresql://...`) as PostgreSQL and anything else as a path.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid("no database is named; use a path or postgres://user@host/database"));
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            if text.contains("://") {
                return Err(Error::invalid(format!(
                    "databases of the kind {} are not supported; use a path or postgres://user@host/database",
                    text.split("://").next().unwrap_or_default()
                )));
            }
            return Ok(Self::Sqlite(PathBuf::from(text)));
        }
        super::postgres::parse_config(text)?;
        Ok(Self::Postgres(text.to_owned()))
    }

    /// The server of the database, as `host:port`; `None` for a file.
    pub fn server(&self) -> Option<String> {
        let Self::Postgres(text) = self else { return None };
        let config = super::postgres::parse_config(text).ok()?;
        let hosts = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        let ports = config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let servers: Vec<String> = hosts.enumerate().map(|(at, host)| format!("{host}:{}", port(at))).collect();
        Some(if servers.is_empty() { format!("localhost:{}", port(0)) } else { servers.join(",") })
    }

    /// The engine for this location.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(text) => f.write_str(&super::postgres::describe(text)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart() {
        assert_eq!(Location::parse("data/main.db").unwrap(), Location::Sqlite("data/main.db".into()));
        assert_eq!(Location::parse("postgres://a@b/c").unwrap().engine(), Engine::Postgres);
        assert!(Location::parse("").is_err());
        assert!(Location::parse("mysql://x/y").is_err());
    }

    #[test]
    fn databases_of_one_server_are_told_by_host_and_port() {
        let server = |text: &str| Location::parse(text).unwrap().server();
        assert_eq!(server("postgres://ann:secret@db.example/main").as_deref(), Some("db.example:5432"));
        assert_eq!(server("postgres://bob@db.example:5433/other").as_deref(), Some("db.example:5433"));
        assert_eq!(server("postgres://ann@%2Frun%2Fpg:5432/main").as_deref(), Some("/run/pg:5432"));
        assert_eq!(server("postgres://a,b:5433/main").as_deref(), Some("a:5432,b:5433"));
        assert_eq!(server("databases/main.sqlite"), None);
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in
            ["postgres://ann:s3cret@db.example:5433/main", "postgres://ann@db.example:5433/main?password=s3cret"]
        {
            let location = Location::parse(text).unwrap();
            for shown in [location.to_string(), format!("{location:?}")] {
                assert!(!shown.contains("s3cret"), "{shown}");
                assert_eq!(shown, "postgres://ann@db.example:5433/main");
            }
        }
        let error = Location::parse("postgres://ann:s3cret@host:notaport/db").unwrap_err();
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}
