//! Sends requests to several servers alternately, over persistent connections, and measures time
//! and CPU.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use reqwest::{Client, Request};
use tokio::{task::JoinSet, time::Instant};

/// A compared server: the request that it gets, its process, and its measurements so far.
pub struct Subject {
    request: Request,
    process: u32,
    client: Client,
    /// Response times in milliseconds, unsorted.
    times: Vec<f64>,
    busy: Duration,
    /// CPU time of the server's process in milliseconds.
    cpu: f64,
}

impl Subject {
    /// The server of `process`, to be measured with `request`.
    pub fn new(request: Request, process: u32) -> Result<Self> {
        // workerd closes connections that are idle while the other servers are measured.
        let client = Client::builder().timeout(Duration::from_secs(60));
        let client = client.pool_idle_timeout(Duration::from_secs(1)).build()?;
        Ok(Self { request, process, client, times: Vec::new(), busy: Duration::ZERO, cpu: 0.0 })
    }

    /// Sends `count` requests, `at_once` at a time; each must get a 200.
    pub async fn drive(&mut self, count: usize, at_once: usize) -> Result<()> {
        let cpu = cpu_milliseconds(self.process)?;
        let started = Instant::now();
        let mut callers = JoinSet::new();
        for _ in 0..at_once {
            let client = self.client.clone();
            let request = self.request.try_clone();
            callers.spawn(async move {
                let mut times = Vec::with_capacity(count / at_once);
                for _ in 0..count / at_once {
                    let Some(request) = request.as_ref().and_then(Request::try_clone) else {
                        break;
                    };
                    let started = Instant::now();
                    let reply = client.execute(request).await?;
                    ensure!(reply.status() == 200, "{} from {}", reply.status(), reply.url());
                    reply.bytes().await?;
                    times.push(started.elapsed().as_secs_f64() * 1000.0);
                }
                Ok(times)
            });
        }
        while let Some(times) = callers.join_next().await {
            self.times.extend(times??);
        }
        self.busy += started.elapsed();
        self.cpu += cpu_milliseconds(self.process)? - cpu;
        Ok(())
    }

    /// Discards the measurements so far.
    pub fn reset(&mut self) {
        self.times.clear();
        self.busy = Duration::ZERO;
        self.cpu = 0.0;
    }

    pub fn p50(&self) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 0.5)
    }

    /// Responses per second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.busy.as_secs_f64()
    }

    /// Milliseconds of CPU per response, over all threads of the server.
    pub fn cpu(&self) -> f64 {
        self.cpu / self.times.len() as f64
    }

    pub fn count(&self) -> usize {
        self.times.len()
    }
}

/// CPU time of all living threads in milliseconds; workerd's threads live as long as the process.
pub(crate) fn cpu_milliseconds(process: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // The first number in schedstat is the CPU time (Linux, sched-stats.rst).
        let stat = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += stat.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e6)
}

/// The quantile `part` (0 to 1) by the nearest-rank method; NaN if there are no values.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn a_quantile_is_a_measured_value() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.5, 0.75, 0.99].map(|part| quantile(&sorted, part)), [2.0, 3.0, 4.0]);
    }
}
