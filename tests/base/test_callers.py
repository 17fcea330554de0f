"""Warnings point to the user's line, whatever stands between it and what warns."""

import json
import os
import sys
import textwrap
import threading
import warnings

import keras
import pytest

from stratax.base import callers

PROGRAM = """
import keras
import numpy as np
import stratax as sx

x, y = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")
strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


class WithStep(keras.Sequential):
    def test_step(self, data):
        return {"loss": 0.0}


with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)  # run_eagerly=True is ignored
model.compile("sgd", "mse")
model.fit(x * np.nan, y, verbose=0)  # The loss became NaN
plain = keras.Sequential([keras.layers.Dense(1)])
plain.compile("sgd", "mse")
backup = keras.callbacks.BackupAndRestore(FOLDER, save_freq=2)
plain.fit(
    sx.Dataset.from_tensor_slices((x, y)).batch(4),
    callbacks=[backup],
    verbose=0,
)  # saves no position in the input
own = WithStep([keras.layers.Dense(1)])
own.compile("sgd", "mse", jit_compile=False)
own.evaluate(x, y, verbose=0)


@sx.function
def step(x):
    sx.summary.trace_on()  # does nothing inside a compiled function
    return x


step(1.0)
"""


def test_warnings_of_fit_and_compile_point_to_the_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(PROGRAM, str(path), "exec"), {"__name__": "program", "FOLDER": str(tmp_path / "backup")})
    lines = PROGRAM.splitlines()
    expected = {text.partition("  # ")[2]: number for number, text in enumerate(lines, 1) if "  # " in text}
    assert len(expected) == 4
    found = {
        said: (os.path.basename(each.filename), each.lineno)
        for said in expected
        for each in caught
        if said in str(each.message)
    }
    begin = 1 + next(number for number, text in enumerate(lines) if text.startswith("plain.fit"))
    # Of a call over several lines Python tells the first.
    expected["saves no position in the input"] = begin
    assert found == {said: ("program.py", line) for said, line in expected.items()}


@pytest.mark.parametrize(
    ("filename", "is_python"),
    [
        (threading.__file__, True),
        (json.__file__, True),
        ("<frozen runpy>", True),
        (__file__, False),
        (keras.__file__, False),
        (os.path.join(os.path.dirname(os.__file__), "site-packages", "mine.py"), False),
        ("<string>", False),
        ("<stdin>", False),
        ("program.py", False),
    ],
)
def test_what_is_installed_beside_pythons_modules_is_not_pythons(filename, is_python):
    assert callers.is_python(filename) is is_python


def test_frames_of_imports_are_counted_as_warnings_counts_them(tmp_path, monkeypatch):
    warn = textwrap.dedent(
        """
        import warnings
        from stratax.base.callers import stack_level
        def warn():
            warnings.warn("while importing", RuntimeWarning, stacklevel=stack_level())
        """
    )
    space = {}
    # A function of the library, which imports a module of the library that warns.
    exec(compile(warn, os.path.join(os.path.dirname(callers.__file__), "_made_up.py"), "exec"), space)
    library = tmp_path / "library.py"
    library.write_text("WARN()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.WARN", space["warn"], raising=False)
    monkeypatch.setattr(callers, "is_library", lambda file: file.endswith(("library.py", "_made_up.py")))
    with pytest.warns(RuntimeWarning, match="while importing") as caught:
        import library
    monkeypatch.delitem(sys.modules, "library")
    assert caught[0].filename == __file__


def test_a_thread_without_a_line_of_the_program_points_to_what_calls(monkeypatch):
    levels = []
    monkeypatch.setattr(callers, "is_library", lambda filename: filename == __file__)
    thread = threading.Thread(target=lambda: levels.append(callers.stack_level()))
    thread.start()
    thread.join()
    assert levels == [2]
