"""The calls of an export on the host, and the plans that they become."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.export.parts import TensorInfo
from stratax.tensorflow.exports.recording import blank_trace

TEXT = TensorInfo("string", (None,))


def _recorded(function):
    """Return what a function gives, called with a recorder and what stands for one input."""
    found = []
    blank_trace(lambda recorder: found.append(function(recorder, recorder.input("s", TEXT))))
    return found[0]


def test_a_plan_has_what_is_given_and_no_call_that_nobody_needs():
    def traced(recorder, text):
        wanted, _ = tf.strings.lower(text), tf.strings.upper(text)
        assert len(recorder.calls.before) == 2
        return recorder.calls.plan_before([], [wanted]), recorder.calls.plan_before(["in/s"], ()), wanted.id

    plan, nothing, id = _recorded(traced)
    assert [call.function for call in plan.calls] == ["strings.lower"]
    assert plan.gives == {f"kept/{id}": id}
    assert nothing is None


def test_plans_have_the_names_that_the_signature_gives_inputs():
    def traced(recorder, text):
        made = tf.strings.lower(text)
        recorder.inputs.give_names({"sentence": text})
        return recorder.calls.plan_before([], [made])

    (call,) = _recorded(traced).calls
    assert [ref.id for ref in call.refs()] == ["in/sentence"]


def test_an_array_of_the_program_is_one_result_however_often_it_is_used():
    def traced(recorder, _):
        array = np.zeros(2)
        assert recorder.calls.result_id(array) == recorder.calls.result_id(array) == "out/host_0"
        assert recorder.calls.result_id(np.zeros(2)) == "out/host_1"
        return recorder.calls.results_for(())

    assert _recorded(traced) == {}


def test_each_seed_is_a_call_of_its_own():
    def traced(recorder, _):
        return recorder.calls.new_seed(), recorder.calls.new_seed(), len(recorder.calls.before)

    first, second, count = _recorded(traced)
    assert first != second
    assert count == 2


@pytest.mark.parametrize("is_fed", [False, True])
def test_arguments_that_are_made_of_what_is_not_fed_are_found(is_fed):
    def traced(recorder, text):
        other = recorder.input("other", TEXT)
        length = tf.strings.length(tf.strings.join([text, other]))
        ids = list(recorder.arguments.specs)
        recorder.inputs.feed({"s": text, "other": other} if is_fed else {"s": text})
        del length
        return ids, recorder.calls.find_unfed(ids)

    ids, unfed = _recorded(traced)
    assert ids
    assert unfed == (set() if is_fed else set(ids))
