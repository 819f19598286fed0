//! Longest silence of a server while other servers are left to ask.

use rcpt_shared::Stage;
use tokio::time::Instant;

/// Latest times for the first octet of a server's replies before RCPT. At RCPT a server looks the recipient up, and may
/// take the caller's whole time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub banner: Instant,
    /// For all that follows a banner.
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
