"""A plan that makes what is too large, or no size, is refused while it runs; maps run on few threads."""

import threading

import numpy as np
import pytest

import stratax.tf as tf
from stratax.base import bounds
from stratax.errors import BadArgumentError, StrataxError
from stratax.export import TensorInfo
from stratax.tensorflow.exports._host_plan import MAP, RANDOM, Call, RuntimeValue
from stratax.tensorflow.exports._run_plan import _THREADS, run
from stratax.tensorflow.exports.host import CallPlan
from tests.tensorflow.exports.test_host_sizes import CALLS, of


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *((name, args) for name, args, _ in CALLS),
        ("math.add", (of(20, 1), of(20))),
        ("concat", ([of(40), of(40)], 0)),
        ("strings.ngrams", (np.array([b"a"] * 20, object), [1, 2, 3])),
        (RANDOM, ([400],)),
    ],
)
def test_what_is_too_large_is_refused(name, args, monkeypatch):
    monkeypatch.setattr(bounds, "most_bytes", lambda: 30)
    plan = CallPlan((Call(name, args, {}, RuntimeValue("y")),), {}, {})
    with pytest.raises(BadArgumentError, match=f"tf.{name} would make an array that is too large"):
        run(plan, {})


@pytest.mark.parametrize("name", ["fill", "gather", "linalg.matmul", "pad", "tile", "image.resize"])
@pytest.mark.parametrize("value", ["a", None, [[-1]], 1e300, [], [None]])
def test_what_is_no_size_is_told_by_the_function(name, value):
    plan = CallPlan(
        (Call(name, (of(2, 2, 2), value), {}, RuntimeValue("y")),),
        {"y": "y"},
        {"y": TensorInfo("int32", (1,))},
    )
    with pytest.raises(StrataxError):
        run(plan, {})


def test_images_that_are_decoded_by_exports_take_turns(monkeypatch):
    claims = []
    monkeypatch.setattr(
        "stratax.image._files.claim_pixels", lambda count: claims.append((count, bounds.is_in_turn()))
    )
    one = Call("io.decode_png", (RuntimeValue("row"),), {"channels": 3}, RuntimeValue("image"))
    body = CallPlan((one,), {"y": "image"}, {"y": TensorInfo("uint8", (None, None, 3))})
    plan = CallPlan(
        (Call(MAP, (RuntimeValue("in/x"),), {"rows": ["row"]}, [RuntimeValue("all")], body),),
        {"y": "all"},
        {"y": TensorInfo("uint8", (None, None, None, 3))},
    )
    image = tf.io.encode_png(np.zeros((4, 6, 3), np.uint8)).numpy()
    made = run(plan, {"in/x": np.array([image] * 3, object)})
    assert made["y"].shape == (3, 4, 6, 3)
    assert claims == [(24, True)] * 3
    tf.io.decode_png(image)
    assert claims[3:] == [(24, False)]


def test_rows_of_rows_start_no_threads_of_their_own():
    def numbers(num_dims):
        return TensorInfo("int32", (None,) * num_dims)

    plan = CallPlan(
        (Call("identity", (RuntimeValue("row0"),), {}, RuntimeValue("y")),), {"y": "y"}, {"y": numbers(0)}
    )
    for depth in range(3):
        call = Call(
            MAP, (RuntimeValue("in/x"),), {"rows": [f"row{depth}"]}, [RuntimeValue(f"y{depth}")], plan
        )
        plan = CallPlan((call,), {"y": f"y{depth}"}, {"y": numbers(depth + 1)})
    before, most = threading.active_count(), 0

    def watch():
        nonlocal most
        while not is_done.wait(0.001):
            most = max(most, threading.active_count())

    is_done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    made = run(plan, {"in/x": np.arange(8, dtype=np.int32)})
    is_done.set()
    watcher.join()
    assert made["y"].shape == (8, 8, 8)
    assert most <= before + 1 + _THREADS
