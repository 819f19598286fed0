//! D1 behind typed parameters and rows.
//!
//! Over the runtime's own objects, not the library's: those prepare each statement anew, read the metadata
//! field by field, and hide it from a single row. A call between wasm and JavaScript costs the same
//! whatever it carries, so there are as few as will do.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde::de::DeserializeOwned;
use worker::{
    D1Database,
    d1::serde_wasm_bindgen,
    js_sys::{self, Array, Promise, Reflect, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::{self as runtime, D1PreparedStatement, D1Result},
};

use super::meter::{Part, count_rows_written, timed};
use crate::error::Error;

/// One database with accounts.
#[derive(Debug)]
pub struct Database {
    database: SendWrapper<runtime::D1Database>,
    /// By place and length of their text, which is a constant.
    prepared: Mutex<HashMap<(usize, usize), SendWrapper<D1PreparedStatement>>>,
}

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

/// What the runtime has thrown: its message, which names no value.
fn thrown(error: JsValue) -> Error {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    failed(message.unwrap_or_else(|| "not an error".to_owned()))
}

impl Database {
    pub fn new(database: D1Database) -> Self {
        let database = JsValue::from(database).unchecked_into();
        Self { database: SendWrapper(database), prepared: Mutex::default() }
    }

    /// Runs one statement in one round trip and reads its first row.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails or the row does not have the shape of `T`.
    pub async fn first<T: DeserializeOwned>(
        &self,
        statement: Statement<'_>,
    ) -> Result<Option<T>, Error> {
        self.one(statement).await?.first(0)
    }

    /// Runs one statement in one round trip and says whether a row came back.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails.
    pub async fn any(&self, statement: Statement<'_>) -> Result<bool, Error> {
        self.one(statement).await?.any(0)
    }

    /// Runs one statement in one round trip, whatever it returns.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails.
    pub async fn run(&self, statement: Statement<'_>) -> Result<(), Error> {
        self.one(statement).await.map(drop)
    }

    async fn one(&self, (sql, params): Statement<'_>) -> Result<Rows, Error> {
        let running = self.prepare(sql, &params)?.run().map_err(thrown)?;
        answer(1, running, |answer| vec![answer]).await
    }

    /// Runs the statements as one transaction in one round trip.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails; then none of the statements has had an effect.
    pub async fn batch(&self, statements: &[Statement<'_>]) -> Result<Rows, Error> {
        let prepared = statements.iter().map(|(sql, params)| self.prepare(sql, params));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let running = self.database.batch(prepared.iter().collect()).map_err(thrown)?;
        answer(statements.len(), running, |answer| Array::from(&answer).to_vec()).await
    }

    fn prepare(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<D1PreparedStatement, Error> {
        let values: Array = params
            .iter()
            .map(|param| match *param {
                Param::Text(text) => JsValue::from_str(text),
                #[expect(clippy::cast_precision_loss, reason = "parameters stay below 2^53")]
                Param::Number(number) => JsValue::from_f64(number as f64),
            })
            .collect();
        // Held between two awaits only, in an isolate of one thread: never contended.
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let constant = (sql.as_ptr().addr(), sql.len());
        let statement = match prepared.get(&constant) {
            Some(statement) => statement,
            None => {
                let statement = SendWrapper(self.database.prepare(sql).map_err(thrown)?);
                prepared.entry(constant).or_insert(statement)
            }
        };
        statement.bind(values).map_err(thrown)
    }
}

/// Waits for a round trip with so many statements, and puts it on the request's meter.
async fn answer(
    statements: usize,
    running: Promise,
    results: impl FnOnce(JsValue) -> Vec<JsValue>,
) -> Result<Rows, Error> {
    let answer = timed(Part::D1(statements), JsFuture::from(running).into_send()).await;
    let results = results(answer.map_err(thrown)?).into_iter();
    let rows = Rows(results.map(|result| SendWrapper(result.unchecked_into())).collect());
    count_rows_written(|| rows.written());
    Ok(rows)
}

/// A number of a result's metadata.
fn meta(result: &D1Result, name: &str) -> Option<u32> {
    let meta = JsValue::from(result.meta().ok()?);
    let number = Reflect::get(&meta, &JsValue::from_str(name)).ok()?.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of rows; casts of floats saturate"
    )]
    Some(number as u32)
}

/// The results of a round trip, in the order of its statements.
#[derive(Debug)]
pub struct Rows(Vec<SendWrapper<D1Result>>);

impl Rows {
    fn rows(&self, index: usize) -> Result<Array, Error> {
        let result = self.0.get(index).ok_or_else(|| failed("a result is missing"))?;
        Ok(result.results().map_err(thrown)?.unwrap_or_default())
    }

    /// All rows of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when one does not have the shape of `T`.
    pub fn all<T: DeserializeOwned>(&self, index: usize) -> Result<Vec<T>, Error> {
        let rows = self.rows(index)?.into_iter();
        rows.map(serde_wasm_bindgen::from_value).collect::<Result<_, _>>().map_err(failed)
    }

    /// The first row of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the row does not have the shape of `T`.
    pub fn first<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        let first = self.rows(index)?.into_iter().next();
        first.map(serde_wasm_bindgen::from_value).transpose().map_err(failed)
    }

    /// Whether the statement at `index` returned a row.
    ///
    /// # Errors
    /// [`Error::unavailable`] when there is no such statement.
    pub fn any(&self, index: usize) -> Result<bool, Error> {
        Ok(self.rows(index)?.length() > 0)
    }

    /// How many rows the statement at `index` has changed, rows of indexes included.
    pub fn changed(&self, index: usize) -> usize {
        let changes = self.0.get(index).and_then(|result| meta(result, "changes"));
        changes.and_then(|changes| usize::try_from(changes).ok()).unwrap_or_default()
    }

    /// Rows that were written, as they are paid for: those of indexes count.
    fn written(&self) -> u32 {
        self.0.iter().filter_map(|result| meta(result, "rows_written")).sum()
    }
}
