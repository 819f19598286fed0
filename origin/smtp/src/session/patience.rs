//! Longest silence of a server while other servers can still be tried.

use rcpt_shared::Stage;
use tokio::time::Instant;

/// Latest times for the first byte of a server's replies before RCPT. At RCPT a server looks up the
/// recipient, which may take all of the caller's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub banner: Instant,
    /// Latest time for all replies after the banner.
    pub dialogue: Instant,
}

impl Patience {
    pub(super) const fn until(self, stage: Stage) -> Instant {
        match stage {
            Stage::Banner => self.banner,
            _ => self.dialogue,
        }
    }
}
