"""Explains how to build the wheel if its generated part is missing."""

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Explain(BuildHookInterface):
    def initialize(self, version, build_data):
        if not Path(self.root, "src/rcpt_client/generated").is_dir():
            sys.exit(
                "This folder is the source of rcpt-client, without what is generated from the API's description. "
                "Run `make clients` in the repository, and install the wheel that it writes into target/clients."
            )
