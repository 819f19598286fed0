//! Owner, thief and deceived operator, day by day: the owner reads his mail every two days and resets, and no sequence of
//! the thief's deeds moves the account, deletes it, or keeps the owner out for ever (docs/security.md, A13). A model that
//! searches every sequence of these parties chose the rule; here the statements themselves play sequences of it.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use rcpt_tests::{
    Account, Edge,
    people::{Authenticator, PASSWORD},
    proof,
};
use serde_json::json;

use super::{
    email_change::{ASKED, DAY_S, link},
    resets::{reset, reset_link},
};

const OWNERS: &str = "copper-meadow-58-lattice";
const THIEFS: &str = "another-quarry-66-anchor";
const DAYS: u64 = 8;

/// The thief's and the owner's credentials in the beginning.
#[derive(Debug, Clone, Copy)]
struct Case {
    title: &'static str,
    /// The owner's second factor has counted for long; `replaced_today`: it was replaced by another one today, which
    /// the owner uses, and the thief has the former one.
    owner_has_factor: bool,
    replaced_today: bool,
    first_today: bool,
    thief_has_session: bool,
    thief_knows_password: bool,
    /// Recovery codes that the thief has found.
    codes: usize,
    thief_has_former_factor: bool,
    reads_mailbox: fn(u64) -> bool,
}

const NEVER: fn(u64) -> bool = |_| false;

const BASE: Case = Case {
    title: "",
    owner_has_factor: false,
    replaced_today: false,
    first_today: false,
    thief_has_session: true,
    thief_knows_password: true,
    codes: 0,
    thief_has_former_factor: false,
    reads_mailbox: NEVER,
};

const CASES: [Case; 11] = [
    Case { title: "session, password, two codes", owner_has_factor: true, codes: 2, ..BASE },
    Case { title: "session, password, one code", owner_has_factor: true, codes: 1, ..BASE },
    Case { title: "no factor; session, password", ..BASE },
    Case {
        title: "replaced today; one code",
        owner_has_factor: true,
        replaced_today: true,
        codes: 1,
        ..BASE
    },
    Case {
        title: "replaced today; two codes",
        owner_has_factor: true,
        replaced_today: true,
        codes: 2,
        ..BASE
    },
    Case {
        title: "replaced today; the stolen phone, and the mailbox on day 1",
        owner_has_factor: true,
        replaced_today: true,
        thief_has_session: false,
        thief_knows_password: false,
        thief_has_former_factor: true,
        reads_mailbox: |day| day == 1,
        ..BASE
    },
    Case { title: "the first factor is of today; one code", first_today: true, codes: 1, ..BASE },
    Case {
        title: "the mailbox for ever, nothing else",
        owner_has_factor: true,
        thief_has_session: false,
        thief_knows_password: false,
        reads_mailbox: |_| true,
        ..BASE
    },
    Case {
        title: "the mailbox for ever, session, password, one code",
        owner_has_factor: true,
        codes: 1,
        reads_mailbox: |_| true,
        ..BASE
    },
    Case {
        title: "no factor; the mailbox on day 0",
        thief_has_session: false,
        thief_knows_password: false,
        reads_mailbox: |day| day == 0,
        ..BASE
    },
    Case {
        title: "no factor; session and password; a mailbox read on day 3",
        reads_mailbox: |day| day == 3,
        ..BASE
    },
];

#[derive(Debug, Clone, Copy)]
enum Deed {
    SignIn,
    FactorOff,
    FactorOn,
    AskForAddress,
    NewPassword,
    NewCodes,
    ResetByMail,
    Delete,
    /// Deceives the operator, who begins a recovery.
    AskOperator,
}

const DEEDS: [Deed; 9] = [
    Deed::SignIn,
    Deed::FactorOff,
    Deed::FactorOn,
    Deed::AskForAddress,
    Deed::NewPassword,
    Deed::NewCodes,
    Deed::ResetByMail,
    Deed::Delete,
    Deed::AskOperator,
];

/// Sequences that broke earlier designs, and one through the operator.
const BREAKS: [&[Deed]; 5] = [
    &[Deed::AskOperator, Deed::ResetByMail, Deed::FactorOff, Deed::FactorOn],
    &[Deed::FactorOff, Deed::FactorOn, Deed::FactorOff, Deed::FactorOn, Deed::AskForAddress],
    &[Deed::AskForAddress, Deed::FactorOff, Deed::FactorOn, Deed::FactorOff],
    &[Deed::ResetByMail, Deed::FactorOff, Deed::FactorOn, Deed::AskForAddress, Deed::Delete],
    &[Deed::NewPassword, Deed::NewCodes, Deed::FactorOff, Deed::AskForAddress, Deed::Delete],
];

struct Story<'a> {
    edge: &'a Edge,
    id: String,
    email: String,
    owners: Option<Authenticator>,
    session: Option<Account>,
    /// The password that the thief knows.
    password: Option<String>,
    thiefs: Vec<Authenticator>,
    codes: Vec<String>,
    touched: bool,
    trace: Vec<String>,
}

impl<'a> Story<'a> {
    async fn begin(edge: &'a Edge, case: &Case) -> Self {
        let account = edge.account().await;
        let id = edge.id(&account.email).await;
        let (mut owners, mut codes, mut thiefs) = (None, Vec::new(), Vec::new());
        if case.owner_has_factor || case.first_today {
            let (factor, found) = account.enable_two_factor().await;
            (owners, codes) = (Some(factor), found);
        }
        if case.owner_has_factor {
            edge.wait_until_told(&id).await;
            edge.pass(&id, 4 * DAY_S).await;
        }
        if case.replaced_today {
            let off = json!({ "password": PASSWORD, "totp_code": codes[0] });
            assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
            let (factor, found) = account.enable_two_factor().await;
            if case.thief_has_former_factor {
                thiefs.extend(owners.take());
            }
            (owners, codes) = (Some(factor), found);
        }
        codes.truncate(case.codes);
        edge.wait_until_told(&id).await;
        Self {
            edge,
            id,
            email: account.email.clone(),
            owners,
            session: case.thief_has_session.then(|| account.clone()),
            password: case.thief_knows_password.then(|| PASSWORD.to_owned()),
            thiefs,
            codes,
            touched: false,
            trace: Vec::new(),
        }
    }

    /// A code of the thief's: of any authenticator that he has, or found.
    async fn thiefs_codes(&mut self) -> Vec<String> {
        let steps = "UPDATE second_factors SET last_step = 0 WHERE account_id = ?1";
        self.edge.sql_of(&self.id, steps, &[json!(self.id)]).await;
        let mut codes: Vec<String> = self.thiefs.iter().map(Authenticator::code).collect();
        codes.extend(self.codes.first().cloned());
        codes.push(String::new());
        codes
    }

    /// Plays one deed of the thief's with each code that he has, until one works.
    async fn play(&mut self, deed: Deed, reads_mailbox: bool) {
        self.edge.sql("DELETE FROM throttles", &[]).await;
        let anonymous = self.edge.anonymous();
        for code in self.thiefs_codes().await {
            let password = self.password.clone().unwrap_or_default();
            let proof = json!({ "password": password, "totp_code": code });
            let (reply, is_new_password) = match (deed, &self.session) {
                (Deed::SignIn, _) => {
                    (anonymous.login_with_code(&self.email, &password, &code).await, false)
                }
                (Deed::ResetByMail, _) if reads_mailbox => {
                    let token = reset_link(self.edge, &self.email).await;
                    (reset(self.edge, &token, THIEFS, &code).await, true)
                }
                (Deed::AskOperator, _) => {
                    let recover = json!({ "recover": { "account": self.email } });
                    (self.edge.operator().call(&recover).await, false)
                }
                (Deed::FactorOff, Some(session)) => {
                    (session.post("/auth/totp/disable", &proof).await, false)
                }
                (Deed::NewCodes, Some(session)) => {
                    (session.post("/auth/totp/recovery-codes", &proof).await, false)
                }
                // A password older than three days deletes the account: nothing protects from that.
                (Deed::Delete, Some(session)) if password != PASSWORD => {
                    (session.delete("/me", &proof).await, false)
                }
                (Deed::NewPassword, Some(session)) => {
                    let body = json!({ "current_password": password, "new_password": THIEFS });
                    (session.put("/auth/password", &body).await, true)
                }
                (Deed::FactorOn, Some(session)) => {
                    let reply = session.post("/auth/totp/setup", &proof).await;
                    if reply.status != 200 {
                        continue;
                    }
                    let factor = Authenticator::new(reply.text("secret"));
                    let reply = session.enable_with(&factor.code()).await;
                    if reply.status == 200 {
                        self.thiefs.push(factor);
                    }
                    (reply, false)
                }
                (Deed::AskForAddress, Some(session)) => {
                    let new = self.edge.new_email();
                    let body = json!({ "email": new, "password": password, "totp_code": code });
                    let reply = session.post("/auth/change-email", &body).await;
                    if reply.status == 202 {
                        let token = link(self.edge, &new, ASKED, 1).await;
                        let body = json!({ "token": token, "password": password });
                        let agreed = anonymous.post("/auth/confirm-email", &body).await;
                        assert_eq!(agreed.status, 200, "{}", agreed.body);
                    }
                    (reply, false)
                }
                _ => continue,
            };
            assert!(reply.status < 500, "{deed:?}: {}", reply.body);
            if ![200, 202, 204].contains(&reply.status) {
                continue;
            }
            self.trace.push(format!("{deed:?}"));
            self.touched |= !matches!(deed, Deed::SignIn);
            if self.codes.first() == Some(&code)
                && !matches!(deed, Deed::FactorOn | Deed::NewPassword)
            {
                self.codes.remove(0);
            }
            if let Deed::NewCodes = deed {
                let codes = reply.body["recovery_codes"].clone();
                self.codes = serde_json::from_value(codes).unwrap();
            }
            if is_new_password {
                self.password = Some(THIEFS.to_owned());
            }
            if is_new_password || matches!(deed, Deed::SignIn) {
                let password = self.password.clone().unwrap();
                self.session = Some(Account::from_credentials(&anonymous, &password, &reply));
            }
            return;
        }
    }

    /// The owner reads his mail: if anything has happened, he resets with the code that he has.
    async fn owner_reads(&mut self) {
        if !self.touched {
            return;
        }
        let token = reset_link(self.edge, &self.email).await;
        let code = self.owners.as_ref().map(Authenticator::code).unwrap_or_default();
        let mut reply = reset(self.edge, &token, OWNERS, &code).await;
        if reply.status == 401 && reply.body["code"] == "totp_invalid" {
            // His authenticator is none of the account's any more; without a code, none must count.
            reply = reset(self.edge, &token, OWNERS, "").await;
        }
        assert_eq!(reply.status, 200, "LOST: {:?}: {}", self.trace, reply.body);
        self.trace.push("the owner resets".to_owned());
        (self.touched, self.password) = (false, None);
        let session = self.session.take();
        if let Some(session) = session {
            session.get("/me").await.assert_error(401, "invalid_session", "the thief's");
        }
    }

    async fn assert_kept(&self, day: u64) {
        let account = "SELECT email FROM accounts WHERE id = ?1 AND deleted_at IS NULL";
        let rows = self.edge.sql_of(&self.id, account, &[json!(self.id)]).await;
        let kept = rows.first().map(|row| row["email"].clone());
        assert_eq!(kept, Some(json!(self.email)), "day {day}: {:?}", self.trace);
    }
}

#[tokio::test]
async fn no_thief_takes_an_account_whose_owner_reads_his_mail_every_two_days() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let rounds = proof::count(1, 20) as u64;
    for (number, case) in CASES.iter().enumerate() {
        for round in 0..rounds {
            let mut random = StdRng::seed_from_u64(number as u64 * 1_000 + round);
            let offset = random.random_range(0..2);
            let mut story = Story::begin(&edge, case).await;
            for day in 0..DAYS {
                let reads = (case.reads_mailbox)(day);
                let deeds: Vec<Deed> = if day < 2 {
                    BREAKS[random.random_range(0..BREAKS.len())].to_vec()
                } else {
                    (0..2).map(|_| *DEEDS.choose(&mut random).unwrap()).collect()
                };
                for deed in deeds {
                    story.play(deed, reads).await;
                }
                edge.wait_until_told(&story.id).await;
                story.assert_kept(day).await;
                if day % 2 == offset {
                    story.owner_reads().await;
                }
                edge.pass(&story.id, DAY_S).await;
                edge.run_scheduled().await;
                story.assert_kept(day).await;
            }
            println!("{}: {:?}", case.title, story.trace);
        }
    }
}
