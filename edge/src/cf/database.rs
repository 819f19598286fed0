//! D1 behind typed parameters and rows.
//!
//! Over the runtime's own objects, not the library's: those prepare each statement anew, read rows and metadata
//! field by field, and hide the latter from a single row. A call between wasm and JavaScript costs the same
//! whatever it carries, so there are as few as will do: an answer crosses as one JSON text.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde::{
    Deserialize,
    de::{DeserializeOwned, value::MapDeserializer},
};
use serde_json::{Map, Value};
use worker::{
    D1Database,
    js_sys::{self, Array, JSON, Promise, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::{self as runtime, D1PreparedStatement},
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
fn failed(cause: &str) -> Error {
    Error::unavailable(format!("database: {cause}"))
}

/// What the runtime has thrown: its message, which names no value.
fn thrown(error: JsValue) -> Error {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    failed(message.as_deref().unwrap_or("not an error"))
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
        answer(1, running).await
    }

    /// Runs the statements as one transaction in one round trip.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails; then none of the statements has had an effect.
    pub async fn batch(&self, statements: &[Statement<'_>]) -> Result<Rows, Error> {
        let prepared = statements.iter().map(|(sql, params)| self.prepare(sql, params));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let running = self.database.batch(prepared.iter().collect()).map_err(thrown)?;
        answer(statements.len(), running).await
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
async fn answer(statements: usize, running: Promise) -> Result<Rows, Error> {
    let answer = timed(Part::D1(statements), JsFuture::from(running).into_send()).await;
    let rows = Rows::read(&answer.map_err(thrown)?)?;
    count_rows_written(|| rows.written());
    Ok(rows)
}

/// What D1 says of one statement.
#[derive(Debug, Deserialize)]
struct Answer {
    results: Option<Vec<Row>>,
    meta: Meta,
}

type Row = Map<String, Value>;

/// Numbers of rows, those of indexes included.
#[derive(Debug, Deserialize)]
struct Meta {
    changes: Option<usize>,
    rows_written: Option<u32>,
}

/// The results of a round trip, in the order of its statements.
#[derive(Debug)]
pub struct Rows(Vec<Answer>);

impl Rows {
    /// `answer` is that of one statement, or a list of those of a batch.
    fn read(answer: &JsValue) -> Result<Self, Error> {
        let list;
        let answers = if Array::is_array(answer) {
            answer
        } else {
            list = Array::of1(answer).into();
            &list
        };
        let text = String::from(JSON::stringify(answers).map_err(thrown)?);
        serde_json::from_slice(text.as_bytes()).map(Self).map_err(|_| failed("not an answer"))
    }

    fn rows(&self, index: usize) -> Result<&[Row], Error> {
        let answer = self.0.get(index).ok_or_else(|| failed("a result is missing"))?;
        Ok(answer.results.as_deref().unwrap_or_default())
    }

    /// All rows of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when one does not have the shape of `T`.
    pub fn all<T: DeserializeOwned>(&self, index: usize) -> Result<Vec<T>, Error> {
        self.rows(index)?.iter().map(typed).collect()
    }

    /// The first row of the statement at `index`.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the row does not have the shape of `T`.
    pub fn first<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        self.rows(index)?.first().map(typed).transpose()
    }

    /// Whether the statement at `index` returned a row.
    ///
    /// # Errors
    /// [`Error::unavailable`] when there is no such statement.
    pub fn any(&self, index: usize) -> Result<bool, Error> {
        Ok(!self.rows(index)?.is_empty())
    }

    /// How many rows the statement at `index` has changed, rows of indexes included.
    pub fn changed(&self, index: usize) -> usize {
        self.0.get(index).and_then(|answer| answer.meta.changes).unwrap_or_default()
    }

    /// Rows that were written, as they are paid for: those of indexes count.
    fn written(&self) -> u32 {
        self.0.iter().filter_map(|answer| answer.meta.rows_written).sum()
    }
}

/// By name and never by position: read from the text, each type would bring the code for both. The error of the
/// parser names a value, which is not for the log.
fn typed<T: DeserializeOwned>(row: &Row) -> Result<T, Error> {
    let columns = row.iter().map(|(name, value)| (name.as_str(), value));
    T::deserialize(MapDeserializer::<_, serde_json::Error>::new(columns))
        .map_err(|_| failed("a row of another shape"))
}
