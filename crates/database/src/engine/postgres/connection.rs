//! Owns one connection to a PostgreSQL server and the transaction that runs on it.
//!
//! Pipelining saves round trips. BEGIN travels together with the first statement. Statements whose result is not needed
//! travel with the next statement or with the COMMIT. A read ends with a COMMIT that is not awaited.

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

use crate::engine::at::ErrorLocation;
use crate::engine::errors::wrong_count;
use crate::engine::row::{Inner, Row, Scan, Visit};
use crate::{Engine, Sql, Value};

use super::classify::{self, Failure, classify, outcome_unknown};
use super::config::connect_limited;
use super::value::Bound;

/// Limit on deferred statements that wait to be sent together with another one. Bounds the memory that they take.
const MAX_DEFERRED: usize = 16;

/// Limit on executions of one statement that are sent together.
const MAX_TOGETHER: usize = 16;

/// The mode of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One statement, without a transaction around it.
    Single,
    /// One snapshot for all statements.
    Read,
    /// One snapshot for all statements, without a statement timeout.
    Long,
    /// Each statement sees everything committed before it.
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

/// Settings before and after a statement that reads along an index. A plan is made when a statement runs for the first
/// time on its connection, and again whenever the statistics of its tables change.
const WITHOUT_SORTS: &str = "SET enable_sort = off";
const WITH_SORTS: &str = "SET enable_sort = on";

/// Requests sent ahead of a statement without waiting for the results.
struct Pipelined {
    begin: Option<&'static str>,
    later: Vec<Deferred>,
}

/// A statement that the server knows.
#[derive(Clone)]
struct Prepared {
    statement: Statement,
    reads_along_index: bool,
}

/// A deferred statement, whose result is not needed.
struct Deferred {
    statement: Statement,
    params: Vec<Value<'static>>,
}

/// The results of the requests sent ahead.
struct PipelineResult {
    begun: std::result::Result<(), tokio_postgres::Error>,
    later: Vec<std::result::Result<u64, tokio_postgres::Error>>,
}

/// One connection with its prepared statements.
pub(crate) struct Connection {
    client: Client,
    runtime: Arc<Runtime>,
    config: Arc<Config>,
    /// Statement timeout for short reads.
    statement: Duration,
    server: Arc<str>,
    statements: HashMap<&'static str, Prepared>,
    mode: Mode,
    begun: bool,
    later: Vec<Deferred>,
    failure: Option<Failure>,
}

impl Connection {
    /// Opens a connection, in a single attempt.
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

    /// Returns whether the connection is known to have been cut.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.failure == Some(Failure::Lost)
    }

    /// The failure of a statement since the transaction began.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Begins a transaction. BEGIN is sent with the first statement.
    pub(super) fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.begun = false;
        self.later.clear();
        self.failure = None;
    }

    /// Commits the transaction durably.
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
        // If the server itself refused a statement, the COMMIT after it has rolled everything back.
        let refused = went.later.iter().any(|ran| ran.as_ref().is_err_and(|error| error.code().is_some()));
        if ended.is_ok() || refused {
            return self.check_pipelined(went, ended.is_ok());
        }
        ended.map_err(|error| {
            let failure = classify::failure(&error);
            self.failure = Some(failure);
            if failure == Failure::Lost {
                // It cannot be known from here whether the server received the COMMIT and executed it.
                self.failure = Some(Failure::Final);
                return outcome_unknown(&self.server).with_source(ErrorLocation::new(&self.server, error));
            }
            classify(error, &self.server)
        })
    }

    /// Ends the transaction without effect and without waiting for the response.
    pub(super) fn abandon(&mut self) {
        self.later.clear();
        if self.begun {
            self.begun = false;
            let text = match self.mode {
                Mode::Single => return self.forget_stale(),
                Mode::Read | Mode::Long => "COMMIT",
                Mode::Write => "ROLLBACK",
            };
            // The next statement runs after the transaction has ended.
            self.send_unawaited(text);
        }
        self.forget_stale();
    }

    /// Sends a request without waiting for the response. The server answers in order.
    fn send_unawaited(&self, text: &str) {
        // The first poll hands the request to the connection's task. The driver discards a response that nobody awaits.
        let _ = pin!(self.client.batch_execute(text)).poll(&mut Context::from_waker(Waker::noop()));
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
        let Prepared { statement, .. } = self.checked(sql, params)?;
        let ahead = self.ahead();
        let (went, changed) = self.runtime.block_on(async {
            let changed = self.client.execute_raw(&statement, params.iter().map(Bound));
            tokio::join!(biased; ahead.send(&self.client), changed)
        });
        self.check_pipelined(went, changed.is_ok())?;
        changed.map_err(|e| self.failed(e))
    }

    pub(crate) fn execute_later(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<()> {
        let Prepared { statement, .. } = self.checked(sql, params)?;
        self.later.push(Deferred { statement, params: params.iter().map(Value::to_owned).collect() });
        if self.later.len() < MAX_DEFERRED {
            return Ok(());
        }
        let ahead = self.ahead();
        let went = self.runtime.block_on(ahead.send(&self.client));
        self.check_pipelined(went, false)
    }

    pub(crate) fn scan(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut Visit<'_>) -> Result<()> {
        if self.begun && self.mode == Mode::Single {
            return Err(second_statement());
        }
        let is_first_read = !self.begun && self.mode != Mode::Write;
        let mut seen = false;
        let outcome = self.scan_once(sql, params, &mut |row| {
            seen = true;
            visit(row)
        });
        // A read cannot be retried once it has seen a row. But a connection that was cut while idle, or a stale
        // statement, usually shows at the first statement, and then the read can start again.
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
        let Prepared { statement, reads_along_index } = self.checked(sql, params)?;
        let ahead = self.ahead();
        let (went, ran, result) = self.runtime.block_on(async {
            let rows = self.client.query_raw(&statement, params.iter().map(Bound));
            // Where the setting is refused, the transaction has failed already, and the statement is refused, too.
            let set = self.without_sorts(reads_along_index);
            let (went, _, rows) = tokio::join!(biased; ahead.send(&self.client), set, rows);
            if reads_along_index {
                self.send_unawaited(WITH_SORTS);
            }
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
        self.check_pipelined(went, ran)?;
        result.map_err(|e| self.failed(e))
    }

    /// Runs a statement once for each set of parameters, and passes each row with the number of its set. The executions
    /// are sent together, and their results are kept in memory.
    pub(crate) fn scan_each(
        &mut self,
        sql: Sql,
        sets: &[Vec<Value<'_>>],
        visit: &mut dyn FnMut(usize, &Row<'_>),
    ) -> Result<()> {
        if self.mode == Mode::Single {
            return Err(second_statement());
        }
        for (part, sets) in sets.chunks(MAX_TOGETHER).enumerate() {
            let is_first_read = !self.begun && self.mode != Mode::Write;
            let all = match self.collect_each(sql, sets) {
                Err(_) if is_first_read && self.begin_again() => self.collect_each(sql, sets)?,
                all => all?,
            };
            for (number, rows) in all.iter().enumerate() {
                rows.iter().for_each(|row| visit(part * MAX_TOGETHER + number, &Row(Inner::Postgres(row))));
            }
        }
        Ok(())
    }

    fn collect_each(&mut self, sql: Sql, sets: &[Vec<Value<'_>>]) -> Result<Vec<Vec<tokio_postgres::Row>>> {
        for params in sets {
            self.checked(sql, params)?;
        }
        let Prepared { statement, reads_along_index } = self.statement(sql)?;
        let ahead = self.ahead();
        let (went, all) = self.runtime.block_on(async {
            let all = sets.iter().map(async |params| {
                let rows = self.client.query_raw(&statement, params.iter().map(Bound)).await?;
                rows.try_collect::<Vec<_>>().await
            });
            let set = self.without_sorts(reads_along_index);
            let (went, _, all) = tokio::join!(biased; ahead.send(&self.client), set, join_all(all));
            if reads_along_index {
                self.send_unawaited(WITH_SORTS);
            }
            (went, all)
        });
        self.check_pipelined(went, all.iter().any(std::result::Result::is_ok))?;
        let all = all.into_iter().collect::<std::result::Result<Vec<_>, _>>();
        all.map_err(|error| self.failed(error))
    }

    /// Sends the setting for a statement that reads along an index.
    async fn without_sorts(&self, reads_along_index: bool) -> std::result::Result<(), tokio_postgres::Error> {
        match reads_along_index {
            true => self.client.batch_execute(WITHOUT_SORTS).await,
            false => Ok(()),
        }
    }

    fn ahead(&mut self) -> Pipelined {
        let first = !std::mem::replace(&mut self.begun, true);
        Pipelined { begin: if first { self.mode.begin() } else { None }, later: std::mem::take(&mut self.later) }
    }

    /// Reports the first failure among the requests sent ahead. `ran` says whether the statement after them succeeded.
    ///
    /// If BEGIN failed but a later statement ran, that statement ran outside a transaction and cannot be rolled back.
    /// The caller then gets the error that the outcome is unknown.
    fn check_pipelined(&mut self, went: PipelineResult, ran: bool) -> Result<()> {
        if let Err(error) = went.begun {
            if self.mode == Mode::Write && (ran || went.later.iter().any(std::result::Result::is_ok)) {
                self.failure = Some(Failure::Final);
                return Err(outcome_unknown(&self.server).with_source(ErrorLocation::new(&self.server, error)));
            }
            return Err(self.failed(error));
        }
        went.later.into_iter().try_for_each(|ran| ran.map(drop).map_err(|error| self.failed(error)))
    }

    fn checked(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<Prepared> {
        let prepared = self.statement(sql)?;
        if prepared.statement.params().len() != params.len() {
            return Err(wrong_count(params.len()));
        }
        Ok(prepared)
    }

    fn statement(&mut self, sql: Sql) -> Result<Prepared> {
        let source = sql.source(Engine::Postgres);
        if let Some(prepared) = self.statements.get(source) {
            return Ok(prepared.clone());
        }
        let text = sql.render(Engine::Postgres)?;
        let statement = self.runtime.block_on(self.client.prepare(&text)).map_err(|e| self.failed(e))?;
        let prepared = Prepared { statement, reads_along_index: sql.reads_along_index() };
        self.statements.insert(source, prepared.clone());
        Ok(prepared)
    }

    fn failed(&mut self, error: tokio_postgres::Error) -> Error {
        self.failure = Some(classify::failure(&error));
        classify(error, &self.server)
    }
}

fn second_statement() -> Error {
    Error::corrupt("a read of a single statement was given a second one").with_code(Code::InternalError)
}

impl Pipelined {
    async fn send(&self, client: &Client) -> PipelineResult {
        let begun = async {
            match self.begin {
                Some(text) => client.batch_execute(text).await,
                None => Ok(()),
            }
        };
        // The futures are polled, and thus sent, in this order.
        let later = self
            .later
            .iter()
            .map(|Deferred { statement, params }| client.execute_raw(statement, params.iter().map(Bound)));
        let (begun, later) = tokio::join!(biased; begun, join_all(later));
        PipelineResult { begun, later }
    }
}
