"""What the examples run compiles for TPUs: each runs on simulated cores as `stratax compile` runs it, in a process."""

import json

import pytest

from tests.cluster import forks
from tests.command.rehearsal.devices import needs_libtpu
from tests.examples.test_programs import CHECKOUT, SMALL, photographs
from tests.stressed import but

pytestmark = [needs_libtpu, pytest.mark.processes, pytest.mark.programs]

PROGRAM = """
import json, pathlib, sys
import jax
from stratax.cli._compile import run_to_catch
from stratax.command.rehearsal import Catcher, compile_for, parse_topology

names, (program, *arguments) = sys.argv[1].split(","), sys.argv[2:]
catcher = Catcher(limit=40)
ended = run_to_catch(pathlib.Path(program), (program, *arguments), catcher, 200)
# How fast it would run is not asked here.
jax.config.update("jax_exec_time_optimization_effort", -1.0)
# One of each name: the second call of fit has a program like that of the first.
programs = {made.name: made for made in reversed(catcher.caught)}.values()
reports = [compile_for(made, parse_topology(name)) for name in names for made in programs]
failures = [f"{each.name} on {each.topology.name}: {each.failure}" for each in reports if not each.fits]
found = [(each.name, each.num_devices, each.topology.num_devices) for each in reports]
print(json.dumps({"problems": ended.problems + failures, "found": found}))
"""


def programs_of(program, *arguments, folder, names, simulate="tpu:2"):
    """The names of the programs that an example runs, and those of them that all devices of each slice compute."""
    environment = forks.environment_of_a_task() | {"STRATAX_SIMULATE": simulate, "HOME": str(folder)}
    done = forks.run(["-c", PROGRAM, names, CHECKOUT / "examples" / program, *arguments], environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["problems"] == []
    found = report["found"]
    assert all(used in (1, there) for _, used, there in found)
    return {name for name, *_ in found}, {name for name, used, _ in found if used > 1}


# Convolutions take seconds to compile, and are the same in all of these: each example has another slice.
FIT = {"train_function", "test_function"}
ALL = "v3-8,v4-8,v5e-8"
STEPS = {"train_step", "train_multiple_steps"}
# For which slices; the arguments; which programs run on all cores, and which on one.
CASES = {
    "cloud_tpu_gradient_descent.py": (ALL, (), set(), {"training_step"}),
    "cloud_tpu_session.py": (ALL, (), {"call_for_each_replica"}, set()),
    "use_tpus.py": ("v4-8", SMALL, FIT | STEPS | {"call_for_each_replica"}, set()),
    "save_and_load.py": (
        "v3-8",
        ("--strategy", "tpu", *SMALL),
        FIT | {"predict_function", "call_for_each_replica"},
        {"__call__"},
    ),
    "mnist_records.py": ("v3-8", ("--strategy", "tpu", *SMALL), FIT, set()),
    "many_workers.py": ("v4-8", ("--limit", "60", "--epochs", "1"), FIT, set()),
}
# The others are one more model of convolutions each, which takes 10 to 20 s of the processor.
QUICK = {"cloud_tpu_gradient_descent.py", "cloud_tpu_session.py", "use_tpus.py"}


@pytest.mark.parametrize("program", but(lambda program: program in QUICK, CASES))
def test_its_programs_compile(program, tmp_path):
    names, arguments, on_all, on_one = CASES[program]
    assert programs_of(program, *arguments, folder=tmp_path, names=names) == (on_all | on_one, on_all)


def test_those_of_the_guide_compile_for_a_pod_too(tmp_path):
    arguments = ("distributed_training_guide.py", "--strategy", "tpu")
    wanted = FIT | {"train_step", "train", "evaluate"}
    # On eight cores its loop ends before it would be cut short.
    found = programs_of(*arguments, folder=tmp_path, names=f"{ALL},v4-2048", simulate="tpu:8")
    assert found == (wanted, wanted)


def test_those_of_photographs_compile(tmp_path):
    photographs(tmp_path)
    options = ("--strategy", "tpu", "--data", tmp_path, "--batch-size", "8", "--width", "2", "--epochs", "1")
    assert programs_of("flowers.py", *options, folder=tmp_path, names="v5e-8") == (FIT, FIT)


@pytest.mark.stress
def test_those_of_small_photographs_compile(tmp_path):
    photographs(tmp_path)
    options = ("--data", tmp_path / "images.zip", "--batch-size", "2", "--epochs", "1")
    assert programs_of("cloud_tpu_cifar10.py", *options, folder=tmp_path, names="v3-8") == (FIT, FIT)


BOTH = {"train", "evaluate"}


def test_those_of_digits_with_a_tpu_estimator_compile(tmp_path):
    sizes = ("--limit=64", "--batch_size=16", "--iterations=2", "--train_steps=2")
    options = ("--use_tpu", *sizes, f"--model_dir={tmp_path / 'digits'}")
    assert programs_of("mnist_tpu_estimator.py", *options, folder=tmp_path, names="v3-8") == (BOTH, BOTH)


@pytest.mark.stress
def test_those_of_photographs_with_a_tpu_estimator_compile(tmp_path):
    photographs(tmp_path)
    sizes = ("--train_batch_size=8", "--steps_per_eval=2", "--train_steps=2")
    folders = (
        f"--data={tmp_path}",
        f"--records={tmp_path / 'records'}",
        f"--output_dir={tmp_path / 'flowers'}",
    )
    options = ("--use_tpu", *folders, *sizes)
    assert programs_of("flowers_tpu_estimator.py", *options, folder=tmp_path, names="v4-8") == (BOTH, BOTH)
