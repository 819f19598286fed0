"""Sends requests, with retries."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import anyio
import httpcore
import httpx

from ._attempts import Attempts
from ._errors import RcptError

# Deadline of this thread's attempt, on the monotonic clock.
_end: ContextVar[float] = ContextVar("end")

# Bytes per write: each write has a deadline, so a server that reads slowly can't stall a call.
_PIECE = 16 * 1024


def unsendable() -> RcptError:
    """Returns the error for a header that HTTP can't carry. The library's own error quotes it."""
    return RcptError("The request can't be sent: one of its headers has a character that no header has.")


def _left(timeout: float | None, error: type[Exception]) -> float:
    left = _end.get() - time.monotonic()
    if left <= 0:
        raise error("no answer in time")
    return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    """A connection whose waits end at the attempt's deadline: httpx limits each read, not their sum."""

    def __init__(self, inner: httpcore.NetworkStream):
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            piece = buffer[start : start + _PIECE]
            self._inner.write(piece, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, left, local_address, socket_options))


class Retrying(httpx.BaseTransport):
    """A transport whose calls take at most `timeout` seconds, including retries and pauses."""

    def __init__(self, timeout: float):
        self._timeout = timeout
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5,
            network_backend=_Backend(),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        attempts = Attempts(request, self._timeout)
        while True:
            outcome: httpx.Response | RcptError
            try:
                outcome = self._attempt(request, attempts.seconds())
            except (httpcore.TimeoutException, httpcore.PoolTimeout):
                outcome = attempts.broken(TimeoutError())
            except httpcore.LocalProtocolError:
                raise unsendable() from None
            except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
                outcome = attempts.broken(error)
            pause = attempts.pause(outcome)
            if pause is None:
                return attempts.result(outcome)
            time.sleep(pause)

    def _attempt(self, request: httpx.Request, seconds: float) -> httpx.Response:
        _end.set(time.monotonic() + seconds)
        limits = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.read(),
                extensions={"timeout": limits},
            )
        )
        try:
            content = response.read()
        finally:
            response.close()
        return httpx.Response(response.status, headers=response.headers, content=content)

    def close(self) -> None:
        self._pool.close()


class AsyncRetrying(httpx.AsyncBaseTransport):
    """Like the blocking transport, for asyncio and trio."""

    def __init__(self, timeout: float):
        self._timeout = timeout
        self._transport = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        attempts = Attempts(request, self._timeout)
        while True:
            outcome: httpx.Response | RcptError
            try:
                with anyio.fail_after(attempts.seconds()):
                    outcome = await self._transport.handle_async_request(request)
                    await outcome.aread()
                    await outcome.aclose()
            except httpx.LocalProtocolError:
                raise unsendable() from None
            except (httpx.TransportError, OSError) as error:
                outcome = attempts.broken(error)
            pause = attempts.pause(outcome)
            if pause is None:
                return attempts.result(outcome)
            await anyio.sleep(pause)

    async def aclose(self) -> None:
        await self._transport.aclose()


