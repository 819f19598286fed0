//! Origin as a whole, against controlled servers: without a Worker and without Debian's mail
//! servers.
//!
//! One program for all tests: many wait for time-outs, and can wait in parallel.

mod alerts;
mod ask;
mod backup;
mod bans;
mod contrast;
mod conversations;
mod counted;
mod dialogue;
mod dns;
mod dns_cases;
mod doctor;
mod farewell;
mod generated;
mod greetings;
mod harness;
mod http;
mod inventions;
mod lists;
mod nameservers;
mod neighbours;
mod opt_outs;
mod out_of_step;
mod package;
mod politeness;
mod port_check;
mod process;
mod sessions;
mod slow;
mod source_addresses;
mod sources_reload;
mod starttls;
mod strangers;
mod supervision;
mod tls;
mod truth;
