"""Every public name of `stratax.tf` is compared with TensorFlow by a case, or is tested by its name elsewhere."""

import importlib
import inspect
import pathlib
import re

import stratax.tf as tf
from stratax.base import doors
from tests.golden import surface

TESTS = pathlib.Path(__file__).parents[1]
# What another library makes and documents, and `tf` only names.
LIBRARIES = ("absl", "keras", "google", "tensorboard")
# Names that tests meet through another name: aliases of one function, or names that a test composes.
COMPOSED = re.compile(
    r"(true|false)_(positives|negatives)_at_thresholds$|(precision|recall)_at_thresholds$"
    r"|(average_|max_)pooling[123]d$|(Average|Max)Pooling[123]D$|(Separable)?Conv[123]D(Transpose)?$"
)
# What has no behaviour of its own: a constant, or a class that users only see instances of.
WITHOUT_BEHAVIOUR = {
    *("COMPILER_VERSION", "GIT_VERSION", "GRAPH_DEF_VERSION_MIN_PRODUCER", "FATAL", "Finding", "LocalDevice"),
    *("SummaryDescription", "TaggedRunMetadata", "PaddingSpec", "XLAOptions", "Operation", "Topology"),
    *(
        "VariableScope",
        "Head",
        "DNNLinearCombinedEstimator",
        "get_virtual_device_configuration",
        "SummaryWriter",
        "TPUSystemMetadata",
        "NewCheckpointReader",
    ),
    *("AutotuneOptions", "DistributeOptions", "OptimizationOptions"),
}


def cases():
    for path in (TESTS / "golden" / "surface").glob("[!_]*.py"):
        yield from importlib.import_module(f"tests.golden.surface.{path.stem}").CASES


def compared():
    """The identities of what the cases name."""
    names = {name for case in cases() for name in surface.names_in(case.code)}
    found = set()
    for name in names:
        value = tf
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
            if value is None:
                break
            found.add(id(value))
    return found


def is_of_a_library(value):
    return (getattr(value, "__module__", None) or "").split(".")[0] in LIBRARIES


def test_every_public_name_is_compared_with_tensorflow_or_named_by_a_test():
    words = set(re.findall(r"\w+", " ".join(path.read_text("utf-8") for path in TESTS.rglob("*.py"))))
    public = [
        (f"{door}.{name}", name, getattr(importlib.import_module(door), name))
        for door, names in doors.read_tables("stratax.tf").items()
        for name in names
    ]
    # An alias is known with what it names.
    known = compared() | {id(value) for _, name, value in public if name in words or COMPOSED.match(name)}
    unknown = [
        path
        for path, name, value in public
        if not (inspect.ismodule(value) or is_of_a_library(value))
        and id(value) not in known
        and name not in WITHOUT_BEHAVIOUR
    ]
    assert not unknown, f"{unknown}: Add cases to tests/golden/surface, or tests."
