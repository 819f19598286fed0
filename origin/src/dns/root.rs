//! Whether the nameservers work at all, which only questions for the root can tell: about another name, its owner may
//! be at fault. An origin whose nameservers are silent answers no probe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use hickory_resolver::{
    net::{DnsError, NetError},
    proto::{
        op::ResponseCode,
        rr::{Name, RecordType},
    },
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::Ask;

/// Time without an answer for the root after which no nameserver works.
const SILENCE: Duration = Duration::from_secs(10);
/// Interval of the questions while a nameserver answers, and while none does.
const INTERVAL: Duration = Duration::from_secs(3);
const SILENT_INTERVAL: Duration = Duration::from_secs(1);

pub struct Root {
    /// Resolvers that the probes don't use: ten thousand questions about dead domains hold up none about the root.
    nameservers: Vec<Arc<dyn Ask>>,
    timeout: Duration,
    heard: Mutex<Option<Instant>>,
    silent: AtomicBool,
}

impl Root {
    pub(super) fn new(nameservers: Vec<Arc<dyn Ask>>, timeout: Duration) -> Arc<Self> {
        let (heard, silent) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { nameservers, timeout, heard, silent })
    }

    /// True if no nameserver has answered for ten seconds, or since the start. Asks nothing.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    pub async fn answers(&self) -> bool {
        let mut questions: FuturesUnordered<_> =
            self.nameservers.iter().map(|nameserver| self.is_answered_by(&**nameserver)).collect();
        let mut is_answered = false;
        while !is_answered && let Some(answered) = questions.next().await {
            is_answered = answered;
        }
        self.record(is_answered);
        is_answered
    }

    pub async fn watch(self: Arc<Self>) {
        loop {
            let is_answered = self.answers().await;
            sleep(if is_answered { INTERVAL } else { SILENT_INTERVAL }).await;
        }
    }

    async fn is_answered_by(&self, nameserver: &dyn Ask) -> bool {
        match timeout(self.timeout, nameserver.lookup(Name::root(), RecordType::NS)).await {
            Ok(Ok(_) | Err(NetError::Dns(DnsError::NoRecordsFound(_)))) => true,
            // An authoritative server refuses a query for the root, which shows that it is running.
            Ok(Err(NetError::Dns(DnsError::ResponseCode(code)))) => code != ResponseCode::ServFail,
            _ => false,
        }
    }

    fn record(&self, is_answered: bool) {
        let now = Instant::now();
        let mut heard = self.heard.lock();
        if is_answered {
            *heard = Some(now);
        }
        let is_silent = heard.is_none_or(|at| at + SILENCE <= now);
        match (self.silent.swap(is_silent, Ordering::Relaxed), is_silent) {
            (false, true) => tracing::error!("no nameserver answers for the root"),
            (true, false) => tracing::info!("a nameserver answers again"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };
    use std::time::Duration;

    use futures_util::future::BoxFuture;
    use hickory_resolver::{
        lookup::Lookup,
        net::{DnsError, NetError},
        proto::{
            op::ResponseCode,
            rr::{Name, RecordType},
        },
    };
    use tokio::time::sleep;

    use super::{Ask, Root};

    /// Refuses, or stays silent.
    #[derive(Default)]
    struct Switch(AtomicBool);

    impl Ask for Switch {
        fn lookup(&self, name: Name, _: RecordType) -> BoxFuture<'_, Result<Lookup, NetError>> {
            assert!(name.is_root());
            Box::pin(async {
                if self.0.load(Ordering::Relaxed) {
                    return Err(NetError::Dns(DnsError::ResponseCode(ResponseCode::Refused)));
                }
                std::future::pending().await
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_nameservers_are_silent_after_ten_seconds_and_work_again_a_second_after_they_answer()
     {
        let [one, other] = [Arc::new(Switch::default()), Arc::new(Switch::default())];
        other.0.store(true, Ordering::Relaxed);
        let all: Vec<Arc<dyn Ask>> = vec![one.clone(), other.clone()];
        let root = Root::new(all, Duration::from_millis(500));
        tokio::spawn(root.clone().watch());
        sleep(Duration::from_secs(60)).await;
        assert!(!root.is_silent(), "one of them answers");
        other.0.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(7)).await;
        assert!(!root.is_silent(), "a short break is none");
        sleep(Duration::from_secs(8)).await;
        assert!(root.is_silent());
        one.0.store(true, Ordering::Relaxed);
        sleep(Duration::from_millis(1_600)).await;
        assert!(!root.is_silent());
    }

    #[tokio::test(start_paused = true)]
    async fn nameservers_that_were_never_heard_are_silent_at_once() {
        let root = Root::new(vec![Arc::new(Switch::default())], Duration::from_millis(500));
        assert!(!root.is_silent(), "nobody was asked yet");
        assert!(!root.answers().await && root.is_silent());
    }
}
