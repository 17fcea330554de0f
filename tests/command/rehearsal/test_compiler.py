"""What the compiler says is told with what to do about it, and libtpu is looked for before anything is traced."""

import importlib.metadata
import os

import jax
import jax.numpy as jnp
import pytest

import stratax as sx
from stratax import errors
from stratax.command.rehearsal import Catcher, _compiler, check_installed
from stratax.core.regions import MadeProgram
from tests.command.rehearsal.devices import needs_libtpu, topology_of


def with_version(monkeypatch, found):
    real = importlib.metadata.version

    def version(name):
        if name != "libtpu":
            return real(name)
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_without_libtpu_it_is_said_how_to_install_it(monkeypatch):
    with_version(monkeypatch, None)
    with pytest.raises(
        errors.MissingPackageError, match=r"not installed.*pip install 'stratax-train\[tpu-compile\]'"
    ):
        check_installed()


def test_another_version_than_jax_expects_is_refused(monkeypatch):
    with_version(monkeypatch, "0.0.1")
    with pytest.raises(
        errors.MissingPackageError, match=r"Received: libtpu 0\.0\.1.*pip install 'libtpu==\d"
    ):
        check_installed()


def test_any_build_of_the_expected_version_does(monkeypatch):
    with_version(monkeypatch, _compiler._find_expected_version().replace("*", "1"))
    check_installed()


@pytest.mark.parametrize(
    ("found", "expected", "fits"),
    [
        ("0.0.42.1", "0.0.42.*", True),
        ("0.0.42", "0.0.42.*", True),
        ("0.0.421", "0.0.42.*", False),
        ("1.0", "1.0", True),
    ],
)
def test_versions_are_compared_part_by_part(found, expected, fits):
    assert _compiler._fits(found, expected) is fits


def test_too_little_memory_is_told_with_what_is_needed():
    message = (
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 20.50G of "
        "15.75G hbm. Exceeded hbm capacity by 4.75G.\n\nTotal hbm usage >= 20.75G:"
    )
    failure = _compiler._failure(RuntimeError(message))
    assert failure.kind == "memory"
    assert failure.needed_bytes == int(20.5 * 2**30)
    assert "smaller batches" in failure.remedy
    assert "\n" not in failure.message
    earlier = (
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (41.94G) exceeds "
        "available HBM (15.48G)."
    )
    assert _compiler._failure(RuntimeError(earlier)).needed_bytes == int(41.94 * 2**30)


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("Cannot serialize code with custom calls: xla_ffi_python_cpu_callback", "calls Python"),
        ("UNIMPLEMENTED: Dynamic shape is not supported", "size depends on values"),
        ("While rewriting computation to not contain X64 element types", "64 bits"),
        ("something else", ""),
    ],
)
def test_known_reasons_have_a_remedy(message, remedy):
    failure = _compiler._failure(RuntimeError(message))
    assert failure.kind == "compiler"
    assert remedy in failure.remedy
    assert bool(failure.remedy) is bool(remedy)


def test_what_libtpu_is_told_is_not_left_behind(monkeypatch):
    monkeypatch.setenv("TPU_WORKER_ID", "3")
    monkeypatch.delenv("TPU_SKIP_MDS_QUERY", raising=False)
    with _compiler._without_tpu():
        assert os.environ["TPU_SKIP_MDS_QUERY"] == "1"
        assert os.environ["TPU_WORKER_ID"] == "3"
    assert "TPU_SKIP_MDS_QUERY" not in os.environ
    assert os.environ["TPU_WORKER_ID"] == "3"


def test_the_line_is_the_programs_own():
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("no")
    assert _compiler._failure(raised.value).place.startswith(__file__)
    named = 'UNIMPLEMENTED: op metadata={op_name="x" source_file="/home/me/train.py" source_line=12}'
    assert _compiler._place_of_operation(named, None) == "/home/me/train.py:12"


def test_an_operation_that_can_not_be_lowered_is_found_in_the_program():
    def step(x):
        return jnp.linalg.eigvals(x)

    specs = (jax.ShapeDtypeStruct((2, 2), "float32"),)
    made = MadeProgram(name="step", compiled=jax.jit(lambda x: jax.jit(step)(x)), donated=(), arguments=specs)
    message = "MLIR translation rule for primitive 'eig' not found for platform tpu"
    line = step.__code__.co_firstlineno + 1
    assert _compiler._failure(NotImplementedError(message), made).place == f"{__file__}:{line}"
    assert _compiler._failure(NotImplementedError(message.replace("eig", "nothing")), made).place == ""
    # As the compiler names it, with its own functions behind.
    message = (
        "UNIMPLEMENTED: Only F32 is implemented in EigDecomposition; got f64[2,2]:     @     0x7f2ea2  xla()"
    )
    failure = _compiler._failure(RuntimeError(message), made)
    assert failure.place == f"{__file__}:{line}"
    assert failure.message.endswith("got f64[2,2]")


@needs_libtpu
def test_replicas_that_take_nothing_divided_run_on_all_devices():
    catcher = Catcher()
    strategy = sx.distribute.MirroredStrategy()
    step = sx.function(lambda x: strategy.run(lambda x: x * 2, (x,)))
    with catcher.catching():
        step(jnp.ones(4))
    assert _compiler.compile_for(catcher.caught[0], topology_of("v3-8")).num_devices == 8
