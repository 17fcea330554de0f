"""Requests that come together are computed together, and each gets its own."""

import asyncio
import concurrent.futures
import threading

import numpy as np
import pytest

from stratax.command.serving import _batches
from stratax.errors import BadArgumentError
from stratax.export import TensorInfo


class Doubling:
    """A program that waits until it may go on, and notes what it was called with."""

    def __init__(self, shape=(None, 1)):
        self.name = "doubling"
        self.arguments = {"x": TensorInfo("float32", shape)}
        self.goes = threading.Event()
        self.goes.set()
        self.calls = []

    def __call__(self, inputs):
        assert self.goes.wait(20)
        x = inputs["x"]
        self.calls.append(x.shape)
        if (x < 0).any():
            raise BadArgumentError("There is a negative number.")
        return {"y": 2 * x}


def answers(program, requests, *, max_batch=4, wait_seconds=0.0, held=True, ends_early=()):
    """Return the answers to requests of which all but the first come while that one is computed."""

    async def run(executor):
        computed = []
        batcher = _batches.Batcher(
            program,
            is_joined=True,
            max_batch=max_batch,
            wait_seconds=wait_seconds,
            executor=executor,
            computed=computed.append,
        )
        if held:
            program.goes.clear()
        tasks = [asyncio.create_task(batcher.answer({"x": np.asarray(x, np.float32)})) for x in requests]
        await asyncio.sleep(0.05)
        for position in ends_early:
            tasks[position].cancel()
        program.goes.set()
        return await asyncio.gather(*tasks, return_exceptions=True), computed

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        results, computed = asyncio.run(run(executor))
    return [each if isinstance(each, BaseException) else each["y"].tolist() for each in results], computed


def test_what_comes_while_the_device_computes_is_joined_and_filled_up():
    program = Doubling()
    # All of them come in one turn of the loop, so that they are joined from the first on.
    found, computed = answers(program, [[[row]] for row in range(7)])
    assert found == [[[2 * row]] for row in range(7)]
    assert program.calls == [(4, 1), (4, 1)]
    assert computed == [4, 3]


def test_a_batch_is_never_larger_than_the_largest_size():
    program = Doubling()
    found, _ = answers(program, [[[1], [2], [3]], [[4], [5], [6]], [[7]], np.ones((11, 1))])
    assert found == [[[2], [4], [6]], [[8], [10], [12]], [[14]], [[2]] * 11]
    assert {shape[0] for shape in program.calls} <= {1, 2, 4}


def test_rows_of_different_shapes_are_not_mixed():
    program = Doubling((None, None))
    found, _ = answers(program, [[[1, 2]], [[1, 2, 3]], [[3, 4]], [[5, 6, 7]]])
    assert found == [[[2, 4]], [[2, 4, 6]], [[6, 8]], [[10, 12, 14]]]
    assert sorted(program.calls) == [(2, 2), (2, 3)]


def test_a_request_that_can_not_be_computed_harms_no_other():
    found, _ = answers(Doubling(), [[[1]], [[-1]], [[3]]])
    assert found[0] == [[2]]
    assert isinstance(found[1], BadArgumentError)
    assert found[2] == [[6]]


def test_a_request_that_was_given_up_is_not_computed():
    program = Doubling()
    found, computed = answers(program, [[[1]]] * 4 + [[[2]], [[3]], [[4]]], ends_early=[5])
    assert isinstance(found[5], asyncio.CancelledError)
    assert (found[4], found[6]) == ([[4]], [[8]])
    assert computed == [4, 2]


def test_a_request_waits_for_others_no_longer_than_it_may():
    program = Doubling()
    found, computed = answers(program, [[[1]], [[2]]], wait_seconds=0.1, held=False)
    assert (found, computed) == ([[[2]], [[4]]], [2])


def test_requests_without_rows_are_for_the_program():
    found, _ = answers(Doubling(), [np.ones((0, 1))])
    assert found == [[]]


@pytest.mark.parametrize(
    ("call", "is_seen"),
    [
        (lambda x: 2 * x, True),
        (lambda x: x - x.mean(0), False),
        (lambda x: np.cumsum(x, 0), False),
        (lambda x: x[::-1], False),
        (lambda x: x * len(x), False),
        (lambda x: x[:1], False),
        (lambda x: np.stack([x - x.mean(), np.full_like(x, np.inf)], 1), False),
        (lambda x: np.stack([x, np.full_like(x, np.inf)], 1), True),
        (lambda x: np.sqrt(x) / np.sqrt(x).sum(), False),
    ],
)
def test_what_mixes_rows_is_seen(call, is_seen):
    program = Doubling()
    program.__class__ = type(
        "Other", (Doubling,), {"__call__": lambda self, inputs: {"y": call(inputs["x"])}}
    )
    with np.errstate(invalid="ignore"):
        assert _batches.is_row_by_row(program) is is_seen


def test_what_has_no_rows_is_not_joined():
    assert not _batches.is_row_by_row(Doubling((2, 1)))


def test_sizes_are_powers_of_two_and_the_most():
    assert [_batches.sizes_up_to(most) for most in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]
