//! The origin end to end, against real mail and name servers and against hostile ones.

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
