//! A copy of this program in its own process, as a mail server or an origin.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

/// A copy of this program as a mail server or an origin, so that its memory and CPU time are measured separately.
pub struct Twin {
    pub address: SocketAddr,
    process: Child,
}

impl Twin {
    /// Starts a twin; `role` is the argument that selects its behaviour.
    pub fn start(role: &str) -> Result<Self> {
        Self::start_with(role, &[])
    }

    /// Starts a twin with `arguments` after the role, and discards its log.
    pub fn start_with(role: &str, arguments: &[String]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(role)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = process.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line.trim().parse() {
            Ok(address) => Ok(Self { address, process }),
            Err(error) => bail!("{role} says {line:?}: {error}"),
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the twin: announces its address, and passes each connection to `serve` with its number.
pub fn be<F>(serve: impl Fn(TcpStream, usize) -> F) -> Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        for number in 0.. {
            tokio::spawn(serve(listener.accept().await?.0, number));
        }
        Ok(())
    })
}
