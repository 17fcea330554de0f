"""`stratax compile` runs a program until it has seen enough, and says what to do where it can't."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import stratax.tf
from stratax.cli import _compile
from stratax.command.rehearsal import Catcher, Collective, ProgramReport, parse_topology
from tests.cli import command
from tests.cluster import forks
from tests.command.rehearsal.devices import needs_libtpu

SMALL = """
import sys
import keras, numpy as np, stratax as sx
with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
x, y = np.zeros((64, 4), "float32"), np.zeros((64, 2), "float32")
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the text of a program, and gives how it ended and what was caught."""
    monkeypatch.setattr(stratax.tf, "install_as_tensorflow", lambda: None)

    def run_program(text, *arguments, wanted=(), steps=10, seconds=100.0, abstract=False):
        path = tmp_path / "program.py"
        path.write_text(text)
        catcher = Catcher(wanted, steps)
        end = _compile.run_to_catch(path, (str(path), *arguments), catcher, seconds, abstract=abstract)
        return end, catcher

    return run_program


def names(catcher):
    return [each.name for each in catcher.caught]


def test_fit_is_cut_short_and_what_comes_behind_it_runs(run):
    end, catcher = run(
        SMALL + "model.fit(x, y, batch_size=2, epochs=50, verbose=0)\nmodel.evaluate(x, y, verbose=0)",
        steps=3,
    )
    assert names(catcher) == ["train_function", "test_function"]
    assert catcher.num_dispatches["train_function"] == 3
    assert end.problems == []


def test_a_program_without_values_ends_at_its_first_step(run):
    text = SMALL.replace("Dense(2)", "Dense(4096), keras.layers.Dense(2)")
    end, catcher = run(text + "model.fit(x, y, verbose=0)\nraise ValueError('not reached')", abstract=True)
    assert names(catcher) == ["train_function"]
    assert not catcher.caught[0].can_run
    assert end.problems == []


def test_the_program_ends_when_it_has_run_what_is_wanted(run):
    text = SMALL + "model.predict(x, verbose=0)\nmodel.predict(x, verbose=0)\nraise ValueError('not reached')"
    end, catcher = run(text, wanted=["predict_function"])
    assert names(catcher) == ["predict_function"]
    assert end.problems == []


def test_what_is_not_run_is_told_with_what_was(run):
    _, catcher = run(SMALL + "model.predict(x, verbose=0)", wanted=["fit", "my_step"])
    assert re.search(
        r"did not run what --for names: fit, my_step\. Expected: fit, train, evaluate.*It ran: 'predict_function'",
        _compile._nothing_caught(catcher),
    )


def test_programs_get_their_arguments_and_print_to_standard_error(run, capsys):
    end, _ = run("import sys\nprint(sys.argv[1:], __name__)\nsys.exit(0)", "--epochs", "3")
    found = capsys.readouterr()
    assert found.err == "['--epochs', '3'] __main__\n"
    assert found.out == ""
    assert end.problems == []


def test_a_loop_without_an_end_is_ended(run, capsys):
    forever = (
        "import stratax as sx, numpy as np\nf = sx.function(lambda x: x * 2)\nwhile True: f(np.float32(1))"
    )
    _, catcher = run(forever, steps=5)
    assert catcher.num_dispatches.total() == 5
    end, catcher = run("while True: pass", seconds=0.2)
    assert "ended after 0.2 s (--seconds)" in capsys.readouterr().err
    assert end.problems == []
    assert "runs no strategy, or ends before its first step" in _compile._nothing_caught(catcher)


def test_programs_that_fail_are_told(run, capsys):
    end, _ = run("import sys\nsys.exit(3)")
    assert end.problems == ["The program ended with exit code 3."]
    end, _ = run("raise KeyError('x')")
    assert end.problems[0].startswith("The program failed: KeyError")
    printed = capsys.readouterr().err
    assert "program.py" in printed
    assert "runpy" not in printed
    end, _ = run("import jax\njax.devices('gpu')")
    assert "may need a real device" in end.problems[0]


def test_an_interrupted_program_is_ended_and_what_it_ran_is_kept(run, capsys):
    end, catcher = run(SMALL + "model.predict(x, verbose=0)\nraise KeyboardInterrupt")
    assert end.interrupted
    assert names(catcher) == ["predict_function"]
    assert "what it dispatched is compiled" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_compiled():
    made = ProgramReport(name="predict_function", topology=parse_topology("v3-8"), compile_seconds=1.0)

    def interrupted():
        raise KeyboardInterrupt

    ended, reports, shown, concluded = _compile.End(), [], [], []
    calls = [lambda: made, interrupted, lambda: made]
    _compile.compile_each(calls, ended, reports, shown.append, lambda: concluded.append(True))
    assert reports == shown == [made]
    assert ended.interrupted
    assert ended.problems == ["Interrupted: 2 of 3 compilations were not done."]
    # By the command, which goes on; only a process that is ended concludes by itself.
    assert not concluded


STUCK = """
import ctypes
from stratax.cli import _compile
from stratax.command.rehearsal import ProgramReport, parse_topology

made = ProgramReport(name="f", topology=parse_topology("v3-8"), compile_seconds=1.0)

def stuck():
    # As in a compiler, Python hears of nothing in here: a lock that is held already.
    lock, mutex = ctypes.CDLL(None).pthread_mutex_lock, ctypes.create_string_buffer(256)
    lock(mutex)
    print("stuck", flush=True)
    lock(mutex)

ended, reports = _compile.End(), []
show = lambda report: print(report.name)
_compile.compile_each([lambda: made, stuck], ended, reports, show, lambda: print(ended.problems, len(reports)))
print("not ended at once")
"""


@pytest.mark.processes
def test_ctrl_c_ends_a_compilation_that_python_cannot_break_off():
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["f\n", "stuck\n"]
        time.sleep(0.5)  # It says so before it is.
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert time.monotonic() - started < 15
    assert process.returncode == 130
    assert printed == "['Interrupted: 1 of 2 compilations were not done.'] 1\n"


def test_unknown_topologies_list_the_known_ones(capsys, tmp_path):
    assert command.run(["compile", "--topology", "v5e:5x5", "program.py"]) == 2
    assert "v5e:16x16" in capsys.readouterr().err


def test_without_libtpu_it_is_said_what_to_install(capsys, monkeypatch):
    import importlib.metadata

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert command.run(["compile", "program.py"]) == 1
    assert "pip install 'stratax-train[tpu-compile]'" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("stratax.command.rehearsal.check_installed", lambda: None, raising=False)
    assert command.run(["compile", "no_such_program.py"]) == 2
    assert "no program to compile" in capsys.readouterr().err


def test_a_report_is_values_of_json():
    collective = Collective(kind="all-reduce", bytes=8, group=8, times=None)
    report = ProgramReport(
        name="step", topology=parse_topology("v5e:2x4"), compile_seconds=1.0, collectives=[collective]
    )
    found = json.loads(json.dumps(report.as_dict()))
    assert found["topology"] == "v5e:2x4"
    assert found["devices"] == 8
    assert found["collectives"] == [
        {"kind": "all-reduce", "bytes": 8, "group": 8, "times": None}
        | {"dtype": "", "elements": 0, "operation": "", "overlaps": False, "variable": ""}
    ]


@pytest.mark.programs
@needs_libtpu
@pytest.mark.processes
def test_a_program_is_compiled_for_the_slices_that_are_named(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SMALL.replace('["/cpu:0", "/cpu:1"]', "") + "model.fit(x, y, verbose=0)")
    options = ("--topology", "v3-8", "--topology", "v5e-16", "--json")
    done = forks.run(["-m", "stratax", "compile", *options, path], dict(os.environ))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["fits"]
    assert [(each["topology"], each["devices"]) for each in found["programs"]] == [
        ("v3:2x2", 8),
        ("v5e:4x4", 16),
    ]
    for each in found["programs"]:
        assert each["memory"]["reused"] >= each["memory"]["donated"] > 0
        assert {one["group"] for one in each["collectives"]} == {each["devices"]}
