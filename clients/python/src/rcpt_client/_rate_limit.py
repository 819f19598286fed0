"""Parses the headers `RateLimit` and `RateLimit-Policy`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class RateLimit:
    """Remaining units of an allowance."""

    #: `daily` or `welcome` for checks, `scans` or `credits` for scans. New ones may be added.
    name: str
    left: int
    #: Seconds until the allowance is renewed; None if it never is.
    seconds: int | None
    #: Size of the allowance.
    allowance: int | None

    @classmethod
    def of(cls, headers: httpx.Headers) -> RateLimit | None:
        """Returns the first allowance in a response's headers, if they name one."""
        limit = headers.get("RateLimit", "").split(",")[0]
        name, left = _name(limit), _number(limit, "r")
        if name is None or left is None:
            return None
        policies = headers.get("RateLimit-Policy", "").split(",")
        policy = next((policy for policy in policies if _name(policy) == name), "")
        return cls(name, left, _number(limit, "t"), _number(policy, "q"))


def _name(item: str) -> str | None:
    found = re.match(r'\s*"([^"]*)"', item)
    return found and found[1]


def _number(item: str, parameter: str) -> int | None:
    found = re.search(rf";\s*{parameter}=(\d+)\s*(?:;|$)", item, re.ASCII)
    return int(found[1]) if found else None
