"""What TensorFlow has and Stratax does not, with what to write instead: the table in `_missing.txt` (tf layer).

A row of the table is `name | what to write instead | why it is not there`, below a heading that names its topic. A
name is one of TensorFlow's, such as `tf.lite`, and stands for all that is below it; `tf.Variable.sparse_read` is a
method and `tf.nn.lrn(depth_radius=)` an argument. A name below `tf.compat.v1` has the row of `tf`'s, unless it has its
own. Errors, `stratax check` and `docs/compatibility.md` read the same rows.
"""

import functools
import os
from typing import NamedTuple

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_missing.txt")
# What a name of these stands for is looked for under `tf`, too.
_VERSIONS = ("tf.compat.v1.", "tf.compat.v2.")


class Missing(NamedTuple):
    """A row: a name that is not there.

    Attributes:
        topic: The heading that it stands below.
        name: The name, in full.
        instead: What to write instead, as the end of a sentence that begins with "Instead:".
        reason: Why it is not there, a sentence; empty where that says nothing new.
    """

    topic: str
    name: str
    instead: str
    reason: str


def find(name: str) -> Missing | None:
    """Return the row of a name, or of what it stands in.

    Args:
        name: A name of TensorFlow's, in full, such as `tf.lite.Interpreter`.
    """
    rows = read()
    for spelling in spellings(name):
        parts = spelling.split(".")
        for length in range(len(parts), 0, -1):
            if row := rows.get(".".join(parts[:length])):
                return row
    return None


def spellings(name: str) -> list[str]:
    """Return a name, and how it is called without the version of TensorFlow in it.

    Args:
        name: A name of TensorFlow's, in full, such as `tf.compat.v1.lite`.
    """
    return [name, *(f"tf.{name.removeprefix(version)}" for version in _VERSIONS if name.startswith(version))]


def sentence(name: str) -> str | None:
    """Return what is said about a name that is not there; None if the table does not have it.

    Args:
        name: A name of TensorFlow's, in full.
    """
    row = find(name)
    if row is None:
        return None
    reason = f" {row.reason}" if row.reason else ""
    return f"{name} is not in Stratax.{reason} Instead: {row.instead}"


@functools.cache
def read() -> dict[str, Missing]:
    """Return the rows of the table by name, in its order."""
    rows, topic = {}, ""
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# "):
                topic = line.removeprefix("# ").strip()
            elif line.strip():
                name, instead, reason = (cell.strip() for cell in line.split("|"))
                rows[name] = Missing(topic, name, instead, reason)
    return rows
