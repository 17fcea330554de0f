"""`HParams` reads, keeps and refuses what TensorFlow 1.15's does."""

import pytest

from stratax import errors
from stratax.tf.contrib.training import HParams, parse_values


def settings():
    return HParams(rate=0.1, n=3, s="a", flag=True, sizes=[1, 2, 3], names=["x"])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "rate=1e-3,n=4,s=b c,flag=false,sizes=[4,5],names=[y,z]",
            {"rate": 0.001, "n": 4, "s": "b c", "flag": False, "sizes": [4, 5], "names": ["y", "z"]},
        ),
        ("rate=2", {"rate": 2.0}),
        ("flag=0", {"flag": False}),
        ("s=", {"s": ""}),
        ("s=a=b", {"s": "a=b"}),
        ("names=[]", {"names": []}),
        ("", {}),
    ],
)
def test_text_is_read(text, changed):
    found = settings().parse(text).values()
    assert found == {**settings().values(), **changed}
    assert {name: type(each) for name, each in found.items()} == {
        name: type(each) for name, each in settings().values().items()
    }


@pytest.mark.parametrize(
    "text", ["n=1.5", "unknown=1", "flag=maybe", "n=1,n=2", "n", "sizes[1]=9", "sizes=1"]
)
def test_text_that_fits_no_setting_is_refused(text):
    with pytest.raises(errors.BadArgumentError):
        settings().parse(text)


@pytest.mark.parametrize(
    ("name", "value"), [("n", 1.5), ("n", True), ("sizes", 1), ("s", None), ("rate", "x")]
)
def test_values_of_other_types_are_refused(name, value):
    with pytest.raises(errors.BadArgumentError):
        settings().set_hparam(name, value)
    assert settings().values()[name] == getattr(settings(), name)


def test_settings_are_shown_and_kept():
    made = settings().override_from_dict({"rate": 3, "sizes": [7]}).parse_json('{"s": "q"}')
    assert type(made.rate) is float
    assert str(made) == "rate=3.0,n=3,s=q,flag=True,sizes=[7],names=['x']"
    assert repr(HParams(a=1)) == "HParams([('a', 1)])"
    assert HParams(b=[1], a=2).to_json(sort_keys=True) == '{"a": 2, "b": [1]}'
    assert made.get("rate") == 3.0
    assert made.get("other", 4) == 4
    assert "rate" in made
    made.del_hparam("rate")
    assert "rate" not in made
    assert not hasattr(made, "rate")
    with pytest.raises(errors.BadArgumentError, match="reserved"):
        made.add_hparam("n", 2)
    with pytest.raises(errors.BadArgumentError, match="cannot be empty"):
        HParams(a=[])
    assert parse_values("a=1,b[2]=3,c=4", {"a": int, "b": int}, ignore_unknown=True) == {"a": 1, "b": {2: 3}}
