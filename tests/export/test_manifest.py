"""Dtypes of an export's numbers."""

import pytest

from stratax.export._manifest import find_dtype


@pytest.mark.parametrize(
    "name", ["O", "V8", "S5", "U5", "M8[ns]", "f2,i4", ">f4", "float128", "(2,)i4", "int", "?", ""]
)
def test_exports_have_numbers_of_known_dtypes(name):
    with pytest.raises(TypeError):
        find_dtype(name)


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int64", "float16", "complex64", "bfloat16", "int4", "float8_e5m2"]
)
def test_dtypes_of_numbers_are_taken(name):
    assert find_dtype(name).name == name
