//! A client that aborts its request so that the runtime notices.

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::Account;

/// A check that was sent; its response isn't awaited.
#[derive(Debug)]
pub struct AbortingClient(TcpStream);

impl AbortingClient {
    /// Sends the check to `edge.direct`, the Worker itself: miniflare's own Worker doesn't pass on
    /// that a client has left.
    pub async fn check(direct: &str, account: &Account, address: &str) -> Result<Self> {
        Self::check_with(direct, account, address, "").await
    }

    /// Sends the check with a further header: `Name: value` and CRLF.
    pub async fn check_with(
        direct: &str,
        account: &Account,
        address: &str,
        header: &str,
    ) -> Result<Self> {
        let host = direct.strip_prefix("http://").context("a URL")?;
        let mut stream = TcpStream::connect(host).await?;
        let body = json!({ "email": address }).to_string();
        let request = format!(
            "POST /v1/validate_email HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {}\r\n\
             {header}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            account.api_key,
            body.len(),
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Ends the connection with a reset. After a FIN alone, workerd continues, since a client may shut down its own
    /// direction and still wait for the response.
    pub fn abort(self) -> Result<()> {
        Ok(self.0.set_zero_linger()?)
    }
}
