"""Which functions are the user's, and what they read of their module."""

from stratax import core
from stratax.core import _users

scale = 2.0
count = 0


def reads(x):
    global count
    count += 1
    return [scale * each + len(x) for each in x]


def test_code_of_an_installed_package_is_converted_if_it_uses_stratax():
    installed = "/somewhere/site-packages/package/module.py"
    rule = _users._is_users_module(installed, "package.module")
    assert rule({"helper": core.function})
    assert not rule({"helper": len})
    assert _users._is_users_module("/home/me/train.py", "train")({})


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
