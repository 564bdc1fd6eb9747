//! Owns one connection to a PostgreSQL server and the transaction that runs on it.
//!
//! BEGIN travels together with the first statement, statements whose result nobody needs with the next one or with the COMMIT, so
//! that a transaction costs fewer round trips; a read ends with a COMMIT that nobody waits for.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use model::{Code, Error, Result};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, Statement};

use crate::engine::at::At;
use crate::engine::errors::wrong_count;
use crate::engine::row::{Inner, Row, Scan, Visit};
use crate::{Engine, Sql, Value};

use super::classify::{self, Failure, classify, outcome_unknown};
use super::config::connect_limited;
use super::value::Bound;

/// Statements that wait to be sent together with another; bounds what waits in memory.
const MOST_LATER: usize = 16;

/// What the transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One statement, without a transaction around it.
    Single,
    /// One snapshot for all statements.
    Read,
    /// The same, however long a statement takes.
    Long,
    /// Each statement sees what was committed before it.
    Write,
}

impl Mode {
    fn begin(self) -> Option<&'static str> {
        match self {
            Self::Single => None,
            Self::Read => Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
            Self::Long => Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0"),
            // A COMMIT that is cut off while it waits for a standby would count as done.
            Self::Write => Some("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0"),
        }
    }
}

/// What is sent ahead of a statement, without waiting for the answers.
struct Ahead {
    begin: Option<&'static str>,
    later: Vec<Later>,
}

/// A statement whose result nobody needs.
struct Later {
    statement: Statement,
    params: Vec<Value<'static>>,
}

/// The answers to what was sent ahead.
struct Went {
    begun: std::result::Result<(), tokio_postgres::Error>,
    later: Vec<std::result::Result<u64, tokio_postgres::Error>>,
}

/// One connection with its prepared statements.
pub(crate) struct Connection {
    client: Client,
    runtime: Arc<Runtime>,
    config: Arc<Config>,
    /// How long a statement of a short read may take.
    statement: Duration,
    server: Arc<str>,
    statements: HashMap<&'static str, Statement>,
    mode: Mode,
    begun: bool,
    later: Vec<Later>,
    failure: Option<Failure>,
}

impl Connection {
    /// Opens a connection, in one attempt.
    pub(super) fn open(
        runtime: &Arc<Runtime>,
        config: &Arc<Config>,
        statement: Duration,
        server: &Arc<str>,
    ) -> std::result::Result<Self, tokio_postgres::Error> {
        Ok(Self {
            client: runtime.block_on(connect_limited(config, statement))?,
            runtime: Arc::clone(runtime),
            config: Arc::clone(config),
            statement,
            server: Arc::clone(server),
            statements: HashMap::new(),
            mode: Mode::Read,
            begun: false,
            later: Vec::new(),
            failure: None,
        })
    }

    /// Whether it is known that the connection was cut.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.failure == Some(Failure::Lost)
    }

    /// What went wrong with a statement since the transaction began.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Begins a transaction; the server hears of it with the first statement.
    pub(super) fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.begun = false;
        self.later.clear();
        self.failure = None;
    }

    /// Ends the transaction durably.
    pub(super) fn commit(&mut self) -> Result<()> {
        if !self.begun && self.later.is_empty() {
            return Ok(());
        }
        let ahead = self.ahead();
        self.begun = false;
        let (went, ended) = self.runtime.block_on(async {
            let ended = self.client.batch_execute("COMMIT");
            tokio::join!(biased; ahead.send(&self.client), ended)
        });
        // When the server itself refused a statement, the COMMIT behind it has undone everything.
        let refused = went.later.iter().any(|ran| ran.as_ref().is_err_and(|error| error.code().is_some()));
        if ended.is_ok() || refused {
            return self.settle(went, ended.is_ok());
        }
        ended.map_err(|error| {
            let failure = classify::failure(&error);
            self.failure = Some(failure);
            if failure == Failure::Lost {
                // Whether the server got the COMMIT and acted on it cannot be known from here.
                self.failure = Some(Failure::Final);
                return outcome_unknown(&self.server).with_source(At::new(&self.server, error));
            }
            classify(error, &self.server)
        })
    }

    /// Ends the transaction without effect and without waiting for the answer.
    pub(super) fn abandon(&mut self) {
        self.later.clear();
        if self.begun {
            self.begun = false;
            let text = match self.mode {
                Mode::Single => return self.forget_stale(),
                Mode::Read | Mode::Long => "COMMIT",
                Mode::Write => "ROLLBACK",
            };
            // The first poll hands the request to the connection's task; the server answers in order, so the next
            // statement meets an ended transaction. An answer that nobody awaits is dropped by the driver.
            let _ = pin!(self.client.batch_execute(text)).poll(&mut Context::from_waker(Waker::noop()));
        }
        self.forget_stale();
    }

    fn forget_stale(&mut self) {
        if self.failure == Some(Failure::Again) {
            self.statements.clear();
        }
    }

    pub(crate) fn prepare(&mut self, sql: Sql) -> Result<()> {
        self.statement(sql).map(drop)
    }

    pub(crate) fn execute(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        let statement = self.checked(sql, params)?;
        let ahead = self.ahead();
        let (went, changed) = self.runtime.block_on(async {
            let changed = self.client.execute_raw(&statement, params.iter().map(Bound));
            tokio::join!(biased; ahead.send(&self.client), changed)
        });
        self.settle(went, changed.is_ok())?;
        changed.map_err(|e| self.failed(e))
    }

    pub(crate) fn execute_later(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<()> {
        let statement = self.checked(sql, params)?;
        self.later.push(Later { statement, params: params.iter().map(Value::to_owned).collect() });
        if self.later.len() < MOST_LATER {
            return Ok(());
        }
        let ahead = self.ahead();
        let went = self.runtime.block_on(ahead.send(&self.client));
        self.settle(went, false)
    }

    pub(crate) fn scan(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut Visit<'_>) -> Result<()> {
        if self.begun && self.mode == Mode::Single {
            return Err(Error::corrupt("a read of one statement was given a second one").with_code(Code::InternalError));
        }
        let is_first_read = !self.begun && self.mode != Mode::Write;
        let mut seen = false;
        let outcome = self.scan_once(sql, params, &mut |row| {
            seen = true;
            visit(row)
        });
        // A read cannot be run again once it has seen anything. But a connection that was cut while it was idle, or a
        // statement that became stale, mostly shows with the first statement, and then the read can begin once more.
        if is_first_read && !seen && self.begin_again() {
            return self.scan_once(sql, params, visit);
        }
        outcome
    }

    fn begin_again(&mut self) -> bool {
        match self.failure {
            Some(Failure::Again) => self.abandon(),
            Some(Failure::Lost) => {
                let Ok(client) = self.runtime.block_on(connect_limited(&self.config, self.statement)) else {
                    return false;
                };
                self.client = client;
                self.statements.clear();
            }
            Some(Failure::Final) | None => return false,
        }
        self.begin(self.mode);
        true
    }

    fn scan_once(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut Visit<'_>) -> Result<()> {
        let statement = self.checked(sql, params)?;
        let ahead = self.ahead();
        let (went, ran, result) = self.runtime.block_on(async {
            let rows = self.client.query_raw(&statement, params.iter().map(Bound));
            let (went, rows) = tokio::join!(biased; ahead.send(&self.client), rows);
            let ran = rows.is_ok();
            let result = async {
                let mut rows = pin!(rows?);
                while let Some(row) = rows.try_next().await? {
                    if let Scan::Stop = visit(&Row(Inner::Postgres(&row))) {
                        break;
                    }
                }
                Ok(())
            };
            (went, ran, result.await)
        });
        self.settle(went, ran)?;
        result.map_err(|e| self.failed(e))
    }

    fn ahead(&mut self) -> Ahead {
        let first = !std::mem::replace(&mut self.begun, true);
        Ahead { begin: if first { self.mode.begin() } else { None }, later: std::mem::take(&mut self.later) }
    }

    /// Tells the first failure of what was sent ahead; `ran` says whether the statement behind it succeeded.
    ///
    /// A BEGIN that failed although something behind it ran means that it ran on its own. Nobody can take it back, so the caller
    /// learns that the outcome is unknown.
    fn settle(&mut self, went: Went, ran: bool) -> Result<()> {
        if let Err(error) = went.begun {
            if self.mode == Mode::Write && (ran || went.later.iter().any(std::result::Result::is_ok)) {
                self.failure = Some(Failure::Final);
                return Err(outcome_unknown(&self.server).with_source(At::new(&self.server, error)));
            }
            return Err(self.failed(error));
        }
        went.later.into_iter().try_for_each(|ran| ran.map(drop).map_err(|error| self.failed(error)))
    }

    fn checked(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<Statement> {
        let statement = self.statement(sql)?;
        if statement.params().len() != params.len() {
            return Err(wrong_count(params.len()));
        }
        Ok(statement)
    }

    fn statement(&mut self, sql: Sql) -> Result<Statement> {
        let source = sql.source(Engine::Postgres);
        if let Some(statement) = self.statements.get(source) {
            return Ok(statement.clone());
        }
        let text = sql.render(Engine::Postgres)?;
        let statement = self.runtime.block_on(self.client.prepare(&text)).map_err(|e| self.failed(e))?;
        self.statements.insert(source, statement.clone());
        Ok(statement)
    }

    fn failed(&mut self, error: tokio_postgres::Error) -> Error {
        self.failure = Some(classify::failure(&error));
        classify(error, &self.server)
    }
}

impl Ahead {
    async fn send(&self, client: &Client) -> Went {
        let begun = async {
            match self.begin {
                Some(text) => client.batch_execute(text).await,
                None => Ok(()),
            }
        };
        // Polled, and so sent, in their order.
        let later = self
            .later
            .iter()
            .map(|Later { statement, params }| client.execute_raw(statement, params.iter().map(Bound)));
        let (begun, later) = tokio::join!(biased; begun, join_all(later));
        Went { begun, later }
    }
}
