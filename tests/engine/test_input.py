"""Passes over the input, how they are cut into blocks, and what is said about them."""

import warnings

import pytest

import stratax as sx
from stratax import engine
from stratax.engine import _input
from tests.engine.conftest import BATCH, X, mirrored


def cut(total, at_most, done=0):
    """The blocks of a pass of six batches, and whether it came to its end."""
    steps = engine.StepInput.of_dataset(mirrored(2), sx.data.Dataset.from_tensor_slices(X).batch(BATCH))
    found = []
    with steps:
        blocks = engine.blocks(steps.open(), done=done, total=total, at_most=at_most)
        while True:
            try:
                first, last, iterator = next(blocks)
            except StopIteration as stop:
                return found, stop.value
            assert iterator.pending == iterator.take_pending()[0] == last - first + 1
            found.append((first, last))


@pytest.mark.parametrize(
    ("total", "at_most", "expected", "is_over"),
    [
        (None, 1, [(n, n) for n in range(6)], True),
        (None, 4, [(0, 3), (4, 4), (5, 5)], True),
        (4, 3, [(0, 2), (3, 3)], False),
        (6, 10, [(0, 4), (5, 5)], False),
        (7, 10, [(0, 4), (5, 5)], True),
        (0, 10, [], False),
    ],
)
def test_blocks_end_exactly_and_say_whether_the_pass_is_over(total, at_most, expected, is_over):
    assert cut(total, at_most) == (expected, is_over)


def test_blocks_are_numbered_from_the_steps_that_are_done():
    assert cut(13, 4, done=10) == ([(10, 12)], False)


def test_the_structure_of_the_first_batch_is_known_before_the_pass_and_costs_no_batch():
    steps = engine.StepInput.of_dataset(mirrored(2), sx.data.Dataset.from_tensor_slices(X).batch(BATCH))
    with steps:
        assert not steps.has_looked_ahead
        assert steps.first_structure().shape == (BATCH, 3)
        assert steps.has_looked_ahead
        assert len([*engine.blocks(steps.open(), total=1)]) == 1
        assert steps.steps_in_pass == 6


def test_a_run_that_waits_for_its_input_warns(monkeypatch):
    steps = engine.StepInput.of_dataset(mirrored(2), sx.data.Dataset.from_tensor_slices(X).batch(BATCH))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps.warn_if_waiting(steps.wait_share())
    monkeypatch.setattr(_input.StepInput, "wait_seconds", lambda self: 1e6)
    with pytest.warns(RuntimeWarning, match="Training waited for its input") as caught:
        steps.warn_if_waiting(steps.wait_share())
    assert caught[0].filename == __file__


def test_the_plan_names_what_does_not_divide():
    line = engine.describe(
        mirrored(4), batch_size=10, last_batch_size=8, steps_per_epoch=None, steps_per_dispatch=5
    )
    assert line == (
        "MirroredStrategy: 4 replicas, global batch 10 (does not divide: computed whole on every replica, counted "
        "once), steps per epoch unknown, last batch 8 = 4 x 2, 5 steps per dispatch"
    )
