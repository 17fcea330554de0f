"""Which functions are the user's, and what they read of their module."""

import types

from stratax import core
from stratax.core.storage import _users

scale = 2.0
count = 0


def reads(x):
    global count
    count += 1
    return [scale * each + len(x) for each in x]


def test_code_of_an_installed_package_is_converted_if_it_uses_stratax():
    def is_users(file, **module):
        function = types.FunctionType(reads.__code__.replace(co_filename=file), module)
        return _users.is_users(function)

    installed = "/somewhere/site-packages/package/module.py"
    assert is_users(installed, __name__="package.module", helper=core.function)
    assert not is_users(installed, __name__="package.module", helper=len)
    assert is_users("/home/me/train.py", __name__="train")


def test_what_a_function_sets_itself_is_not_what_it_reads():
    names = _users.globals_read(reads.__code__)
    assert "scale" in names
    assert "count" not in names


def test_attributes_that_a_method_sets_itself_are_not_what_it_reads():
    class Step:
        def __call__(self, x):
            self.calls = self.calls + 1
            return x * self.rate

    assert _users.attributes_read(Step.__call__.__code__) == ("rate",)
