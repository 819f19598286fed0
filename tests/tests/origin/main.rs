//! The origin end to end, against real and hostile mail servers and real name servers.

mod api;
mod batch;
mod dns;
mod exim;
mod guard;
mod hostile;
mod opensmtpd;
mod postfix;
mod sandbox;
mod sendmail;
