/// The Worker's clock, unix milliseconds. It stands still between I/O.
#[must_use]
pub fn now_ms() -> u64 {
    worker::Date::now().as_millis()
}

/// The Worker's clock, unix seconds.
#[must_use]
pub fn now() -> u64 {
    now_ms() / 1000
}
