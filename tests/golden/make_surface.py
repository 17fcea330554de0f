"""Writes surface/*.json: what TensorFlow 2.21 makes of the expressions of `tests.golden.surface`.

Run it with a Python that has TensorFlow 2.21: python -m tests.golden.make_surface [family ...]
"""

import importlib
import json
import pathlib
import sys

import tensorflow as tf

from tests.golden import surface

FOLDER = pathlib.Path(surface.__file__).parent


def main(families: list[str]) -> None:
    """Evaluate every case of the families, or of all of them."""
    for family in families or sorted(path.stem for path in FOLDER.glob("[!_]*.py")):
        cases = importlib.import_module(f"tests.golden.surface.{family}").CASES
        found = {case.code: result(case.code) for case in cases}
        lines = [f"{json.dumps(code)}: {json.dumps(value)}" for code, value in found.items()]
        (FOLDER / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        refused = [code for code, value in found.items() if isinstance(value, str)]
        print(f"{family}: {len(found)} cases, {len(refused)} of them refused", *refused, sep="\n  ")


def result(code: str) -> object:
    """Return the leaves of an expression, or the name of the error that it raised."""
    try:
        return [surface.written(leaf) for leaf in surface.leaves(surface.evaluated(code, tf, tf.constant))]
    except Exception as error:
        print(f"  {code}: {str(error)[:200]}")
        return type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1:])
