"""What a signature takes: names of placeholders, and what is fed in place of them."""

import pytest

from stratax.errors import BadArgumentError
from stratax.export.parts import TensorInfo
from stratax.tensorflow.exports.host import HostArguments, HostRecorder

NUMBERS, TEXT = TensorInfo("float32", (None, 3)), TensorInfo("string", (None, None))


@pytest.fixture
def inputs():
    made = HostRecorder(HostArguments(None, None, None)).inputs
    assert made.sizes_of("x", NUMBERS) == ["batch", 3]
    assert made.sizes_of("s", TEXT) == ["batch", "size1_1"]
    return made


def test_names_of_inputs_are_their_own_until_they_get_others(inputs):
    value = object()
    inputs.note_made(value, "x")
    assert inputs.free_name("x") == "x_1"
    assert inputs.name_infos({}) == {"x": NUMBERS, "s": TEXT}
    inputs.give_names({"features": value})
    assert inputs.name_infos({}) == {"features": NUMBERS, "s": TEXT}
    assert [inputs.rename_id(id) for id in ("in/x", "in/s", "7")] == ["in/features", "in/s", "7"]
    with pytest.raises(BadArgumentError, match=r"what is fed: a placeholder.* as 'other'"):
        inputs.give_names({"other": object()})


def test_a_signature_that_is_fed_takes_nothing_else(inputs):
    value = object()
    inputs.note_made(value, "x")
    inputs.feed({"given": value})
    assert inputs.name_infos({}) == {"given": NUMBERS}
    assert not inputs.is_unfed("in/x")
    assert inputs.is_unfed("in/s")
    with pytest.raises(
        BadArgumentError, match=r"is a placeholder, or what the host makes of one.* as 'other'"
    ):
        inputs.feed({"other": object()})
