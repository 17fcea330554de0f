"""Writer, step and condition, in and out of compiled functions."""

import numpy as np
import pytest

import stratax as sx
from stratax import summary
from stratax.errors import BadArgumentError, BadTypeError
from stratax.summary import _context


@pytest.fixture
def writer(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    yield writer
    writer.close()
    for slot in (_context.WRITER, _context.STEP, _context.CONDITION):
        slot.set(None)


@pytest.fixture
def found(tmp_path, read, writer):
    """Returns a function that gives what has been written."""

    def found():
        writer.flush()
        return read(tmp_path)

    return found


def test_the_writer_the_step_and_the_condition_are_those_of_the_run(tmp_path, read, writer):
    other = summary.create_file_writer(tmp_path / "other")

    @sx.function
    def f(x):
        return summary.scalar("x", x), summary.should_record_summaries()

    def g(x):
        recorded, should = f(np.float32(x))
        assert bool(recorded) is bool(should)
        return bool(recorded)

    assert g(0) is False
    summary.experimental.set_step(7)
    with writer.as_default():
        assert g(1) is True
        summary.experimental.set_step(8)
        assert g(2) is True
        with summary.record_if(False):
            assert g(3) is False
        with summary.record_if(lambda: False):
            assert g(4) is False
        with other.as_default(step=sx.Variable(20, dtype="int32")):
            assert g(5) is True
    summary.experimental.set_step(None)
    with writer.as_default(), pytest.raises(BadArgumentError, match="no step"):
        f(np.float32(6))
    # A step that is a variable is part of a program.
    assert f.num_programs == 2
    writer.flush()
    other.close()
    assert read(tmp_path / "other")["x"] == [(20, 5.0)]
    (tmp_path / "other").rename(tmp_path.with_name("elsewhere"))
    assert read(tmp_path)["x"] == [(7, 1.0), (8, 2.0)]


def test_a_condition_on_a_variable_counts_in_a_function_that_was_traced_without(writer, found):
    step = sx.Variable(0, dtype="int32")

    @sx.function
    def f():
        for _ in sx.range(10):
            step.assign_add(1)
            summary.scalar("x", 1.0, step=step)

    f()
    with writer.as_default():
        for divisor in (4, 5, 5, 4):
            with summary.record_if(lambda divisor=divisor: step % divisor == 0):
                f()
        with summary.record_if(True):
            f()
    assert [s for s, _ in found()["x"]] == [12, 16, 20, 25, 30, 35, 40, 44, 48, *range(51, 61)]
    assert f.num_programs == 3


def test_writers_steps_and_conditions_inside_of_a_function_are_part_of_it(writer, found):
    @sx.function
    def f(n):
        for i in sx.range(n):
            with writer.as_default(step=i), summary.record_if(i % 2 == 1):
                summary.scalar("x", i * 1.0)

    f(6)
    assert found() == {"x": [(1, 1.0), (3, 3.0), (5, 5.0)]}


def test_a_writer_inside_of_a_function_goes_with_a_step_and_a_condition_outside(writer, found):
    @sx.function
    def f(x):
        with writer.as_default():
            summary.scalar("x", x)

    summary.experimental.set_step(3)
    f(np.float32(1))
    with summary.record_if(False):
        f(np.float32(2))
    summary.experimental.set_step(4)
    f(np.float32(3))
    assert found() == {"x": [(3, 1.0), (4, 3.0)]}
    assert f.num_programs == 1


def test_a_step_that_a_function_has_set_is_gone_with_it(writer):
    @sx.function
    def f(x):
        summary.experimental.set_step(x)

    with writer.as_default():
        f(np.int32(3))
        with pytest.raises(BadArgumentError, match="gone with it"):
            summary.scalar("x", 1.0)


def test_a_step_of_a_wrong_type_is_refused():
    with pytest.raises(BadTypeError, match=r"step='one'.*int\(\)"):
        summary.experimental.set_step("one")


def test_conditions_decide_what_is_written(tmp_path, read):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in range(6):
            with summary.record_if(lambda step=step: step % 2 == 0):
                assert summary.should_record_summaries() is (step % 2 == 0)
                summary.scalar("even", step, step=step)
                with summary.record_if(np.bool_(True)):
                    summary.scalar("all", step, step=step)
        with summary.record_if(False):
            assert summary.scalar("none", 1.0, step=0) is False
        with summary.record_if(1), pytest.raises(BadTypeError, match="one boolean.*1"):
            summary.scalar("none", 1.0, step=0)
    assert summary.should_record_summaries() is False
    writer.close()
    assert {tag: len(values) for tag, values in read(tmp_path).items()} == {"even": 3, "all": 6}
