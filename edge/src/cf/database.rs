//! D1 behind typed parameters and rows.
//!
//! Uses the runtime's own objects: the `worker` crate would prepare each statement again. A call between wasm and
//! JavaScript costs the same whatever its size, so parameters and rows are one text each.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use worker::{
    D1Database,
    js_sys::{self, Array, Promise, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types as runtime,
};

use super::{
    clock::{self, timed},
    glue,
};
use crate::{
    error::Error,
    isolate::{self, FOREVER},
    json::Tree,
    meter::{self, Meter, Part, RunLimits, count_rows_written},
};

#[derive(Debug)]
pub struct Database {
    database: SendWrapper<runtime::D1Database>,
    number: u8,
    /// True once the database has confirmed `number`; never, while it is closed.
    is_itself: AtomicBool,
    /// True while `tools/admin restore` has it in its past.
    is_closed: bool,
    /// Prepared statements by address and length of their constant text.
    prepared: isolate::Map<(usize, usize), SendWrapper<JsValue>>,
}

/// More statements than this crate has.
const PREPARED_MAX: usize = 1_000;

/// A bound parameter. D1 binds every number as a double, so integers stay below 2^53, and only a
/// column with integer affinity makes them integers.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
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

pub type Statement<'a> = (&'static str, Vec<Param<'a>>);

fn failed(cause: &str) -> Error {
    Error::unavailable(format!("database: {cause}"))
}

/// Reads the number stored in the database, which detects swapped bindings: otherwise each database would
/// serve the other's accounts.
const SELECT_NUMBER: &str = "SELECT number FROM this_database";
/// Stores the number `?1`, unless the database already has a number, or has accounts of another
/// database.
const INSERT_NUMBER: &str = "INSERT INTO this_database (number)
    SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM this_database) AND NOT EXISTS (
      SELECT 1 FROM accounts WHERE id < printf('%02x', ?1) OR id > printf('%02xg', ?1))";

#[derive(Deserialize)]
struct Numbered {
    number: u8,
}

impl Database {
    pub fn new(database: D1Database, number: u8, is_closed: bool) -> Self {
        let database = SendWrapper(JsValue::from(database).unchecked_into());
        let prepared = isolate::Map::new(PREPARED_MAX);
        Self { database, number, is_itself: AtomicBool::default(), is_closed, prepared }
    }

    /// Runs one statement in one round trip and reads its first row; fails if the row doesn't have the shape of `T`.
    pub async fn first<T: DeserializeOwned>(
        &self,
        statement: Statement<'_>,
    ) -> Result<Option<T>, Error> {
        self.batch(&[statement]).await?.first(0)
    }

    /// Runs one statement in one round trip; true if it produced a row.
    pub async fn any(&self, statement: Statement<'_>) -> Result<bool, Error> {
        self.batch(&[statement]).await?.any(0)
    }

    pub async fn run(&self, statement: Statement<'_>) -> Result<(), Error> {
        self.batch(&[statement]).await.map(drop)
    }

    /// Runs the statements as one transaction in one round trip; an isolate's first transaction with a database needs
    /// one or two more.
    ///
    /// Fails also if the database has another number than its binding. If only the response was lost or late, the
    /// transaction may have taken effect.
    pub async fn batch(&self, statements: &[Statement<'_>]) -> Result<Rows, Error> {
        if !self.is_itself.load(Relaxed) {
            self.identify().await?;
        }
        self.ask(statements).await
    }

    /// A new database is given the number of its binding.
    async fn identify(&self) -> Result<(), Error> {
        if self.is_closed {
            return Err(self.failed("closed for a restore"));
        }
        let mut row = self.ask(&[(SELECT_NUMBER, Vec::new())]).await?.first::<Numbered>(0)?;
        if row.is_none() {
            let number = vec![u32::from(self.number).into()];
            let rows = self.ask(&[(INSERT_NUMBER, number), (SELECT_NUMBER, Vec::new())]).await?;
            row = rows.first(1)?;
        }
        let own = row.map(|row| row.number);
        if own == Some(self.number) {
            self.is_itself.store(true, Relaxed);
            return Ok(());
        }
        let own = own.map_or("another number".to_owned(), |number| number.to_string());
        Err(self.failed(&format!("{} is bound in the place of {own}", self.number)))
    }

    async fn ask(&self, statements: &[Statement<'_>]) -> Result<Rows, Error> {
        let meter = meter::current();
        let run = meter.as_deref().and_then(Meter::run);
        if let Some(run) = run {
            run.take(self.number, statements.len()).map_err(|cause| self.failed(cause))?;
        }
        let answers = JsFuture::from(self.start(statements)?).into_send();
        let answers = timed(Part::D1(statements.len()), answers);
        let answers = match run {
            None => answers.await,
            Some(run) => {
                let patience = Duration::from_millis(RunLimits::PATIENCE_MS);
                clock::within(patience, answers).await.ok_or_else(|| {
                    run.hangs(self.number);
                    self.failed("no answer in time")
                })?
            }
        };
        let text = answers.map_err(|error| self.threw(error))?.as_string().unwrap_or_default();
        let rows = Tree::parse(text.as_bytes()).map(Rows);
        let rows = rows.ok_or_else(|| self.failed("not an answer"))?;
        count_rows_written(|| rows.written());
        Ok(rows)
    }

    fn failed(&self, cause: &str) -> Error {
        match self.number {
            0 => failed(&format!("DB: {cause}")),
            number => failed(&format!("DB_{number}: {cause}")),
        }
    }

    /// The exception's message contains no values.
    fn threw(&self, error: JsValue) -> Error {
        let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
        self.failed(message.as_deref().unwrap_or("not an error"))
    }

    fn start(&self, statements: &[Statement<'_>]) -> Result<Promise, Error> {
        let params: Vec<_> = statements.iter().map(|(_, params)| params).collect();
        let params = serde_json::to_string(&params).map_err(|_| self.failed("no parameters"))?;
        let prepared = statements.iter().map(|(sql, _)| self.prepared(sql));
        let prepared = prepared.collect::<Result<Array, _>>()?;
        Ok(glue::ask(&self.database, &prepared, &params))
    }

    fn prepared(&self, sql: &'static str) -> Result<JsValue, Error> {
        let constant = (sql.as_ptr().addr(), sql.len());
        if let Some(SendWrapper(statement)) = self.prepared.get(&constant, 0) {
            return Ok(statement);
        }
        let statement =
            JsValue::from(self.database.prepare(sql).map_err(|error| self.threw(error))?);
        self.prepared.insert(constant, SendWrapper(statement.clone()), FOREVER, 0);
        Ok(statement)
    }
}

/// Of each statement: its rows, its number of changes, and the rows written as billed, index rows included.
#[derive(Debug)]
pub struct Rows(Tree);

impl Rows {
    fn part(&self, index: usize, part: usize) -> Option<&Tree> {
        self.0.items().get(index)?.items().get(part)
    }

    fn rows(&self, index: usize) -> Result<&[Tree], Error> {
        Ok(self.part(index, 0).ok_or_else(|| failed("a result is missing"))?.items())
    }

    /// Fails when a row doesn't have the shape of `T`.
    pub fn all<T: DeserializeOwned>(&self, index: usize) -> Result<Vec<T>, Error> {
        self.rows(index)?.iter().map(typed).collect()
    }

    pub fn first<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        self.rows(index)?.first().map(typed).transpose()
    }

    pub fn any(&self, index: usize) -> Result<bool, Error> {
        Ok(!self.rows(index)?.is_empty())
    }

    pub fn changed(&self, index: usize) -> usize {
        let changed = self.part(index, 1).and_then(Tree::as_u64);
        changed.and_then(|changed| changed.try_into().ok()).unwrap_or_default()
    }

    fn written(&self) -> u32 {
        let all = 0..self.0.items().len();
        let written = all.filter_map(|index| self.part(index, 2)?.as_u64()?.try_into().ok());
        written.fold(0, u32::saturating_add)
    }
}

/// The misfit quotes a value, so it isn't logged.
fn typed<T: DeserializeOwned>(row: &Tree) -> Result<T, Error> {
    T::deserialize(row).map_err(|_| failed("a row of another shape"))
}
