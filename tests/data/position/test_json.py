"""Every pipeline goes on with the very next element after a restart."""

import json

import jax
import numpy as np
import pytest

from stratax.data.position import from_json, to_json
from stratax.errors import DataError
from tests.data.pipelines import PIPELINES


def as_text(element):
    return repr(jax.tree.map(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, element))


def following(iterator, limit=10**6):
    """What comes next; an error in its place, by its message."""
    found = []
    while len(found) < limit:
        try:
            found.append(as_text(next(iterator)))
        except StopIteration:
            break
        except ValueError as e:
            found.append(str(e))
    return found


def saved(iterator):
    return json.loads(json.dumps(iterator.get_state()))


@pytest.mark.parametrize("name", PIPELINES)
def test_a_restored_stream_goes_on_with_the_very_next_element(name):
    make = PIPELINES[name]
    iterator = iter(make())
    states, whole = [saved(iterator)], []
    while found := following(iterator, 1):
        whole += found
        states.append(saved(iterator))
    states.append(saved(iterator))
    assert len(whole) > 5
    dataset = make()
    for k, state in enumerate(states):
        restored = iter(dataset)
        restored.set_state(state)
        part = following(restored, 3)
        assert part == whole[k : k + 3], k
        if k % 4 == 1 or k > len(whole) - 4:
            again = iter(make())
            again.set_state(saved(restored))
            assert following(again) == whole[k + 3 :], k
        restored.close()


@pytest.mark.parametrize("name", [name for name in PIPELINES if "errors" not in name])
def test_blocks_and_elements_leave_the_same_place(name):
    make = PIPELINES[name]
    iterator = iter(make())
    state = saved(iterator)
    whole = following(iterator)
    blocks = iter(make())
    blocks.set_state(state)
    number = 0
    for size in (1, 5, 3, 2):
        if number < len(whole):
            try:
                number += blocks.next_block(size)[1]
            except StopIteration:
                break
    restored = iter(make())
    restored.set_state(saved(blocks))
    assert following(restored) == whole[number:]


def test_numbers_survive_json_and_damage_is_noticed():
    numbers = np.array([-5, 0, 2**62])
    tree = {"a": [numbers, None, {"b": True, "c": "text"}], "d": np.int64(3)}
    back = from_json(json.loads(json.dumps(to_json(tree))))
    assert back["a"][0].tolist() == numbers.tolist()
    assert back["a"][0].dtype == np.int64
    assert back["a"][1:] == [None, {"b": True, "c": "text"}]
    assert back["d"] == 3
    with pytest.raises(DataError, match="saved place of an iterator is damaged.*Received: 'x'"):
        from_json({"int64": "x"})
