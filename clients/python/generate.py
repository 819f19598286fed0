"""Writes the generated part of the Python client into a folder: generate.py OPENAPI FOLDER.

A closed list of values becomes a `Literal`. Words such as `reason`, which may get new values, are open in the
document: they are `str`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


document, folder = Path(sys.argv[1]), Path(sys.argv[2])
with tempfile.TemporaryDirectory() as scratch:
    config = Path(scratch, "config.json")
    config.write_text(json.dumps({"package_name_override": "generated", "literal_enums": True}))
    # Sets the oldest supported Python version for the formatter.
    Path(scratch, "ruff.toml").write_text('target-version = "py310"\n')
    generated = Path(scratch, "generated")
    tools = Path(sys.executable).parent
    command = [tools / "openapi-python-client", "generate", "--path", document, "--config", config]
    command += ["--meta", "none", "--output-path", generated, "--overwrite", "--fail-on-warning"]
    ended = subprocess.run(command, capture_output=True, text=True, env={"PATH": f"{tools}:/usr/bin:/bin", "RUFF_NO_CACHE": "true"})
    if ended.returncode != 0:
        sys.exit(ended.stdout + ended.stderr)
    # The template imports `Self` from `typing`, which has it only since Python 3.11.
    client = generated / "client.py"
    text = client.read_text()
    newer, older = "from typing import Any, Self\n", "from typing import Any\n"
    if newer in text:
        text = text.replace(newer, older)
        client.write_text(text.replace("from attrs import define, evolve, field\n", "from attrs import define, evolve, field\nfrom typing_extensions import Self\n"))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(generated, folder)
