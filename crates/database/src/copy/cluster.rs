//! Requirements for copying a whole PostgreSQL server, checked before the copy begins.

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use tokio::process::Command;

use crate::{Database, Reader, dialect};

use super::OpenSnapshot;
use super::programs::find;

/// Number of table spaces that every server has.
const OWN_TABLE_SPACES: i64 = 2;

/// The server's relevant settings and capabilities.
struct Server {
    may_replicate: bool,
    senders: i64,
    table_spaces: i64,
    version: i64,
    user: String,
    log: String,
    slots: i64,
}

/// A replication slot that makes the server keep its WAL. A long copy needs all WAL up to its end, and checkpoints
/// would otherwise remove it.
pub struct ReplicationSlot(OpenSnapshot);

impl ReplicationSlot {
    /// Drops the slot, so that the server may remove the WAL again.
    #[boxed]
    pub async fn release(self) -> Result<()> {
        self.0.read(|reader| reader.find(dialect::RELEASE_LOG, &[], |_| Ok(()))).await.map(drop)
    }
}

impl Database {
    /// Refuses early, instead of failing late, if `pg_basebackup` with this database's user cannot copy the whole
    /// server.
    ///
    /// # Errors
    /// `Invalid` with the reason and the remedy, with code `no_base_backup`; `Unavailable` with code `program_missing`,
    /// or if the server or the program does not answer.
    #[boxed]
    pub async fn require_base_backup(&self) -> Result<()> {
        let program = find("pg_basebackup")?;
        let ask = |reader: &mut Reader<'_>| {
            reader.find(dialect::BASE_BACKUP, &[], |row| {
                Ok(Server {
                    may_replicate: row.get::<i64>(0)? == 1,
                    senders: row.get(1)?,
                    table_spaces: row.get(2)?,
                    version: row.get(3)?,
                    user: row.get(4)?,
                    log: row.get(5)?,
                    slots: row.get(6)?,
                })
            })
        };
        let server = self
            .read(ask)
            .await?
            .ok_or_else(|| Error::unavailable("the database server returned no information about its settings"))?;
        let said = Command::new(program).arg("--version").output().await;
        let said =
            said.map_err(|e| Error::unavailable(format!("pg_basebackup cannot be started: {e}")).with_source(e))?;
        server.judge(major(&String::from_utf8_lossy(&said.stdout)))
    }

    /// Makes the server keep its WAL from now on.
    #[boxed]
    pub async fn keep_log(&self) -> Result<ReplicationSlot> {
        let held = self.hold().await?;
        held.read(|reader| reader.find(dialect::KEEP_LOG, &[], |_| Ok(()))).await?;
        Ok(ReplicationSlot(held))
    }
}

/// Parses the major version: `pg_basebackup (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` gives 15.
fn major(said: &str) -> Option<i64> {
    let number = said.split_whitespace().nth(2)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl Server {
    fn judge(&self, program: Option<i64>) -> Result<()> {
        let refuse = |why: String| {
            let rest = "use --postgres dump, which does not need this";
            Err(Error::invalid(format!("the database server cannot be copied as a whole: {why}; or {rest}"))
                .with_code(Code::NoBaseBackup))
        };
        let version = self.version / 10_000;
        if program.is_some_and(|program| program < version) {
            return refuse(format!(
                "it is PostgreSQL {version}, and pg_basebackup is older: install the package \
                postgresql-client-{version}"
            ));
        }
        if !self.may_replicate {
            return refuse(format!(
                "the user \"{0}\" is not allowed to replicate: have an administrator of the server run ALTER ROLE \
                 \"{0}\" REPLICATION, and allow replication for it in pg_hba.conf",
                self.user
            ));
        }
        if self.senders == 0 {
            return refuse("its setting max_wal_senders is 0: set it to 2 or more and restart the server".to_owned());
        }
        if self.slots == 0 {
            return refuse(
                "its setting max_replication_slots is 0: set it to 1 or more and restart the server".to_owned(),
            );
        }
        if self.log == "minimal" {
            return refuse("its setting wal_level is minimal: set it to replica and restart the server".to_owned());
        }
        if self.table_spaces > OWN_TABLE_SPACES {
            return refuse("it has tablespaces outside its data directory".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server {
            may_replicate: true,
            senders: 10,
            table_spaces: 2,
            version: 150_018,
            user: "ann".to_owned(),
            log: "replica".to_owned(),
            slots: 10,
        }
    }

    #[test]
    fn the_program_says_its_version() {
        assert_eq!(major("pg_basebackup (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major("pg_basebackup (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major(""), None);
    }

    #[test]
    fn what_cannot_be_copied_is_refused_with_the_remedy() {
        assert!(server().judge(Some(15)).is_ok());
        assert!(server().judge(Some(17)).is_ok());
        for (wrong, why) in [
            (Server { may_replicate: false, ..server() }, "ALTER ROLE \"ann\" REPLICATION"),
            (Server { senders: 0, ..server() }, "max_wal_senders"),
            (Server { slots: 0, ..server() }, "max_replication_slots"),
            (Server { log: "minimal".to_owned(), ..server() }, "wal_level"),
            (Server { table_spaces: 3, ..server() }, "tablespaces"),
            (Server { version: 180_001, ..server() }, "postgresql-client-18"),
        ] {
            let refused = wrong.judge(Some(15)).unwrap_err();
            assert!(refused.message().contains(why), "{refused}");
            assert_eq!(refused.code(), "no_base_backup");
        }
    }
}
