"""Argument scopes give defaults to functions, nested ones on top, and end with their block."""

import pytest

from stratax import errors
from stratax.tf.contrib import framework


@framework.add_arg_scope
def first(a, b=1, c=2):
    return a, b, c


@framework.add_arg_scope
def second(a, c=3):
    return a, c


def test_scopes_nest_and_end():
    with framework.arg_scope([first, second], c=5) as outer:
        assert first(0) == (0, 1, 5)
        assert second(0) == (0, 5)
        assert first(0, c=9) == (0, 1, 9)
        with framework.arg_scope([first], b=7):
            assert first(0) == (0, 7, 5)
            assert second(0) == (0, 5)
        with framework.arg_scope([second], c=6):
            assert first(0) == (0, 1, 5)
            assert second(0) == (0, 6)
    assert first(0) == (0, 1, 2)
    assert framework.current_arg_scope() == {}
    with framework.arg_scope(outer):
        assert second(1) == (1, 5)
    with pytest.raises(ZeroDivisionError), framework.arg_scope([first], b=7):
        raise ZeroDivisionError
    assert first(0) == (0, 1, 2)


def test_what_scopes_know():
    assert framework.has_arg_scope(first)
    assert not framework.has_arg_scope(len)
    assert set(framework.arg_scoped_arguments(first)) == {"b", "c"}
    with pytest.raises(errors.BadArgumentError, match="add_arg_scope"), framework.arg_scope([print], sep=""):
        pass
    with framework.arg_scope([first], b=7) as scope:
        pass
    with pytest.raises(errors.BadArgumentError, match="takes no arguments"), framework.arg_scope(scope, b=1):
        pass
    with pytest.raises(errors.BadTypeError, match="list of functions"), framework.arg_scope(first, b=1):
        pass
