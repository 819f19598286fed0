//! `rcpt quota`: shows the plan and what is left of it.

use std::io::{self, IsTerminal as _};

use rcpt_client::Quota;

use crate::{
    args::{self, Service},
    credentials,
    failure::{Failure, RunExit},
    output::print,
};

pub fn run(service: &Service, args: &args::Quota) -> Result<RunExit, Failure> {
    let quota = credentials::client(service, credentials::TIMEOUT)?.quota()?;
    if args.json || !io::stdout().is_terminal() {
        print(&serde_json::to_string(&quota).unwrap_or_default())?;
    } else {
        print(&in_words(&quota))?;
    }
    Ok(RunExit::Good)
}

fn in_words(quota: &Quota) -> String {
    let (checks, scans) = (&quota.email_checks, &quota.scans);
    let resets_at = quota.resets_at.replace('T', " ").replace(":00Z", " UTC");
    if quota.unlimited {
        return format!("Plan    {}\nChecks  no limit; {} today", quota.plan, checks.used_today);
    }
    format!(
        "Plan    {}\nChecks  {} of {} left today, and {} welcome checks\nScans   {} of {} left today, \
         and {} credits\nResets  {resets_at}",
        quota.plan,
        checks.left_today,
        checks.daily_allowance,
        checks.welcome_left,
        scans.left_today,
        scans.daily_allowance,
        scans.credits,
    )
}
