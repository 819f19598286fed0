"""Tests the Python client against services that are hostile, slow or newer: behaviour.py URLS, with the URLs by
behaviour, as JSON."""

import asyncio
import json
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

from rcpt_client import AsyncRcpt, Rcpt, RcptError, WebhookError, answer, verify_webhook
from rcpt_client.generated.api.quota import show_quota

URLS = json.loads(sys.argv[1])
HOSTILE = ["silent", "drip", "busy", "in_use", "closed"]


def hold(name: str, error: RcptError, seconds: float) -> None:
    assert seconds < 6, f"{name}: {seconds} s"
    assert error.status == (503 if name == "busy" else 0), f"{name}: {error}"
    assert "Idempotency" not in error.message, f"{name}: {error}"


def sync(name: str) -> None:
    start = time.monotonic()
    with Rcpt(URLS[name], "key", timeout=4) as rcpt:
        try:
            rcpt.check("a@b.example")
        except RcptError as error:
            return hold(name, error, time.monotonic() - start)
    raise AssertionError(name)


async def hostile() -> None:
    async def one(name: str) -> None:
        start = time.monotonic()
        async with AsyncRcpt(URLS[name], "key", timeout=4) as rcpt:
            try:
                await rcpt.check("a@b.example")
            except RcptError as error:
                return hold(name, error, time.monotonic() - start)
        raise AssertionError(name)

    await asyncio.gather(*map(one, HOSTILE))


with ThreadPoolExecutor() as pool:
    list(pool.map(sync, HOSTILE))
asyncio.run(hostile())


def failed(name: str, call) -> RcptError:
    with Rcpt(URLS[name], "key", timeout=4) as rcpt:
        try:
            call(rcpt)
        except RcptError as error:
            return error
    raise AssertionError(name)


start = time.monotonic()
with Rcpt(URLS["silent"], "key", timeout=60) as rcpt:
    try:
        rcpt.check("a@b.example", timeout=0.3)
    except RcptError as error:
        assert error.status == 0 and time.monotonic() - start < 2, error
    else:
        raise AssertionError("no error")


async def quick() -> None:
    start = time.monotonic()
    async with AsyncRcpt(URLS["silent"], "key", timeout=60) as rcpt:
        try:
            await rcpt.decide("a@b.example", timeout=0.3)
        except RcptError as error:
            assert error.status == 0 and time.monotonic() - start < 2, error
        else:
            raise AssertionError("no error")


asyncio.run(quick())


def hidden(call, kind: type[Exception]) -> None:
    """Asserts that a call fails at once, and shows neither a key nor an address to somebody who prints the traceback."""
    start = time.monotonic()
    try:
        call()
    except kind as error:
        # Without the traceback, which reads the files that it quotes.
        seconds = time.monotonic() - start
        text = "".join(traceback.format_exception(error)) + repr(error)
        # The traceback quotes this file's lines, which don't have the secret in one piece.
        assert SECRET_TEXT not in text and seconds < 1, text
    else:
        raise AssertionError(f"no {kind}")


# A key that no service has issued, or an address that isn't one, is an error at once.
SECRET_TEXT = "se" + "cret"
for client in [Rcpt, AsyncRcpt]:
    for key in [f"rcpt_live_{SECRET_TEXT}\n", f" {SECRET_TEXT}", f"rcpt_live_{SECRET_TEXT}\u00fc", ""]:
        hidden(lambda: client(URLS["quota"], key), ValueError)
    for url in [f"rcpt_live_{SECRET_TEXT}", f"https://ann:{SECRET_TEXT}@rcpt.example.net", f"https://x:{SECRET_TEXT}"]:
        hidden(lambda: client(url, "key"), ValueError)
with Rcpt(URLS["quota"], SECRET_TEXT) as rcpt:
    assert SECRET_TEXT not in f"{rcpt!r} {rcpt.client!r}", rcpt.client
    hidden(lambda: rcpt.check("a@b.example", idempotency_key=f"{SECRET_TEXT}@b.example\n"), ValueError)
    # Half of a surrogate pair, as `json.loads` takes it from a form.
    hidden(lambda: rcpt.check(f"{SECRET_TEXT}\ud800@b.example"), RcptError)
    hidden(lambda: rcpt.check(b"a@b.example"), TypeError)


async def half() -> None:
    async with AsyncRcpt(URLS["quota"], "key") as rcpt:
        try:
            await rcpt.decide("\ud800@b.example")
        except RcptError as error:
            assert (error.code, error.status) == ("invalid_body", 0) and "surrogate" in error.message, error
        else:
            raise AssertionError("no error")


asyncio.run(half())
for end in ["/", "/v1", "/v1/"]:
    with Rcpt(URLS["paths"] + end, "key") as rcpt:
        assert rcpt.quota().plan == "/v1/me/quota", end

# A caller's own `Idempotency-Key` may be in use elsewhere, which the caller must handle.
own = failed("in_use_elsewhere", lambda rcpt: rcpt.check("a@b.example", idempotency_key="0123456789abcdef"))
assert own.code == "idempotency_key_in_use", own

limit = failed("used_up", Rcpt.quota)
assert (limit.status, limit.code, limit.limit) == (429, "allowance_used_up", "email check")
assert (limit.request_id, limit.retry_after) == ("request-1", 40_000)
assert limit.resets_at == datetime(2026, 11, 24, tzinfo=timezone.utc), limit.resets_at
assert limit.doc_url == "https://rcpt.example.net/docs"
assert failed("page", Rcpt.quota).status == 404

with Rcpt(URLS["newer"], "key", timeout=2) as rcpt:
    result = rcpt.check("a@b.example", details=True)
    assert result.details.reason == "a_new_reason" and result.additional_properties == {"news": [1]}, result

with Rcpt(URLS["quota"], "key") as rcpt:
    for report in [answer(show_quota.sync_detailed, client=rcpt.client), answer(show_quota.sync_detailed(client=rcpt.client))]:
        assert report.plan == "free", report

# A list is matched only with its own results.
LIST = ["a@b.example", "c@d.example"]
with Rcpt(URLS["scan"], "key") as rcpt:
    rows = rcpt.join_scan("scan_1", LIST)
    assert [(row.address, row.result.status) for row in rows] == [(LIST[0], True), (LIST[1], False)], rows


async def joined() -> None:
    async with AsyncRcpt(URLS["scan"], "key") as rcpt:
        assert (await rcpt.wait_for_scan("scan_1")).state == "completed"
        assert len(await rcpt.join_scan("scan_1", LIST)) == 2
        try:
            await rcpt.join_scan("scan_1", LIST[::-1])
        except ValueError as error:
            assert "addresses 1 to 2 differ" in str(error), error
        else:
            raise AssertionError("another list is joined")


asyncio.run(joined())

SECRET, OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v2,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
BODY, NOW = '{"test": 2432232314}', 1614265330
for secrets in [SECRET, [OTHER, SECRET]]:
    for body in [BODY, BODY.encode()]:
        assert verify_webhook(body, HEADERS, secrets, now=NOW) == {"test": 2432232314}
for body, headers, secrets, now in [
    (BODY, HEADERS, OTHER, NOW),
    (BODY, HEADERS, [], NOW),
    (BODY + " ", HEADERS, SECRET, NOW),
    (BODY, HEADERS, SECRET, NOW + 301),
    (BODY, HEADERS, SECRET, NOW - 301),
    (BODY, HEADERS | {"webhook-signature": "v1,\u00e4"}, SECRET, NOW),
    (BODY, {}, SECRET, NOW),
]:
    try:
        verify_webhook(body, headers, secrets, now=now)
    except WebhookError:
        continue
    raise AssertionError((body, headers, secrets, now))
try:
    verify_webhook(json.loads(BODY), HEADERS, SECRET, now=NOW)
except TypeError as error:
    assert "raw body" in str(error), error
else:
    raise AssertionError("parsed JSON is verified")
