//! A reset asks for a second factor only once that counts: from its third day until three days after it was turned off
//! (docs/security.md, A13, A15).

use rcpt_tests::{Account, Edge, people::PASSWORD};
use serde_json::json;

use super::{
    edge,
    email_change::{DAY_S, NEW, link, stop},
    resets::{reset, reset_link, settled, shown, turned_off},
};

/// On, off, and on again, with and without a second factor of the owner's.
#[tokio::test]
async fn a_thief_who_turns_a_second_factor_on_and_off_and_on_locks_nobody_out() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for has_factor in [false, true] {
        let account = edge.account().await;
        let (own, codes) = if has_factor {
            let (own, codes) = account.enable_two_factor().await;
            settled(&edge, &account).await;
            (Some(own), codes)
        } else {
            (None, Vec::new())
        };
        if has_factor {
            let off = turned_off(PASSWORD, &codes[0]);
            assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
        }
        for _ in 0..2 {
            let (_, thiefs) = account.enable_two_factor().await;
            let off = turned_off(PASSWORD, &thiefs[0]);
            assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
        }
        let (thiefs, _) = account.enable_two_factor().await;
        let token = reset_link(&edge, &account.email).await;
        assert_eq!(shown(&edge, &token).await["code_needed"], has_factor);
        if let Some(own) = &own {
            reset(&edge, &token, NEW, "").await.assert_error(
                401,
                "totp_required",
                "the own counts",
            );
            let reply = reset(&edge, &token, NEW, &own.code()).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            let login = edge.anonymous().login_with_code(&account.email, NEW, &thiefs.code()).await;
            login.assert_error(401, "totp_invalid", "the thief's is off");
            let code = edge.fresh_code(&account, own).await;
            let login = edge.anonymous().login_with_code(&account.email, NEW, &code).await;
            assert_eq!(login.status, 200, "the owner's is on again: {}", login.body);
        } else {
            let reply = reset(&edge, &token, NEW, "").await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            assert_eq!(edge.anonymous().login(&account.email, NEW).await.status, 200, "none is on");
        }
    }
}

#[tokio::test]
async fn a_factor_counts_from_its_third_day_until_the_third_day_after_it_was_turned_off() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (_, codes) = account.enable_two_factor().await;
    let needed = async || {
        let token = reset_link(&edge, &account.email).await;
        shown(&edge, &token).await["code_needed"] == json!(true)
    };
    edge.wait_until_told(&id).await;
    edge.pass(&id, 3 * DAY_S - 60).await;
    assert!(!needed().await, "a minute before");
    edge.pass(&id, 60).await;
    assert!(needed().await, "on for three days");
    assert_eq!(
        account.post("/auth/totp/disable", &turned_off(PASSWORD, &codes[0])).await.status,
        204
    );
    edge.wait_until_told(&id).await;
    assert!(needed().await, "it was on for three days");
    edge.pass(&id, 3 * DAY_S - 60).await;
    assert!(needed().await, "a minute before");
    edge.pass(&id, 60).await;
    assert!(!needed().await, "off for three days");
    edge.run_scheduled().await;
    assert_eq!((edge.count("second_factors").await, edge.count("recovery_codes").await), (0, 0));

    // Turned off before its third day, a factor never counts.
    let (_, codes) = account.enable_two_factor().await;
    edge.pass(&id, DAY_S).await;
    assert_eq!(
        account.post("/auth/totp/disable", &turned_off(PASSWORD, &codes[0])).await.status,
        204
    );
    edge.wait_until_told(&id).await;
    for day in 0..4 {
        assert!(!needed().await, "day {day}");
        edge.pass(&id, DAY_S).await;
    }
}

/// Whether it had counted is read from when it was turned on, which is kept for as long as the factor is.
#[tokio::test]
async fn a_factor_that_never_counted_does_not_begin_to_however_long_its_owner_stops() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (_, codes) = account.enable_two_factor().await;
    edge.wait_until_told(&id).await;
    edge.pass(&id, DAY_S).await;
    let off = turned_off(PASSWORD, &codes[0]);
    assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
    let stopping = link(&edge, &account.email, "Two-factor authentication is off", 1).await;
    edge.wait_until_told(&id).await;
    for _ in 0..13 {
        edge.pass(&id, 3 * DAY_S - 60).await;
        edge.run_scheduled().await;
        assert_eq!(stop(&edge, &stopping).await.status, 204);
    }
    assert_eq!(edge.count("second_factors").await, 1, "its codes are accepted");
    let token = reset_link(&edge, &account.email).await;
    let preview = shown(&edge, &token).await;
    assert_eq!((&preview["code_needed"], &preview["code_possible"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn a_young_factor_needs_no_code_and_is_off_afterwards_unless_its_code_was_given() {
    let edge = edge().await;
    for gives in [false, true] {
        let account = edge.account().await;
        let (factor, _) = account.enable_two_factor().await;
        let token = reset_link(edge, &account.email).await;
        let preview = shown(edge, &token).await;
        assert_eq!(
            (&preview["code_needed"], &preview["code_possible"]),
            (&json!(false), &json!(true))
        );
        let wrong = reset(edge, &token, NEW, &factor.wrong_code()).await;
        wrong.assert_error(401, "totp_invalid", "a wrong code");
        let code = if gives { factor.code() } else { String::new() };
        let reply = reset(edge, &token, NEW, &code).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let owner = Account::from_credentials(&edge.anonymous(), NEW, &reply);
        assert_eq!(owner.get("/me").await.body["two_factor"], gives);
    }
}

#[tokio::test]
async fn a_thief_s_new_recovery_codes_are_void_after_a_reset_with_the_same_authenticator() {
    let edge = edge().await;
    let account = edge.account().await;
    let (own, codes) = account.enable_two_factor().await;
    settled(edge, &account).await;
    let reply = account.post("/auth/totp/recovery-codes", &turned_off(PASSWORD, &codes[0])).await;
    let thiefs: Vec<String> = serde_json::from_value(reply.body["recovery_codes"].clone()).unwrap();
    let token = reset_link(edge, &account.email).await;
    let reply = reset(edge, &token, NEW, &own.code()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let anonymous = edge.anonymous();
    let login = anonymous.login_with_code(&account.email, NEW, &thiefs[0]).await;
    login.assert_error(401, "totp_invalid", "the thief's codes");
    assert_eq!(anonymous.login_with_code(&account.email, NEW, &codes[1]).await.status, 200);
}

#[tokio::test]
async fn five_factors_in_three_days_are_all_accepted_and_a_sixth_is_refused_until_a_reset() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (own, codes) = account.enable_two_factor().await;
    settled(&edge, &account).await;
    assert_eq!(
        account.post("/auth/totp/disable", &turned_off(PASSWORD, &codes[0])).await.status,
        204
    );
    for _ in 0..5 {
        let (_, thiefs) = account.enable_two_factor().await;
        edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(
            account.post("/auth/totp/disable", &turned_off(PASSWORD, &thiefs[0])).await.status,
            204
        );
    }
    let sixth = account.post("/auth/totp/setup", &json!({ "password": PASSWORD })).await;
    sixth.assert_error(409, "too_many_factors", "the sixth");
    let token = reset_link(&edge, &account.email).await;
    let reply = reset(&edge, &token, NEW, &own.code()).await;
    assert_eq!(reply.status, 200, "nobody pushed the owner's out: {}", reply.body);
    let owner = Account::from_credentials(&edge.anonymous(), NEW, &reply);
    let code = edge.fresh_code(&account, &own).await;
    assert_eq!(owner.post("/auth/totp/disable", &turned_off(NEW, &code)).await.status, 204);
    owner.enable_two_factor().await;
}
