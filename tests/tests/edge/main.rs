//! The edge end to end: who may check, the result of a check, and the behaviour when a component fails.

mod allowance_notices;
mod api_description;
mod bodies;
mod cache;
mod cache_keeping;
mod checks_alike;
mod checks_in_flight;
mod credentials;
mod details;
mod domain_kinds;
mod domains;
mod draining;
mod examples;
mod guard;
mod http;
mod hung_origins;
mod junk_keys;
mod known_in_time;
mod leavers;
mod origin_faults;
mod own_faults;
mod privacy;
mod tenants;
mod test_keys;
mod validate_email;
