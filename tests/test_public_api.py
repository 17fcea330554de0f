import enum
import inspect
import pickle
import types

import pytest

from tests import public_api

MODULES = public_api.public_modules()


def public_values():
    for module in MODULES:
        for name in public_api.public_names(module):
            yield f"{module.__name__}.{name}", getattr(module, name)


def test_every_public_name_and_signature_is_as_written_down():
    difference = public_api.difference(public_api.describe(MODULES))
    assert not difference, f"The public API has changed:\n{difference}\nIf that is intended, run: make api"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_name_in_all_exists_once(module):
    names = list(getattr(module, "__all__", []))
    assert [name for name in names if not hasattr(module, name)] == []
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("stratax.core", True),
        ("stratax.core.regions", False),
        ("stratax.data.plan", False),
        ("stratax.data._x", False),
        ("stratax.tensorflow.ops", False),
        ("stratax.tensorflow.ops.math.linalg", False),
        ("stratax.tf.data.experimental", True),
        ("stratax.tf._names", False),
        ("stratax.convert.beam", True),
        ("stratax.base.doors", False),
    ],
)
def test_a_module_is_for_users_or_for_other_packages_by_its_place(module, expected):
    assert public_api.is_for_users(module) is expected


def test_every_public_function_and_class_has_a_docstring():
    documented = (
        path for path, value in public_values() if isinstance(value, type) or inspect.isroutine(value)
    )
    values = dict(public_values())
    assert [path for path in documented if not inspect.getdoc(values[path])] == []


def test_every_public_method_and_property_has_a_docstring():
    lacking = []
    for path, cls in public_values():
        if not isinstance(cls, type) or issubclass(cls, enum.Enum):
            continue
        for name, member in public_api.public_members(cls).items():
            is_code = inspect.isroutine(member) or isinstance(member, property | staticmethod | classmethod)
            if is_code and not inspect.getdoc(getattr(cls, name)):
                lacking.append(f"{path}.{name}")
    assert lacking == []


class _Base:
    def inherited(self, x, *, y=1):
        """Is inherited."""


class _Example(_Base):
    answer = 42

    def __init__(self, size, /, *rest, fill=None):
        self.size = size

    def method(self, x: int = 3) -> int:
        return x

    @staticmethod
    def static(a):
        return a

    @property
    def width(self):
        return 1

    def _hidden(self):
        return None


def _module(**values):
    module = types.ModuleType("example")
    module.__all__ = sorted(values)
    vars(module).update(values)
    return module


def test_a_class_is_described_with_its_members_and_those_it_inherits():
    assert public_api.describe([_module(Example=_Example)]) == [
        "example.Example(size, /, *rest, fill=None)",
        "example.Example.answer: attribute",
        "example.Example.inherited(self, x, *, y=1)",
        "example.Example.method(self, x=3)",
        "example.Example.static(a) staticmethod",
        "example.Example.width: property",
        "example.Example: class(_Base)",
    ]


def test_what_a_class_inherits_from_a_public_one_is_described_there_only():
    lines = public_api.describe([_module(Base=_Base, Example=_Example)])
    assert "example.Base.inherited(self, x, *, y=1)" in lines
    assert "example.Example: class(_Base)" in lines
    assert not any("Example.inherited" in line for line in lines)


def test_the_signature_of_an_exception_or_enumeration_is_not_described():
    class Failure(Exception):
        pass

    class Color(enum.Enum):
        RED = 1

    assert public_api.describe([_module(Color=Color, Failure=Failure)]) == [
        "example.Color.RED: attribute",
        "example.Color: class(Enum)",
        "example.Failure: class(Exception)",
    ]


def test_another_default_or_argument_changes_the_description():
    before = public_api.describe([_module(f=lambda x, y=1: None)])
    assert before == ["example.f(x, y=1)"]
    assert public_api.describe([_module(f=lambda x, y=2: None)]) != before
    assert public_api.describe([_module(f=lambda x, z=1: None)]) != before


def test_a_default_without_a_stable_text_is_described_without_its_address():
    marker = object()
    assert public_api.describe([_module(f=lambda x=marker: None)]) == ["example.f(x=<object object>)"]


def test_a_name_with_two_paths_is_described_at_one_and_refers_to_it_at_the_other():
    outer, inner = _module(f=_Base.inherited), _module(g=_Base.inherited)
    inner.__name__ = "example.inner"
    assert public_api.describe([inner, outer]) == [
        "example.f(self, x, *, y=1)",
        "example.inner.g is example.f",
    ]


def test_constants_and_modules_are_described_by_their_kind():
    assert public_api.describe([_module(LIMIT=3, kinds=enum)]) == [
        "example.LIMIT: int",
        "example.kinds: module enum",
    ]


def test_a_difference_from_the_snapshot_is_shown_as_a_diff(tmp_path, monkeypatch):
    snapshot = tmp_path / "public_api.txt"
    snapshot.write_text("a\nb\n")
    monkeypatch.setattr(public_api, "SNAPSHOT", snapshot)
    assert public_api.difference(["a", "b"]) == ""
    assert public_api.difference(["a", "c"]).splitlines()[-2:] == ["-b", "+c"]


def test_classes_show_the_door_that_users_take_them_from():
    """In their `repr` and in errors; they are pickled by that path."""
    # Keras looks for what it has saved in the `__dict__` of a module, where a door has only what was used.
    shown = {
        value: path
        for path, value in public_values()
        if isinstance(value, type)
        and value.__module__.split(".")[0] == "stratax"
        and not hasattr(value, "get_config")
    }
    assert len(shown) > 300
    inner = [f"{path}: {cls!r}" for cls, path in shown.items() if not public_api.is_shown_to_users(cls)]
    # A door that has a class by another name than its own can't be where it is found.
    assert [
        each for each in inner if each.partition(":")[0].endswith(f".{each.rpartition('.')[2][:-2]}")
    ] == []
    assert len(inner) < 10
    assert [path for cls, path in shown.items() if pickle.loads(pickle.dumps(cls)) is not cls] == []


def test_of_several_doors_a_class_shows_the_one_of_the_reference():
    import stratax as sx
    import stratax.tf as tf

    assert repr(tf.data.Dataset) == "<class 'stratax.data.Dataset'>"
    assert repr(tf.TensorSpec) == "<class 'stratax.data.TensorSpec'>"
    assert repr(tf.estimator.Estimator) == "<class 'stratax.estimator.Estimator'>"
    assert repr(tf.TensorArray) == "<class 'stratax.tf.TensorArray'>"
    assert repr(sx.errors.DataError) == "<class 'stratax.errors.DataError'>"
    assert repr(sx.Variable) == "<class 'stratax.Variable'>"
