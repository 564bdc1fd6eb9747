//! Owns the view that a closure has of a running transaction: [`Reader`] and [`Transaction`].
//!
//! One rule makes the two engines behave alike: once a statement has failed, the transaction is doomed. Every later
//! statement fails, and the transaction is rolled back even if the closure returns `Ok`.

use std::ops::{Deref, DerefMut};

use model::{Code, Error, ErrorKind, Id, Result};

use super::row::{Row, Scan};
use super::{postgres, sqlite};
use crate::statement::Inserts;
use crate::{Sql, Value, dialect};

pub(crate) enum Session<'c> {
    Sqlite(&'c mut sqlite::Connection),
    Postgres(&'c mut postgres::Connection),
}

/// Read access to one consistent snapshot. In a write transaction the snapshot includes its own changes.
pub struct Reader<'c> {
    session: Session<'c>,
    doom: Option<FirstFailure>,
}

/// The failure of a statement, kept for repetition to later statements.
struct FirstFailure {
    kind: ErrorKind,
    code: Code,
    message: String,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(session: Session<'c>) -> Self {
        Self { session, doom: None }
    }

    /// Returns all rows, each converted by `f`. For results that may be large, use [`Reader::for_each`].
    pub fn query<T>(
        &mut self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.scan(sql, params, &mut |row| {
            rows.push(f(row)?);
            Ok(Scan::Next)
        })?;
        Ok(rows)
    }

    /// Runs a statement once for each set of parameters, and returns the rows of each, converted by `f`. For results
    /// that are small. On PostgreSQL the executions travel together; a read of a single statement cannot do this.
    pub fn query_each<T>(
        &mut self,
        sql: Sql,
        sets: &[Vec<Value<'_>>],
        mut f: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<Vec<T>>> {
        if let Session::Sqlite(_) = self.session {
            return sets.iter().map(|params| self.query(sql, params, &mut f)).collect();
        }
        sets.iter().try_for_each(|params| check(params))?;
        let mut all: Vec<Result<Vec<T>>> = sets.iter().map(|_| Ok(Vec::new())).collect();
        let mut visit = |number: usize, row: &Row<'_>| {
            let Some(Ok(rows)) = all.get_mut(number) else { return };
            match f(row) {
                Ok(value) => rows.push(value),
                Err(error) => all[number] = Err(error),
            }
        };
        self.guarded(|session| match session {
            Session::Sqlite(_) => Ok(()),
            Session::Postgres(connection) => connection.scan_each(sql, sets, &mut visit),
        })?;
        all.into_iter().collect()
    }

    /// Returns the first row converted by `f`, if there is one.
    pub fn find<T>(
        &mut self,
        sql: Sql,
        params: &[Value<'_>],
        f: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut f = Some(f);
        let mut found = None;
        self.scan(sql, params, &mut |row| {
            if let Some(f) = f.take() {
                found = Some(f(row)?);
            }
            Ok(Scan::Stop)
        })?;
        Ok(found)
    }

    /// Passes each row to `f` while the result is still being read, so that a result of any size fits into memory.
    pub fn for_each(
        &mut self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.scan(sql, params, &mut |row| f(row).map(|()| Scan::Next))
    }

    /// Prepares a statement without running it, to detect mistakes in its text.
    pub fn prepare(&mut self, sql: Sql) -> Result<()> {
        self.guarded(|session| match session {
            Session::Sqlite(connection) => connection.prepare(sql),
            Session::Postgres(connection) => connection.prepare(sql),
        })
    }

    fn scan(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut dyn FnMut(&Row<'_>) -> Result<Scan>) -> Result<()> {
        check(params)?;
        // An error of the visitor belongs to the caller and does not doom the transaction.
        let mut stopped = Ok(());
        let mut visit = |row: &Row<'_>| match visit(row) {
            Ok(scan) => scan,
            Err(error) => {
                stopped = Err(error);
                Scan::Stop
            }
        };
        self.guarded(|session| match session {
            Session::Sqlite(connection) => connection.scan(sql, params, &mut visit),
            Session::Postgres(connection) => connection.scan(sql, params, &mut visit),
        })?;
        stopped
    }

    fn guarded<T>(&mut self, run: impl FnOnce(&mut Session<'c>) -> Result<T>) -> Result<T> {
        if let Some(doom) = &self.doom {
            return Err(doom.again());
        }
        run(&mut self.session).inspect_err(|error| self.doom = Some(FirstFailure::of(error)))
    }

    /// Returns the closure's result, or the failure of an earlier statement in place of an `Ok`.
    pub(crate) fn verdict<T>(&self, answer: Result<T>) -> Result<T> {
        match (&self.doom, answer) {
            (Some(doom), Ok(_)) => Err(doom.again()),
            (_, answer) => answer,
        }
    }
}

impl FirstFailure {
    fn of(error: &Error) -> Self {
        Self { kind: error.kind(), code: error.code(), message: error.message().to_owned() }
    }

    fn again(&self) -> Error {
        Error::new(self.kind, self.message.clone()).with_code(self.code)
    }
}

fn check(params: &[Value<'_>]) -> Result<()> {
    params.iter().try_for_each(Value::check)
}

/// A running write transaction. It can read like a [`Reader`].
pub struct Transaction<'c>(Reader<'c>);

impl<'c> Transaction<'c> {
    pub(crate) fn new(session: Session<'c>) -> Self {
        Self(Reader::new(session))
    }

    /// Runs a statement and returns how many rows it changed.
    ///
    /// # Errors
    /// `Conflict` with code `unique_violation` or `foreign_key_violation`; `Invalid` with code `check_violation` or
    /// `not_null_violation`; `Exhausted` if the disk is full. Each of them dooms the transaction.
    pub fn execute(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        check(params)?;
        self.0.guarded(|session| match session {
            Session::Sqlite(connection) => connection.execute(sql, params),
            Session::Postgres(connection) => connection.execute(sql, params),
        })
    }

    /// Runs a statement whose row count is not needed. On PostgreSQL the statement travels together with the next one
    /// or with the commit, and its error returns with that. Every later statement sees its effect, and its failure
    /// rolls the transaction back. But the failure may surface only after the closure has ended.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`], including those of earlier statements run this way.
    pub fn execute_deferred(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<()> {
        check(params)?;
        self.0.guarded(|session| match session {
            Session::Sqlite(connection) => connection.execute(sql, params).map(drop),
            Session::Postgres(connection) => connection.execute_later(sql, params),
        })
    }

    /// Inserts all rows, as [`Transaction::execute_deferred`] does, with few statements.
    ///
    /// # Errors
    /// Those of [`Transaction::execute_deferred`].
    pub(crate) fn insert_all(&mut self, inserts: &Inserts, rows: &[Vec<Value<'_>>]) -> Result<()> {
        for group in rows.chunks(inserts.group) {
            if group.len() == inserts.group {
                self.execute_deferred(inserts.many, &group.concat())?;
            } else {
                group.iter().try_for_each(|row| self.execute_deferred(inserts.one, row))?;
            }
        }
        Ok(())
    }

    /// Takes the lock on `place` in shared mode, until the end of the transaction. Must be called before anything is
    /// read that [`Transaction::lock_exclusive`] is to protect. Taking the lock again has no effect, but a transaction
    /// that holds it in shared mode must not ask for it exclusively. Does nothing with SQLite, which has one writer at
    /// a time.
    pub fn lock_shared(&mut self, place: Id) -> Result<()> {
        self.enter_by(dialect::LOCK_SHARED, place)
    }

    /// Takes the lock on `place` exclusively, until the end of the transaction. All previous holders have ended by
    /// then, and their changes are visible to later statements. Other transactions wait. Does nothing with SQLite,
    /// which has one writer at a time.
    pub fn lock_exclusive(&mut self, place: Id) -> Result<()> {
        self.enter_by(dialect::LOCK_EXCLUSIVE, place)
    }

    fn enter_by(&mut self, sql: Sql, place: Id) -> Result<()> {
        match self.0.session {
            Session::Sqlite(_) => Ok(()),
            Session::Postgres(_) => self.execute_deferred(sql, &[Value::Integer(place.get())]),
        }
    }

    pub(crate) fn verdict<T>(&self, answer: Result<T>) -> Result<T> {
        self.0.verdict(answer)
    }
}

impl<'c> Deref for Transaction<'c> {
    type Target = Reader<'c>;

    fn deref(&self) -> &Reader<'c> {
        &self.0
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
