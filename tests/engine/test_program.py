"""Steps as compiled programs: what a dispatch gives, in one step or several, on one replica or many."""

import numpy as np
import pytest

import stratax as sx
from stratax import engine
from tests.engine.conftest import X, mirrored

BATCH = 8


def outputs_of(make, replicas, at_most):
    """What the dispatches of one pass over the rows give, and how many programs they took."""
    strategy = mirrored(replicas)
    steps = engine.StepInput.of_dataset(strategy, sx.data.Dataset.from_tensor_slices(X).batch(BATCH))
    program = make(strategy)
    with steps:
        iterator = steps.open()
        outputs = [program(*iterator.take_pending()) for _ in engine.blocks(iterator, at_most=at_most)]
    return [np.asarray(each) for each in outputs], program.num_programs


BATCHES = [X[start : start + BATCH] for start in range(0, len(X), BATCH)]


@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("at_most", [1, 3])
def test_rows_of_examples_come_in_the_order_of_the_examples(replicas, at_most):
    found, programs = outputs_of(
        lambda strategy: engine.StepProgram.of_examples(strategy, lambda x: x * 2), replicas, at_most
    )
    np.testing.assert_array_equal(np.concatenate(found), X * 2)
    # Blocks of 1 and the remainder; of 3, 2 and the remainder.
    assert programs == (2 if at_most == 1 else 3)


@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("at_most", [1, 3])
def test_each_steps_result_is_its_mean_over_the_replicas(replicas, at_most):
    found, _ = outputs_of(
        lambda strategy: engine.StepProgram.of_each_step(strategy, lambda x: x.mean()), replicas, at_most
    )
    assert [len(each) for each in found] == ([1] * 6 if at_most == 1 else [3, 2, 1])
    np.testing.assert_allclose(np.concatenate(found), [x.mean() for x in BATCHES], rtol=1e-5, atol=1e-7)


def test_updates_give_the_last_steps_result_or_what_the_variables_say():
    found, _ = outputs_of(lambda s: engine.StepProgram.of_updates(s, lambda x: x.mean()), 2, 3)
    np.testing.assert_allclose(found, [BATCHES[n].mean() for n in (2, 4, 5)], rtol=1e-5, atol=1e-7)

    def counting(strategy):
        with strategy.scope():
            count = sx.Variable(0.0, aggregation="only_first_replica")

        def step(_):
            count.assign_add(1.0)

        return engine.StepProgram.of_updates(strategy, step, lambda: count.value * 10)

    found, _ = outputs_of(counting, 2, 3)
    np.testing.assert_array_equal(found, [30.0, 50.0, 60.0])


def test_programs_for_few_steps_run_while_all_expected_steps_are_few():
    program = engine.StepProgram.of_examples(mirrored(1), lambda x: x * 2)

    def programs_after(expected):
        program.expect(expected)
        np.testing.assert_array_equal(np.asarray(program(1, X[:BATCH])), X[:BATCH] * 2)
        # For many steps, and all.
        return program.function.num_programs, program.num_programs

    assert [programs_after(expected) for expected in (1, 2, 2, 1)] == [(0, 1), (0, 1), (1, 2), (1, 2)]


def test_any_number_of_steps_is_not_few():
    program = engine.StepProgram.of_examples(mirrored(1), lambda x: x * 2)
    program.expect(None)
    program(1, X[:BATCH])
    assert program.function.num_programs == 1
