"""The list of programs is run as it says, and the table tells what happened."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import program_data, programs
from tools.losses import Compared
from tools.program_runs import OWN, STOPPED, WELL, Outcome, Program, read_programs, reason

ROOT = Path(__file__).resolve().parents[1]
ROWS = """
[[repository]]
name = "somebody/small"
tree = "small"
kind = "loop"

[[repository.program]]
file = "well.py"
arguments = "--out={out}/a --text='two words' {data}/text/text.txt"
data = ["text"]
path = ["inside"]
files = { "given.txt" = "{data}/text/train.txt" }
stdin = "typed"

[[repository.program]]
file = "missing.py"
kind = "Keras"

[[repository.program]]
file = "surprise.py"

[[repository.program]]
file = "endless.py"
name = "ended"
until = "step [3-9]"

[[repository.program]]
file = "endless.py"
name = "late"

[[repository.program]]
file = "cells.ipynb"

[[repository.program]]
file = "own.py"
own = "is Python 2"

[[repository.program]]
file = "well.py"
name = "needs"
needs = ["a_package_that_nobody_has"]

[[repository.program]]
file = "not_there.py"
"""
WELL_PROGRAM = """
import pathlib, sys
import helper
out, text, data = sys.argv[1:]
pathlib.Path(out.removeprefix("--out=")).write_text(helper.WORD)
pathlib.Path("written_into_the_tree").write_text("x")
assert text == "--text=two words" and pathlib.Path(data).is_file() and pathlib.Path("given.txt").is_file()
assert sys.stdin.read() == "typed"
"""
ENDLESS = """
import time
for step in range(10**6):
    print("step", step)
    time.sleep(0.05)
"""


def write_tree(folder):
    files = {
        "well.py": WELL_PROGRAM,
        "inside/helper.py": "WORD = 'x'",
        "missing.py": "import tensorflow as tf\ntf.lite.Interpreter('a')",
        "surprise.py": "def f(): raise ValueError('no |\\n such day')\nf()",
        "endless.py": ENDLESS,
        "cells.ipynb": json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [
                    {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 3\n"]},
                    {"cell_type": "markdown", "source": ["Not code."]},
                    {"cell_type": "code", "source": ["assert x == 3"]},
                ],
            }
        ),
        "own.py": "print 1",
    }
    for name, text in files.items():
        path = folder / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "rows.toml").write_text(ROWS)


def call(folder, *arguments):
    return [str(folder), str(folder / "rows.toml"), *map(str, arguments)]


@pytest.mark.programs
def test_programs_are_run_and_the_table_says_how_they_ended(tmp_path, capsys):
    write_tree(tmp_path)
    page = tmp_path / "page.md"
    options = ("--json", tmp_path / "f.json", "--write", page)
    page.write_text(f"Before.\n{programs.BEGIN}\nold\n{programs.END}\nAfter.\n")
    assert programs.main(call(tmp_path, "--only", "^((?!late).)*$", *options)) == 0

    rows = {row["key"]: row for row in json.loads((tmp_path / "f.json").read_text())}
    assert {key.removeprefix("small/"): row["ended"] for key, row in rows.items()} == {
        "well.py": "ends well",
        "missing.py": "stops",
        "surprise.py": "stops",
        "endless.py (ended)": "ends well",
        "cells.ipynb": "ends well",
        "own.py": "of its own fault",
        "well.py (needs)": "skipped",
        "not_there.py": "skipped",
    }
    assert rows["small/missing.py"]["missing"] == ["tf.lite"]
    assert "tf.lite" in rows["small/missing.py"]["why"]
    assert rows["small/surprise.py"]["why"] == "ValueError: no |"
    assert rows["small/well.py (needs)"]["why"] == "needs a_package_that_nobody_has, not installed"
    assert rows["small/not_there.py"]["why"].endswith("small/not_there.py in TREES")
    assert not (tmp_path / "small" / "written_into_the_tree").exists()

    text = page.read_text()
    assert text.startswith(f"Before.\n{programs.BEGIN}\n\n| kind |")
    assert text.endswith(f"{programs.END}\nAfter.\n")
    assert "| all | 5 | 3 | 2 | 0 | 4 of 5 | 1 | 2 |" in text
    assert "| Keras | 1 | 0 | 1 | 0 | 1 of 1 | 0 | 0 |" in text
    assert "| `small/surprise.py` | loop | stops: ValueError: no \\| |" in text
    assert "[1/8] small/well.py ... ends well" in capsys.readouterr().out


def test_outcomes_of_a_file_are_kept_and_new_rows_run_alone(tmp_path, capsys):
    write_tree(tmp_path)
    assert programs.main(call(tmp_path, "--only", "own", "--json", tmp_path / "f.json")) == 0
    assert programs.main(call(tmp_path, "--only", "own|there", "--new", "--json", tmp_path / "f.json")) == 0
    printed = capsys.readouterr().out
    assert printed.count("own.py ...") == 1
    assert "[1/1] small/not_there.py" in printed
    assert len(json.loads((tmp_path / "f.json").read_text())) == 2


def test_a_program_that_does_not_end_is_ended_with_what_it_started(tmp_path, capsys):
    write_tree(tmp_path)
    assert programs.main(call(tmp_path, "--only", "late", "--timeout", 3, "--logs", tmp_path / "logs")) == 0
    assert (
        "| `small/endless.py (late)` | loop | time is up: still running after 3 s |"
        in capsys.readouterr().out
    )
    (log,) = (tmp_path / "logs").iterdir()
    assert log.name == "small_endless.py_late.log"
    size = log.stat().st_size
    time.sleep(0.3)
    assert log.stat().st_size == size


def test_ctrl_c_prints_what_is_known(tmp_path, capsys, monkeypatch):
    write_tree(tmp_path)

    def run(self, program):
        if program.file == "surprise.py":
            raise KeyboardInterrupt
        return Outcome(key=program.key, repository="a/b", kind="loop", ended=WELL, seconds=1)

    monkeypatch.setattr(programs.Runs, "run", run)
    assert programs.main(call(tmp_path)) == 130
    printed = capsys.readouterr().out
    assert "[3/9] small/surprise.py ... interrupted" in printed
    assert "| all | 2 | 2 | 0 |" in printed


def test_a_missing_folder_of_trees_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit):
        programs.main([str(tmp_path / "none")])
    assert "TREES has to be a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('kind = "Torch"', "kind has to be one of"),
        ('kind = "loop"\ndata = ["dreams"]', r"data has to be of .*Received: \['dreams'\]"),
        ('kind = "loop"\nargs = "x"', "a.py of me/it: .*args"),
    ],
)
def test_a_row_without_meaning_is_refused(tmp_path, row, message):
    (tmp_path / "rows.toml").write_text(
        f'[[repository]]\nname = "me/it"\ntree = "it"\n[[repository.program]]\nfile = "a.py"\n{row}\n'
    )
    with pytest.raises(ValueError, match=message):
        read_programs(tmp_path / "rows.toml")


def test_the_list_is_read_and_each_row_is_there_once():
    rows = read_programs(programs.ROWS)
    keys = [row.key for row in rows]
    assert len(keys) == len(set(keys)) > 80


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="has to have the lines <!-- programs -->"):
        programs.page("text", [], {})


def test_the_table_says_how_losses_differ_from_those_of_tensorflow():
    outcomes = [Outcome(key=key, repository="b/c", kind="loop", ended=WELL, seconds=1) for key in "abcd"]
    losses = {
        "a": Compared(steps=9, difference=1.2e-7, version="2.15"),
        "b": Compared(steps=2, difference=0.03, version="1.15"),
        "c": Compared(why="computes | no loss"),
    }
    page = programs.page(f"{programs.BEGIN}{programs.END}", outcomes, losses)
    assert "losses of 2 programs were compared with TensorFlow's; of 1 none" in page
    assert "| `a` | loop | ends well | 1 |  | 1e-07 in 9 |" in page
    assert "| `b` | loop | ends well | 1 |  | 3e-02 in 2 |" in page
    assert "| `c` | loop | ends well | 1 |  | computes \\| no loss |" in page
    assert "| `d` | loop | ends well | 1 |  |  |" in page


@pytest.mark.parametrize(
    ("ended", "is_there", "agrees"),
    [
        (WELL, True, True),
        (WELL, False, False),
        (STOPPED, True, False),
        (STOPPED, False, True),
        (OWN, None, None),
    ],
)
def test_check_agrees_if_it_says_how_the_program_ends(ended, is_there, agrees):
    outcome = Outcome(key="a", repository="b/c", kind="loop", ended=ended, is_there=is_there)
    assert outcome.agrees is agrees


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("Traceback\n  File\nKeyError: 'a'\nstratax: goodbye", 1, "KeyError: 'a'"),
        ("usage: a.py\na.py: error: no", 2, "a.py: error: no"),
        ("", 3, "exit code 3"),
        ("ImportError: no 'a' in b (/x/y-1/b/__init__.py)", 1, "ImportError: no 'a' in b (__init__.py)"),
        ("OSError: https://a.b/c/d and a/b/c", 1, "OSError: https://a.b/c/d and a/b/c"),
        ("working", -11, "ended by SIGSEGV"),
        ("lib.errors.BadArgumentError: " + "x" * 300, 1, "lib.errors.BadArgumentError: " + "x" * 128 + "..."),
    ],
)
def test_the_reason_is_the_last_line_of_the_error(text, code, said):
    assert reason(text, code) == said


def test_data_is_made_once_and_is_the_same_each_time(tmp_path):
    first, second = (program_data.Data(tmp_path / x / "data", tmp_path / x / "home") for x in "ab")
    for data in (first, second):
        for name in ("text", "bert", "census", "mnist", "photos"):
            data.make(name)
    names = sorted(p.relative_to(first.folder) for p in first.folder.rglob("*") if p.is_file())
    assert len(names) > 40
    assert all((first.folder / name).read_bytes() == (second.folder / name).read_bytes() for name in names)
    (first.folder / "text" / "text.txt").write_text("mine")
    first.make("text")
    assert (first.folder / "text" / "text.txt").read_text() == "mine"


def test_small_datasets_of_keras_are_loaded(tmp_path):
    data = program_data.Data(tmp_path / "data", tmp_path / "home")
    data.make("keras")
    program = """
import keras
for name in ("mnist", "fashion_mnist", "imdb", "reuters", "boston_housing"):
    (x, y), (x_test, y_test) = getattr(keras.datasets, name).load_data()
    assert 0 < len(x) == len(y) < 6000 and len(x_test) == len(y_test) > 0, name
"""
    environment = {"HOME": str(data.home), "PYTHONPATH": str(data.site), "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_program_is_called_by_its_tree_file_and_name():
    row = Program(repository="a/b", tree="b", file="c/d.py", kind="loop", name="two")
    assert row.key == "b/c/d.py (two)"


def test_a_program_without_an_end_ends_with_the_process_that_started_it(tmp_path):
    code = """
import os, pathlib, sys
from tools.program_runs import Surroundings
folder = pathlib.Path(sys.argv[1])
loop = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
around = Surroundings({}, folder, os.environ, folder / "log", (sys.executable, "-c", loop))
around._run([], 600)
"""
    starter = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT)
    try:
        log, end = tmp_path / "log", time.monotonic() + 60
        while not (log.exists() and log.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.1)
        pid = int(log.read_text())
    finally:
        starter.kill()
        starter.wait()
    while is_running(pid) and time.monotonic() < end + 30:
        time.sleep(0.1)
    assert not is_running(pid)


def is_running(pid):
    """Whether a process runs; one that has ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
