//! Moves what was made under an older secret to the current one, some at a time, so that the older secret
//! can be removed without losing anything.

use crate::{
    account::AccountAddress,
    app::App,
    credentials::{address_hash, random, totp::TotpSecret},
    error::Error,
    store::rotation,
};

/// Hashes the addresses and seals the authenticators' secrets anew that are not under the current secret.
///
/// # Errors
/// [`Error::unavailable`] when the database fails; the next run goes on.
pub async fn run(app: &App) -> Result<(), Error> {
    let config = &app.config;
    let kid = config.address_secrets.signing().0;
    for account in rotation::addresses_not_under(&app.database, kid).await? {
        // A stored address that does not parse would be met again and again; its hash stays as it is.
        let hash = match AccountAddress::parse(&account.email) {
            Ok(address) => address_hash::of_account(&config.address_secrets, &address).current,
            Err(_) => account.address_hash,
        };
        rotation::move_address(&app.database, account.id, &hash, kid).await?;
    }
    let kid = config.totp_secrets.signing().0;
    for account in rotation::totp_secrets_not_under(&app.database, kid).await? {
        let secret = TotpSecret::open(&config.totp_secrets, account.id, &account.totp_secret);
        // Sealed under a secret that is gone: nothing can be done here.
        let Ok(secret) = secret else { continue };
        let sealed = secret
            .seal(&config.totp_secrets, account.id, random::bytes()?)
            .map_err(|_| Error::internal("a TOTP secret cannot be sealed"))?;
        rotation::replace_totp_secret(&app.database, account.id, &account.totp_secret, &sealed)
            .await?;
    }
    Ok(())
}
