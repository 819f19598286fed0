//! The whole life of an account in one test, in the order of a person's steps.

use rcpt_tests::{Account, Stack, people::PASSWORD};
use serde_json::{Value, json};

#[tokio::test]
async fn from_registration_to_deletion_every_step_works() {
    let stack = Stack::builder().throttled().start().await;
    let (anonymous, mailbox) = (stack.edge.anonymous(), stack.edge.mailbox());
    let email = stack.edge.new_email();
    let nothing = Value::String(String::new());

    let reply = anonymous.register(&email, PASSWORD).await;
    let expected = json!({
        "email": email, "verification_required": true,
        "message": "Check your email: open the link in it within 24 hours to confirm your address.",
    });
    assert_eq!(reply.parts(), (201, &expected));
    let mail = mailbox.wait_for_nth_mail(&email, 1).await.unwrap();
    let reply = anonymous.verify_email(mail.token().unwrap()).await;
    let account = Account::from_credentials(&anonymous, PASSWORD, &reply);
    assert_eq!(account.check("accepts@sandbox.test").await.body["status"], true);

    let reply = anonymous.login(&email, PASSWORD).await;
    let account = Account::from_credentials(&anonymous, PASSWORD, &reply);
    let (authenticator, recovery_codes) = account.enable_two_factor().await;
    assert_eq!(anonymous.login(&email, PASSWORD).await.text("code"), "totp_required");
    let code = stack.edge.fresh_code(&account, &authenticator).await;
    let reply = anonymous.login_with_code(&email, PASSWORD, &code).await;
    let account = Account::from_credentials(&anonymous, PASSWORD, &reply);

    let code = stack.edge.fresh_code(&account, &authenticator).await;
    let reply = account.rotate_with(&code).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let new_key = reply.text("api_key");
    assert_eq!(account.check("accepts@sandbox.test").await.status, 401, "the old key");
    assert_eq!(anonymous.check_with_key(new_key, "accepts@sandbox.test").await.status, 200);

    assert_eq!(anonymous.forgot_password(&email).await.status, 200);
    let mail = mailbox.wait_for_titled(&email, "Set a new password", 1).await.unwrap();
    let code = stack.edge.fresh_code(&account, &authenticator).await;
    let password = "copper-meadow-58-lattice";
    let body = json!({ "token": mail.token().unwrap(), "password": password, "totp_code": code });
    let reply = anonymous.post("/auth/reset-password", &body).await;
    assert_eq!(account.get("/me").await.status, 401, "a session from before");
    let account = Account::from_credentials(&anonymous, password, &reply);

    let reply = account.post("/auth/sign-out-everywhere", &json!({})).await;
    assert_eq!(reply.parts(), (204, &nothing));
    assert_eq!(account.get("/me").await.status, 401);
    let reply = anonymous.login_with_code(&email, password, &recovery_codes[0]).await;
    let account = Account::from_credentials(&anonymous, password, &reply);
    assert_eq!(account.get("/me").await.body["recovery_codes_left"], 9);

    let body = json!({ "password": password, "totp_code": recovery_codes[1] });
    account.delete("/me", &body).await.assert_error(409, "password_too_young", "a new password");
    stack.edge.pass(&stack.edge.id(&email).await, 3 * 24 * 60 * 60).await;
    assert_eq!(account.delete("/me", &body).await.parts(), (204, &nothing));
    assert_eq!(account.check("accepts@sandbox.test").await.status, 401);
    assert_eq!(anonymous.login(&email, password).await.status, 401);

    // The second recovery code within the hour is announced with the next email of its kind, if there is one.
    mailbox.wait_for_nth_mail(&email, 7).await.unwrap();
    let mails = mailbox.mails_to(&email).into_iter();
    // Emails may overtake each other.
    let mut subjects: Vec<_> = mails.map(|mail| mail.subject).collect();
    subjects.sort();
    let mut expected = [
        "Confirm your email address",
        "Two-factor authentication is on",
        "Your API key has been replaced",
        "Set a new password",
        "Your password has been changed",
        "A recovery code has been used",
        "Your account has been deleted",
    ];
    expected.sort_unstable();
    assert_eq!(subjects, expected);
}
