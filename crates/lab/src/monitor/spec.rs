//! The part `[[monitors]]` of a plan: one thing that is to be watched. Looks at nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Something that is watched during a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "lowercase")]
pub enum Monitor {
    /// A machine, from /proc, with the processes whose names are given.
    Machine {
        /// Names of programs.
        #[serde(default)]
        processes: Vec<String>,
        /// Agents on the machines that are watched; this machine, and those of the agents that send the load, when
        /// absent.
        #[serde(default)]
        on: Vec<String>,
    },
    /// A PostgreSQL database, through `psql`.
    Postgresql {
        /// As `psql` takes it, without a password: PGPASSWORD or ~/.pgpass says it.
        connection: String,
        /// Agents that ask instead of this process.
        #[serde(default)]
        on: Vec<String>,
    },
    /// Sizes of files and of those directly in directories.
    Files {
        /// Their paths.
        paths: Vec<PathBuf>,
        /// Agents on the machines that they are on, instead of this one.
        #[serde(default)]
        on: Vec<String>,
    },
    /// A Prometheus endpoint.
    Prometheus {
        /// Its address. The host must be one that the plan names.
        url: String,
        /// Which figures, by the beginnings of their names; all counters and gauges when absent.
        #[serde(default)]
        figures: Vec<String>,
    },
}

impl Monitor {
    /// Agents on the machines that it watches.
    pub fn on(&self) -> &[String] {
        match self {
            Self::Machine { on, .. } | Self::Postgresql { on, .. } | Self::Files { on, .. } => on,
            Self::Prometheus { .. } => &[],
        }
    }

    /// Refuses what must not stand in a plan.
    ///
    /// # Errors
    /// What that is.
    pub fn check(&self) -> Result<()> {
        let Self::Postgresql { connection, .. } = self else { return Ok(()) };
        let authority = connection.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
        let spoken = authority.split_once('@').is_some_and(|(user, _)| user.contains(':'));
        if spoken || connection.contains("password") {
            return Err(Error::new(
                "plans stand in reports, so no password belongs into a connection: give it by PGPASSWORD or ~/.pgpass",
            ));
        }
        Ok(())
    }
}
