import dataclasses
import functools
import traceback
import types
import warnings

import jax.numpy as jnp
import keras
import pytest

from stratax import core, errors
from stratax.core.autograph import _autograph

SCALE = 3.0


def powers(x, n):
    for _ in core.range(n):
        x = x * 2
    return x


@core.do_not_convert
def unrolled(x, n):
    for _ in core.range(n):
        x = x * 2
    return x


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@logged
def decorated(x, n):
    return powers(x, n)


class Doubler:
    def __init__(self, times):
        self.times = times

    def __call__(self, x):
        for _ in core.range(self.times):
            x = x * 2
        return x

    @property
    def twice(self):
        return self.times * 2

    def method(self, x, extra=1):
        return self(x) + extra


class Derived(Doubler):
    def __init__(self, times):
        super().__init__(times)

    def method(self, x, extra=1):
        return super().method(x, extra) * 10


def test_functions_keep_their_defaults_closure_name_and_documentation():
    offset = 5.0

    def original(x, n=2, *, scale=SCALE):
        """What it does."""
        for _ in core.range(n):
            x = x * scale + offset
        return x

    converted = _autograph.convert(original)
    assert converted is not original
    assert converted.__name__ == "original"
    assert converted.__doc__ == "What it does."
    assert converted.__defaults__ == (2,)
    assert converted.__kwdefaults__ == {"scale": SCALE}
    assert converted(1.0) == original(1.0)
    offset = 6.0
    assert converted(1.0, n=1, scale=1.0) == 7.0


def test_functions_called_from_a_converted_one_are_converted_too():
    @core.function
    def run(x, n):
        return powers(x, n) + decorated(x, n) + functools.partial(powers, n=n)(x)

    assert float(run(jnp.float32(1.0), jnp.int32(3))) == 24.0


def squared_powers(x):
    return powers(x, 3) ** 2 if x > 0 else x


def test_functions_that_are_differentiated_are_converted_too():
    @core.function
    def run(x):
        return core.value_and_grad(squared_powers)(x)

    assert [float(value) for value in run(jnp.float32(1.0))] == [64.0, 128.0]
    assert [float(value) for value in run(jnp.float32(-1.0))] == [-1.0, 1.0]


def test_methods_callable_objects_properties_and_super_work():
    doubler = Doubler(jnp.int32(2))

    @core.function
    def run(x, doubler, other):
        return doubler(x), doubler.method(x, extra=2), doubler.twice, other.method(x)

    plain, extra, twice, derived = run(jnp.float32(1.0), doubler, Derived(3))
    assert (float(plain), float(extra), int(twice), float(derived)) == (4.0, 6.0, 4, 90.0)


def test_methods_decorated_with_function_are_converted():
    class Model:
        factor = 2.0

        @core.function
        def run(self, x, n):
            for _ in core.range(n):
                x = x * self.factor
            return x

    model = Model()
    assert float(model.run(jnp.float32(1.0), jnp.int32(4))) == 16.0


def test_functions_inside_functions_lambdas_and_comprehensions_work():
    @core.function
    def run(x):
        def inner(y):
            for _ in core.range(2):
                y = y * 2
            return y

        double = lambda y: inner(y) if y is not None else None  # noqa: E731
        return [double(x + i) for i in range(2)], {k: v * 2 for k, v in zip("ab", (1, 2), strict=True)}

    results, mapping = run(jnp.float32(1.0))
    assert [float(result) for result in results] == [4.0, 8.0]
    assert {k: int(v) for k, v in mapping.items()} == {"a": 2, "b": 4}


def test_dataclasses_with_statements_and_try_work():
    @dataclasses.dataclass
    class Pair:
        left: float
        right: float

    @core.function
    def run(x):
        pair = Pair(1.0, right=2.0)
        try:
            with keras.name_scope("part"):
                x = x + pair.left
                raise ValueError("inside")
        except ValueError as error:
            x = x + len(str(error))
        finally:
            x = x * pair.right
        return x

    assert float(run(jnp.float32(1.0))) == 16.0


def test_functions_marked_do_not_convert_are_left_to_python():
    @core.function
    def run(x, n):
        return unrolled(x, n)

    assert _autograph.convert(unrolled) is unrolled
    assert float(run(jnp.float32(1.0), 3)) == 8.0
    with pytest.raises(errors.TracingError, match="Python can't go through"):
        run(jnp.float32(1.0), jnp.int32(3))


def test_autograph_can_be_switched_off():
    @core.function(autograph=False)
    def run(x):
        for _ in core.range(3):
            x = x * 2
        return x

    assert not [e for e in run.jaxpr(jnp.float32(1.0)).jaxpr.eqns if e.primitive.name == "scan"]
    assert float(run(jnp.float32(1.0))) == 8.0


@pytest.mark.parametrize("function", [keras.ops.mean, jnp.sum, dataclasses.replace, core.value_and_grad])
def test_code_of_libraries_is_not_converted(function):
    target = getattr(function, "__wrapped__", function)
    assert isinstance(target, types.FunctionType)
    assert _autograph.convert(target) is target


def test_a_function_without_source_runs_as_python_and_warns_once():
    namespace = {"core": core}
    exec("def run(x):\n  for _ in core.range(2):\n    x = x * 2\n  return x", namespace)
    with pytest.warns(RuntimeWarning, match="control flow of 'run'.*runs as Python"):
        assert _autograph.convert(namespace["run"]) is namespace["run"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _autograph.convert(namespace["run"]) is namespace["run"]
    assert float(core.function(namespace["run"])(jnp.float32(1.0))) == 4.0


def test_what_autograph_does_not_know_runs_as_python_and_warns():
    def run(x):
        for _ in core.range(2):
            x = x * 2
        match 1:
            case 1:
                x = x + 1
        return x

    with pytest.warns(RuntimeWarning, match="match"):
        assert float(core.function(run)(jnp.float32(1.0))) == 5.0


def test_functions_without_calls_or_control_flow_are_left_alone():
    def add(x, y):
        return x + y

    assert _autograph.convert(add) is add
    assert _autograph.convert(3) == 3


def test_generators_are_left_alone():
    def numbers():
        yield from range(3)

    @core.function
    def run(x):
        for number in numbers():
            x = x + number
        return x

    assert _autograph.convert(numbers) is numbers
    assert float(run(jnp.float32(1.0))) == 4.0


def test_tracebacks_show_the_users_file_and_line():
    @core.function
    def run(x):
        for _ in core.range(2):
            if x is not None:
                raise ZeroDivisionError("from the user's line")
        return x

    with pytest.raises(ZeroDivisionError, match="from the user's line") as caught:
        run(jnp.float32(1.0))
    frames = traceback.extract_tb(caught.value.__traceback__)
    last = frames[-1]
    assert last.filename == __file__
    assert last.line == 'raise ZeroDivisionError("from the user\'s line")'
    assert any(frame.name == "run" and frame.line == "for _ in core.range(2):" for frame in frames)


def test_pythons_range_over_an_array_says_what_to_use():
    @core.function
    def run(x, n):
        for _ in range(n):
            x = x * 2
        return x

    with pytest.raises(errors.TracingError, match="Use `stratax.range`"):
        run(jnp.float32(1.0), jnp.int32(3))


def test_recursion_and_globals_work():
    assert float(factorial(jnp.float32(1.0), 4)) == 24.0


@core.function
def factorial(x, n):
    if n == 0:
        return x
    return factorial(x * n, n - 1)


def test_locals_and_globals_are_those_of_the_function():
    @core.function
    def run(x):
        value = 2.0
        return x * locals()["value"] * globals()["SCALE"] * eval("value")

    assert float(run(jnp.float32(1.0))) == 12.0


def test_options_of_a_loop_are_taken_but_for_an_end_of_its_own():
    core.set_loop_options(parallel_iterations=1, shape_invariants=[])
    with pytest.raises(ValueError, match="maximum_iterations=3"):
        core.set_loop_options(maximum_iterations=3)
