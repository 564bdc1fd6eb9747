//! A PostgreSQL database as its statistics views show it, read once a second through `psql`, so that the lab needs no
//! client library.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::series::Reading;
use crate::error::{Error, Result};

/// Timeout for one reading.
const READING_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the error message of a session that gave no first reading.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);
/// Last line of the output of one reading.
const END: &str = "lab-end";

/// Queries of one reading. Values are gauges; a name that begins with `+` is a counter and becomes a rate.
const QUERIES: &str = "\
SELECT 'size, bytes' || chr(9) || pg_database_size(current_database());\n\
SELECT unnest(ARRAY['+commits each second', '+rollbacks each second', '+deadlocks each second', \
'+temporary files, bytes each second', '+hits', '+reads']) || chr(9) || \
unnest(ARRAY[xact_commit, xact_rollback, deadlocks, temp_bytes, blks_hit, blks_read]) \
FROM pg_stat_database WHERE datname = current_database();\n\
SELECT '+WAL, bytes each second' || chr(9) || \
CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') END;\n\
SELECT 'busy sessions' || chr(9) || count(*) FROM pg_stat_activity \
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid();\n\
SELECT unnest(ARRAY['sessions that wait for locks', 'longest statement that waits for a lock, ms']) || chr(9) || \
unnest(ARRAY[count(*), coalesce(max(extract(epoch FROM clock_timestamp() - state_change) * 1000), 0)]) \
FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock';\n";

/// A `psql` session.
pub struct Postgresql {
    /// Child process, killed on drop.
    session: Child,
    asks: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    last: HashMap<String, f64>,
    looked: Instant,
    /// Timeout for one reading.
    patience: Duration,
}

/// Returns the first line of an error output, or nothing if none arrives in time.
async fn first_line(errors: ChildStderr) -> String {
    let mut lines = BufReader::new(errors).lines();
    match tokio::time::timeout(MESSAGE_TIMEOUT, lines.next_line()).await {
        Ok(Ok(line)) => line.unwrap_or_default(),
        _ => String::new(),
    }
}

impl Postgresql {
    /// Connects and takes a first reading.
    ///
    /// # Errors
    /// If `psql` is not installed or cannot connect.
    pub async fn open(connection: &str) -> Result<Self> {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d", connection]);
        psql.env("PGCONNECT_TIMEOUT", "5");
        Self::begin(psql, connection, READING_TIMEOUT).await
    }

    /// Starts a session and takes a first reading, within `patience`.
    async fn begin(mut psql: Command, connection: &str, patience: Duration) -> Result<Self> {
        let missing = |error: std::io::Error| {
            Error::new(format!(
                "psql, which monitors PostgreSQL, cannot be started ({error}): install PostgreSQL's client"
            ))
        };
        let mut session = psql
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(missing)?;
        let errors = session.stderr.take();
        let (Some(asks), Some(answers)) = (session.stdin.take(), session.stdout.take()) else {
            return Err(Error::new("psql, which monitors PostgreSQL, has no output"));
        };
        let answers = BufReader::new(answers).lines();
        let (last, looked) = (HashMap::new(), Instant::now());
        let mut new = Self { session, asks, answers, last, looked, patience };
        if new.read().await.is_none() {
            // A session that is silent, but alive, would never end its error output.
            let is_silent = new.session.try_wait().is_ok_and(|status| status.is_none());
            let said = match errors {
                Some(errors) => first_line(errors).await,
                None => String::new(),
            };
            let silent = || format!("it does not answer within {} s", patience.as_secs());
            let why = if said.is_empty() && is_silent { silent() } else { said };
            return Err(Error::new(format!("the database {connection} cannot be monitored: {why}")));
        }
        Ok(new)
    }

    /// Takes the current readings; `None` if the session has ended or does not respond in time.
    pub async fn read(&mut self) -> Option<Vec<Reading>> {
        let text = tokio::time::timeout(self.patience, self.ask()).await.ok()??;
        let seconds = self.looked.elapsed().as_secs_f64().max(0.001);
        self.looked = Instant::now();
        Some(self.figures(&text, seconds))
    }

    async fn ask(&mut self) -> Option<Vec<String>> {
        self.asks.write_all(format!("{QUERIES}\\echo {END}\n").as_bytes()).await.ok()?;
        self.asks.flush().await.ok()?;
        let mut text = Vec::new();
        loop {
            let line = self.answers.next_line().await.ok()??;
            if line == END {
                return Some(text);
            }
            text.push(line);
        }
    }

    fn figures(&mut self, lines: &[String], seconds: f64) -> Vec<Reading> {
        let (mut readings, mut blocks) = (Vec::new(), HashMap::new());
        for (name, value) in lines.iter().filter_map(|line| line.split_once('\t')) {
            let Ok(value) = value.parse::<f64>() else { continue };
            let Some(name) = name.strip_prefix('+') else {
                readings.push((format!("database: {name}"), value));
                continue;
            };
            let Some(before) = self.last.insert(name.to_owned(), value).filter(|before| *before <= value) else {
                continue;
            };
            if name == "hits" || name == "reads" {
                blocks.insert(name.to_owned(), value - before);
            } else {
                readings.push((format!("database: {name}"), (value - before) / seconds));
            }
        }
        if let (Some(hits), Some(reads)) = (blocks.get("hits"), blocks.get("reads"))
            && hits + reads > 0.0
        {
            readings.push(("database: found in its cache, %".to_owned(), hits / (hits + reads) * 100.0));
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counters_become_rates_and_hits_a_share() {
        // Any program that waits for its input will do, because no query is sent.
        let mut session = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (asks, answers) = (session.stdin.take().unwrap(), BufReader::new(session.stdout.take().unwrap()).lines());
        let (last, looked) = (HashMap::new(), Instant::now());
        let mut database = Postgresql { session, asks, answers, last, looked, patience: READING_TIMEOUT };
        let lines = |of: [u32; 4]| {
            let [size, commits, hits, reads] = of;
            [format!("size, bytes\t{size}"), format!("+commits each second\t{commits}"), "noise".to_owned()]
                .into_iter()
                .chain([format!("+hits\t{hits}"), format!("+reads\t{reads}")])
                .collect::<Vec<_>>()
        };
        assert_eq!(database.figures(&lines([5, 100, 10, 10]), 1.0), [("database: size, bytes".to_owned(), 5.0)]);
        let second = database.figures(&lines([6, 130, 100, 20]), 2.0);
        let values: Vec<f64> = second.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [6.0, 15.0, 90.0], "{second:?}");
    }

    #[tokio::test]
    async fn a_session_that_stays_silent_is_given_up() {
        let mut silent = Command::new("sleep");
        silent.arg("60");
        let begun = Postgresql::begin(silent, "dbname=x", Duration::from_millis(50));
        let begun = tokio::time::timeout(Duration::from_secs(30), begun).await.expect("it is waited for");
        let error = begun.err().expect("nothing was read").to_string();
        assert!(error.contains("does not answer"), "{error}");
    }
}
