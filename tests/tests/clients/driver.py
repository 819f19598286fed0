"""Runs cases with the Python client as installed by its users. It reads each case as a line of JSON, and writes the
result as a line. The interpreter has the package."""

import json
import sys

from rcpt_client import Rcpt, RcptError

for line in sys.stdin:
    case = json.loads(line)
    rcpt = Rcpt(case["url"], case["api_key"])
    try:
        if case["do"] == "quota":
            body = rcpt.quota()
        elif case["do"] == "domain":
            body = rcpt.check_domain(case["domain"])
        elif case["do"] == "decide":
            body = rcpt.decide(case["email"])
        else:
            key = case["key"] or None
            is_list = case["do"] == "list"
            ask = rcpt.check_list if is_list else rcpt.check
            body = ask(
                case["emails" if is_list else "email"],
                details=case["details"],
                idempotency_key=key,
                deadline_ms=case["deadline_ms"],
            )
        told = {"status": 200, "body": body.to_dict()}
    except RcptError as error:
        told = {"status": error.status, "code": error.code, "message": error.message}
    left = rcpt.rate_limit
    told["left"] = left and {"name": left.name, "left": left.left}
    print(json.dumps(told), flush=True)
