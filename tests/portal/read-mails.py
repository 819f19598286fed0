"""Reads emails as a mail program does: JSON on standard input, and its findings on standard output.

In production, the platform writes the MIME of our emails. Here Python's own composer writes it, strictly: a header
that is invalid, or a text that can't be encoded, is an error. The parts are then read from the composed bytes.
"""

import email
import json
import re
import sys
from email.message import EmailMessage
from email.policy import SMTP
from html.parser import HTMLParser


class Links(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append(dict(attributes)["href"])


def composed(mail):
    message = EmailMessage(policy=SMTP)
    for header in ["From", "To", "Subject"]:
        message[header] = mail[header.lower()]
    message.set_content(mail["text"])
    message.add_alternative(mail["html"], subtype="html")
    return message.as_bytes()


def read(octets):
    message = email.message_from_bytes(octets, policy=SMTP)
    parts = list(message.walk())
    headers = [message[name] for name in ["From", "To", "Subject"]]
    text = message.get_body(["plain"]).get_content()
    html = message.get_body(["html"]).get_content()
    return {
        "defects": [str(defect) for found in [*parts, *headers] for defect in found.defects],
        "types": [part.get_content_type() for part in parts],
        "sender": str(message["From"].addresses[0].display_name),
        "recipients": [address.addr_spec for address in message["To"].addresses],
        "subject": str(message["Subject"]),
        "text": text.replace("\r\n", "\n").rstrip("\n"),
        # The contact is an address in the text, but a link in the HTML.
        "text_links": sorted(
            set(re.findall(r"https?://\S+", text))
            | {f"mailto:{found}" for found in re.findall(r"^Questions\? (\S+@\S+)", text, re.MULTILINE)}
        ),
        "html_links": sorted(set(Links(html).found)),
    }


json.dump([read(composed(mail)) for mail in json.load(sys.stdin)], sys.stdout)
