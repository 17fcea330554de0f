"""Programs that say `import tensorflow`, each run as it is by `stratax run` or `stratax launch --as-tensorflow`.

Those in `docs/programs/originals` are the documents' own; those in `unchanged` are written as such programs are.
"""

import os
import pathlib
import re

import pytest

from tests.cluster import forks

CHECKOUT = pathlib.Path(__file__).parents[2]
ORIGINALS = CHECKOUT / "docs" / "programs" / "originals"
UNCHANGED = pathlib.Path(__file__).parent / "unchanged"

pytestmark = [pytest.mark.processes, pytest.mark.programs]


def run(*arguments, simulate="", command=("run",)):
    """What a program prints that is run as it is."""
    done = forks.run(["-m", "stratax", *command, *arguments], {**os.environ, "STRATAX_SIMULATE": simulate})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_articles_gradient_descent_runs_unchanged():
    printed = run(ORIGINALS / "cloud_tpu_gradient_descent.py", simulate="tpu:8")
    assert printed.splitlines()[-1] == "0.0022596875205636024 @ [0.01152921 0.04611686]"


@pytest.mark.stress
def test_the_articles_session_runs_unchanged():
    printed = run(ORIGINALS / "cloud_tpu_session.py", simulate="tpu:8")
    doubled = re.findall(r"(\d): tf\.Tensor\(\[(\d+)\], shape=\(1,\)", printed)
    assert doubled == [(str(i % 8), str(2 * i)) for i in range(16)]


@pytest.mark.parametrize("program", ["mnist_tpu_estimator.py", "flowers_tpu_estimator.py"])
def test_programs_with_flags_explain_them_unchanged(program):
    # `--help` ends with an error code, after everything was imported.
    done = forks.run(["-m", "stratax", "run", ORIGINALS / program, "--help"], dict(os.environ))
    assert "--[no]use_tpu: Whether to train on a TPU." in done.stdout, done.stderr


@pytest.mark.stress
def test_the_guide_runs_unchanged():
    printed = run(ORIGINALS / "distributed_training_guide.py", simulate="gpu:2")
    assert len(re.findall(r"^0\.0$", printed, re.MULTILINE)) == 110


@pytest.mark.parametrize(
    "simulate", ["tpu:2", *(pytest.param(s, marks=pytest.mark.stress) for s in ("", "tpu:8"))]
)
def test_a_classifier_for_tpus_runs_unchanged(simulate, tmp_path):
    printed = run(UNCHANGED / "classify_on_tpu.py", tmp_path, simulate=simulate)
    assert f"replicas {simulate.partition(':')[2] or 1}\n" in printed
    assert "rates [0.001, 0.0005]\nclasses [b'is dark' b'is light']\n" in printed
    assert len(re.findall(r"^4/4 .* val_loss: ", printed, re.MULTILINE)) == 2
    lines = (tmp_path / "submission.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", *(f"p{number:03}" for number in range(10))]


# What TensorFlow 2.21 prints in two processes: in a first run, and in a second one, which goes on.
EPOCHS = (
    "epoch 0 loss [0.69915, 0.66638, 0.66383] test 0.62580 accuracy 0.542",
    "epoch 1 loss [0.64561, 0.60226, 0.62496] test 0.58676 accuracy 0.542",
)


@pytest.mark.parametrize("runs", [1, pytest.param(2, marks=pytest.mark.stress)])
def test_a_loop_of_two_workers_runs_unchanged_and_goes_on(runs, tmp_path):
    command = ("launch", "--as-tensorflow", "--workers", "2", str(UNCHANGED / "loop_of_workers.py"))
    for number in range(runs):
        printed = run(tmp_path, number + 1, command=command)
        epochs = sorted(line for line in printed.splitlines() if " epoch " in line)
        assert epochs == [f"[worker {worker}] {EPOCHS[number]}" for worker in range(2)]
