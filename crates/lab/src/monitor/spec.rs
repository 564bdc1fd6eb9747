//! The `[[monitors]]` section of a plan: one object to be monitored. Takes no readings itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// An object that is monitored during a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "lowercase")]
pub enum Monitor {
    /// A machine, through /proc, with the processes of the given names.
    Machine {
        /// Names of the processes. Linux keeps 15 bytes of a name, so others that begin with the same bytes match too.
        #[serde(default)]
        processes: Vec<String>,
        /// Agents on the machines to monitor. By default, this machine and those of the agents that send the load.
        #[serde(default)]
        on: Vec<String>,
    },
    /// A PostgreSQL database, through `psql`.
    Postgresql {
        /// Connection string for `psql`, without a password. The password comes from PGPASSWORD or ~/.pgpass.
        connection: String,
        /// Agents that connect to the database instead of this process.
        #[serde(default)]
        on: Vec<String>,
    },
    /// Sizes of files, and of the files directly in directories.
    Files {
        /// Paths of the files and directories.
        paths: Vec<PathBuf>,
        /// Agents on the machines with the files, instead of this one.
        #[serde(default)]
        on: Vec<String>,
    },
    /// A Prometheus endpoint.
    Prometheus {
        /// URL, or a path on the target. The host must be the target or one that the plan names.
        url: String,
        /// Prefixes of the names of the wanted figures; by default, all figures.
        #[serde(default)]
        figures: Vec<String>,
    },
}

impl Monitor {
    /// Agents on the machines to monitor.
    pub fn on(&self) -> &[String] {
        match self {
            Self::Machine { on, .. } | Self::Postgresql { on, .. } | Self::Files { on, .. } => on,
            Self::Prometheus { .. } => &[],
        }
    }

    /// Validates the monitor.
    ///
    /// # Errors
    /// If a connection string contains a password: plans are printed in reports.
    pub fn check(&self) -> Result<()> {
        let Self::Postgresql { connection, .. } = self else { return Ok(()) };
        let authority = connection.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
        let spoken = authority.split_once('@').is_some_and(|(user, _)| user.contains(':'));
        if spoken || connection.contains("password") {
            return Err(Error::new(
                "reports contain the plan, so a connection must not contain a password: give it by PGPASSWORD or \
                 ~/.pgpass",
            ));
        }
        Ok(())
    }
}
