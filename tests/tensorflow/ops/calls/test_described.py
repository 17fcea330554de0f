"""Functions that are made of what is their own have a signature, a docstring and errors as if they were written out."""

import inspect

import pytest

from stratax.tensorflow.ops.calls.described import docstring, make_function, parameter
from stratax.tensorflow.v1 import losses, metrics

_METRICS = sorted(name for name in dir(metrics) if inspect.isfunction(getattr(metrics, name)))


def _made():
    parameters = [parameter("rate", float), parameter("step", int, 3)]
    return make_function("falling", "a.module", parameters, dict, "Fall.", dict)


def test_a_function_has_what_it_is_made_of():
    falling = _made()
    assert (falling.__name__, falling.__module__, falling.__doc__) == ("falling", "a.module", "Fall.")
    assert str(inspect.signature(falling)) == "(rate: float, step: int = 3) -> dict"
    assert inspect.get_annotations(falling) == {"rate": float, "step": int, "return": dict}


def test_a_call_gives_arguments_by_name_with_defaults():
    assert _made()(0.5) == {"rate": 0.5, "step": 3}
    assert _made()(step=4, rate=1) == {"rate": 1, "step": 4}


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"^falling\(\) missing a required argument: 'rate'$"),
        ((1,), {"stp": 2}, r"^falling\(\) got an unexpected keyword argument 'stp'$"),
        ((1, 2, 3), {}, r"^falling\(\) too many positional arguments$"),
    ],
)
def test_a_wrong_call_names_the_function(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        _made()(*args, **kwargs)


def test_long_lines_of_a_docstring_are_broken():
    doc = docstring("Fall.", {"Args": {"rate": "word " * 30}, "Returns": "word " * 30})
    assert max(map(len, doc.splitlines())) <= 116
    assert [len(line) - len(line.lstrip()) for line in doc.splitlines() if line.startswith(" ")] == [
        4,
        8,
        4,
        4,
    ]


@pytest.mark.parametrize("name", _METRICS)
def test_a_metric_describes_each_of_its_arguments(name):
    function = getattr(metrics, name)
    described = inspect.getdoc(function).partition("Args:\n")[2].partition("\n\n")[0]
    for argument in inspect.signature(function).parameters:
        assert f"    {argument}: " in described
    assert list(inspect.signature(function).parameters)[-1] == ("thresholds" if name == "auc" else "name")


@pytest.mark.parametrize(
    "name", ["cosine_distance", "hinge_loss", "huber_loss", "mean_squared_error", "softmax_cross_entropy"]
)
def test_a_loss_describes_each_of_its_arguments(name):
    function = getattr(losses, name)
    described = inspect.getdoc(function).partition("Args:\n")[2].partition("\n\n")[0]
    parameters = inspect.signature(function).parameters
    for argument in parameters:
        assert f"    {argument}: " in described
    assert parameters["weights"].default == 1.0
    assert parameters["reduction"].default == losses.Reduction.SUM_BY_NONZERO_WEIGHTS
    with pytest.raises(TypeError, match=rf"^{name}\(\) missing a required argument"):
        function()
