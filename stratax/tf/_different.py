"""What TensorFlow and Stratax both have and do differently: the table in `_different.txt` (tf layer).

Below headings with topics (`#`) and their parts (`##`), a row is `names | text`, or `names | what | TensorFlow | here`
where both are set side by side; the texts are Markdown. The names, which may be none, are those of TensorFlow whose
use in a program is worth a look: a module, class or function, a method `tf.data.Dataset.save` or an argument
`tf.function(jit_compile=)`. `!` in front of a name says that using it raises, `^` that it does outside of a
`model_fn`. `stratax check` and `docs/compatibility.md` read the same rows.
"""

import functools
import os
import re
from typing import NamedTuple

from stratax.tf import _missing

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_different.txt")
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
# What a text is about, in front of its first sentence.
_LEAD = re.compile(r"^\*\*[^*]*\.\*\* ")


class Different(NamedTuple):
    """A row: something that is different.

    Attributes:
        topic: The heading that it stands below.
        part: The heading of the topic's part; empty in front of the first.
        names: Names of TensorFlow's that it concerns.
        cells: One text, or what it is about, what TensorFlow does and what happens here.
    """

    topic: str
    part: str
    names: tuple[str, ...]
    cells: tuple[str, ...]

    def sentence(self) -> str:
        """Return what is different, as text."""
        text = _LEAD.sub("", self.cells[0])
        if len(self.cells) > 1:
            what, there, here = self.cells
            text = f"{what}: {here} (TensorFlow: {there})."
        return _LINK.sub(r"\1", text).replace("**", "")


class Found(NamedTuple):
    """A row, and whether using the name that it was found by raises."""

    row: Different
    is_refused: bool


def find(name: str, *, in_graph: bool = True) -> Found | None:
    """Return the row of a name, or of what it stands in.

    Args:
        name: A name of TensorFlow's, in full.
        in_graph: Whether it is used where a `model_fn` may be traced.
    """
    found = _by_name() if in_graph else _by_name() | _of_graphs()
    for spelling in _missing.spellings(name):
        parts = spelling.split(".")
        for length in range(len(parts), 1, -1):
            if row := found.get(".".join(parts[:length])):
                return row
    return None


@functools.cache
def _by_name() -> dict[str, Found]:
    return {
        name.removeprefix("!"): Found(row, name.startswith("!"))
        for row in read()
        for name in row.names
        if not name.startswith("^")
    }


@functools.cache
def _of_graphs() -> dict[str, Found]:
    """Return the rows of what raises where no graph is, by name."""
    return {name[1:]: Found(row, True) for row in read() for name in row.names if name.startswith("^")}


@functools.cache
def read() -> tuple[Different, ...]:
    """Return the rows of the table, in its order."""
    rows, topic, part = [], "", ""
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("## "):
                part = line.removeprefix("## ").strip()
            elif line.startswith("# "):
                topic, part = line.removeprefix("# ").strip(), ""
            elif line.strip():
                names, *cells = (cell.strip() for cell in line.split("|"))
                rows.append(Different(topic, part, tuple(filter(None, names.split(", "))), tuple(cells)))
    return tuple(rows)
