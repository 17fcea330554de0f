"""`object.json` of an export: the object that was saved, with its variables and functions (export layer).

It stands beside `export.json`, which has its checksum. Readers that only call signatures don't need it.
"""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from stratax.base.shown import shown
from stratax.errors import DataLossError
from stratax.export.parts import Folder

OBJECT = "object.json"
# Raised when an older reader would misread the file.
_FORMAT = 1
_PARTS = ("tags", "variables", "functions", "nodes", "signatures")


def write(folder: pathlib.Path, body: Mapping[str, Any]) -> None:
    """Write what the object is.

    Args:
        folder: The folder that is being made.
        body: The parts: `tags`, `variables`, `functions`, `nodes` and `signatures`.
    """
    text = json.dumps({"format": _FORMAT, **body}, indent=1)
    (folder / OBJECT).write_text(text, encoding="utf-8")


def read(folder: Folder) -> dict[str, Any] | None:
    """Return what the object is; None for an export of functions alone.

    Args:
        folder: The export.

    Raises:
        DataLossError: It is damaged, or of a newer format.
    """
    if not folder.has(OBJECT):
        return None
    content = pathlib.Path(folder.check_file(OBJECT)).read_bytes()
    found = json.loads(content)
    if found.get("format") != _FORMAT:
        raise DataLossError(
            f"The object at {shown(folder.path)} has a newer format. Expected: {_FORMAT}. Received: "
            f"{shown(found.get('format'))}. Install a newer Stratax."
        )
    if missing := [part for part in _PARTS if part not in found]:
        raise DataLossError(f"The export at {shown(folder.path)} is damaged: {OBJECT} has no {missing[0]}.")
    return dict(found)
