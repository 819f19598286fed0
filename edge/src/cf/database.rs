//! D1 behind typed parameters and rows.

use serde::{Deserialize, de::DeserializeOwned};
use worker::{D1Database, D1PreparedStatement, D1Result, D1Type, send::IntoSendFuture as _};

use super::meter::{Part, timed};
use crate::error::Error;

/// The accounts database.
#[derive(Debug)]
pub struct Database(D1Database);

/// A bound parameter. D1 binds every number as a double, so integers stay below 2^53 and meet a
/// column of integer affinity before anything else.
#[derive(Debug, Clone, Copy)]
pub enum Param<'a> {
    Text(&'a str),
    Number(u64),
}

impl From<u32> for Param<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Param<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

/// One statement with its parameters.
pub type Statement<'a> = (&'static str, Vec<Param<'a>>);

/// A failed statement is a failure of ours: the cause goes to the log, the caller gets a 503.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::unavailable(format!("database: {error}"))
}

impl Database {
    pub const fn new(database: D1Database) -> Self {
        Self(database)
    }

    /// Runs one statement in one round trip and reads its first row.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails or the row does not have the shape of `T`.
    pub async fn first<T: DeserializeOwned>(
        &self,
        (sql, params): Statement<'_>,
    ) -> Result<Option<T>, Error> {
        let statement = self.prepare(sql, &params)?;
        let first = async move { statement.first(None).await }.into_send();
        timed(Part::D1(1), first).await.map_err(failed)
    }

    /// Runs one statement in one round trip and says whether a row came back.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails.
    pub async fn any(&self, statement: Statement<'_>) -> Result<bool, Error> {
        self.first::<Found>(statement).await.map(|row| row.is_some())
    }

    /// Runs one statement in one round trip, whatever it returns.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails.
    pub async fn run(&self, statement: Statement<'_>) -> Result<(), Error> {
        self.batch(&[statement]).await.map(drop)
    }

    /// Runs the statements as one transaction in one round trip.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails; then none of the statements has had an effect.
    pub async fn batch(&self, statements: &[Statement<'_>]) -> Result<Rows, Error> {
        let prepared: Vec<_> = statements
            .iter()
            .map(|(sql, params)| self.prepare(sql, params))
            .collect::<Result<_, _>>()?;
        let batch = async move { self.0.batch(prepared).await }.into_send();
        timed(Part::D1(statements.len()), batch).await.map(Rows).map_err(failed)
    }

    fn prepare(&self, sql: &str, params: &[Param<'_>]) -> Result<D1PreparedStatement, Error> {
        let values: Vec<_> = params
            .iter()
            .map(|param| match *param {
                Param::Text(text) => D1Type::Text(text),
                #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
                Param::Number(number) => D1Type::Real(number as f64),
            })
            .collect();
        self.0.prepare(sql).bind_refs(&values).map_err(failed)
    }
}

/// A row of which only its presence matters.
#[derive(Deserialize)]
struct Found {}

/// The results of a batch, in the order of its statements.
#[derive(Debug)]
pub struct Rows(Vec<D1Result>);

impl Rows {
    /// All rows of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when one does not have the shape of `T`.
    pub fn all<T: DeserializeOwned>(&self, index: usize) -> Result<Vec<T>, Error> {
        let result = self.0.get(index).ok_or_else(|| failed("a result is missing"))?;
        result.results::<T>().map_err(failed)
    }

    /// How many rows the statement at `index` has changed, rows of indexes included.
    pub fn changed(&self, index: usize) -> usize {
        let meta = self.0.get(index).and_then(|result| result.meta().ok()?);
        meta.and_then(|meta| meta.changes).unwrap_or_default()
    }

    /// The first row of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the row does not have the shape of `T`.
    pub fn first<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        Ok(self.all(index)?.into_iter().next())
    }

    /// Whether the statement at `index` returned a row.
    ///
    /// # Errors
    /// [`Error::unavailable`] when there is no such statement.
    pub fn any(&self, index: usize) -> Result<bool, Error> {
        self.first::<Found>(index).map(|row| row.is_some())
    }
}
