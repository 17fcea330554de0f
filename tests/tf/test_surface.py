"""`stratax.tf` computes what TensorFlow 2.21 computes: result, dtype and shape of every case of every family."""

import builtins
import importlib
import json
import pathlib
import zlib

import numpy as np
import pytest

import stratax.tf as tf
from tests.golden import surface

FOLDER = pathlib.Path(surface.__file__).parent
FAMILIES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
CASES = {family: importlib.import_module(f"tests.golden.surface.{family}").CASES for family in FAMILIES}
GOLDEN = {family: json.loads((FOLDER / f"{family}.json").read_text("utf-8")) for family in FAMILIES}
# One program computes so many cases: a compilation for each would take minutes.
CASES_OF_A_PROGRAM = 40
# What a device has in place of the dtypes of 64 bits.
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


# Kinds of TensorFlow's errors that say no more than that arguments are wrong.
WRONG_ARGUMENTS = (
    tf.errors.InvalidArgumentError,
    NotImplementedError,
    LookupError,
    tf.errors.FailedPreconditionError,
)


def kind_of(name):
    """The errors that a program that catches TensorFlow's error of a name would catch."""
    plain = getattr(builtins, name, None)
    if plain is None or plain is NotImplementedError:
        return WRONG_ARGUMENTS
    return plain if plain is ValueError else (plain, tf.errors.InvalidArgumentError)


def check(case, value, expected):
    got = surface.leaves(value)
    assert len(got) == len(expected), f"{case}: {len(got)} arrays, expected {len(expected)}"
    for index, (leaf, golden) in enumerate(zip(got, expected, strict=True)):
        what = f"{case}, array {index}"
        if golden is None or leaf is None:
            assert golden is leaf, what
            continue
        dtype, shape, values = golden
        found_dtype, found_shape, found_values = surface.written(leaf)
        assert found_shape == shape, f"{what}: shape {found_shape}, expected {shape}"
        assert found_dtype in (dtype, NARROW.get(dtype)), f"{what}: dtype {found_dtype}, expected {dtype}"
        if dtype == "text":
            assert found_values == values, what
        else:
            scale = np.max(np.abs(np.nan_to_num(np.array(values, float), posinf=0, neginf=0)), initial=1.0)
            np.testing.assert_allclose(
                found_values, values, rtol=case.tolerance, atol=case.tolerance * scale, err_msg=what
            )


def in_mode(mode, left_to_stress=lambda case, golden: False):
    return [
        pytest.param(
            case,
            GOLDEN[family].get(case.code),
            id=f"{family}: {case.code}",
            marks=[pytest.mark.stress] if left_to_stress(case, GOLDEN[family].get(case.code)) else [],
        )
        for family in FAMILIES
        for case in CASES[family]
        if mode in case.modes
    ]


def is_compiled_anyway(case, golden):
    """Whether a compiled function is a test of a case too: of these, a quarter is enough beside it."""
    return (
        "function" in case.modes and not isinstance(golden, str) and zlib.crc32(case.code.encode()) % 4 != 0
    )


def programs():
    for family in FAMILIES:
        cases = [
            case
            for case in CASES[family]
            if "function" in case.modes and not isinstance(GOLDEN[family].get(case.code), str)
        ]
        for start in range(0, len(cases), CASES_OF_A_PROGRAM):
            yield pytest.param(family, cases[start : start + CASES_OF_A_PROGRAM], id=f"{family} from {start}")


def evaluate_and_check(case, golden, make):
    assert golden is not None, "Run: python -m tests.golden.make_surface, with TensorFlow 2.21"
    if isinstance(golden, str):
        with pytest.raises(kind_of(golden)):
            surface.evaluated(case.code, tf, make)
    else:
        check(case, surface.evaluated(case.code, tf, make), golden)


@pytest.mark.parametrize(("case", "golden"), in_mode("device", is_compiled_anyway))
def test_arrays_on_a_device_give_what_they_give_in_tensorflow(case, golden):
    evaluate_and_check(case, golden, tf.constant)


@pytest.mark.parametrize(("case", "golden"), in_mode("host"))
def test_arrays_on_the_host_give_what_they_give_in_tensorflow(case, golden):
    evaluate_and_check(case, golden, lambda array: array)


def inputs_of(case):
    """The arrays that a case makes, in their order, computed where that is quickest."""
    for to_input in [lambda array: array, tf.constant] if "host" in case.modes else [tf.constant]:
        inputs = []
        try:
            surface.evaluated(
                case.code,
                tf,
                lambda array, to_input=to_input, inputs=inputs: inputs.append(array) or to_input(array),
            )
        except Exception:
            if to_input is tf.constant:
                raise
        else:
            return inputs
    raise AssertionError


@pytest.mark.parametrize(("family", "cases"), list(programs()))
def test_a_compiled_function_gives_what_tensorflow_gives(family, cases):
    inputs = [inputs_of(case) for case in cases]

    @tf.function(autograph=False)
    def program(arguments):
        results = []
        for case, arrays in zip(cases, arguments, strict=True):
            given = iter(arrays)
            try:
                value = surface.evaluated(case.code, tf, lambda _, given=given: next(given))
            except Exception as error:
                error.add_note(f"The case: {case}")
                raise
            results.append(list(leaves_of_program(value)))
        return results

    arguments = [[tf.constant(array) for array in arrays] for arrays in inputs]
    for case, result in zip(cases, program(arguments), strict=True):
        check(case, result, GOLDEN[family][case.code])


def leaves_of_program(value):
    if value is None or hasattr(value, "dtype"):
        return [value]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves_of_program(value[key])]
    if hasattr(value, "nested_row_splits"):
        return [value.flat_values, *value.nested_row_splits]
    if hasattr(value, "dense_shape"):
        return [value.indices, value.values, value.dense_shape]
    return (
        [leaf for part in value for leaf in leaves_of_program(part)]
        if isinstance(value, (tuple, list))
        else [value]
    )
