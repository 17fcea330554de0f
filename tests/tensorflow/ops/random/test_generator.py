"""Generators draw all kinds, go back to a state, are split and saved."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

random = tf.random


@pytest.mark.parametrize("seed", [7, -3, 2**40 + 1, [1, 2, 3], 0])
def test_generators_of_one_seed_draw_the_same(seed):
    first, second = random.Generator.from_seed(seed), random.Generator.from_seed(seed)
    assert first.normal([3]).tolist() == second.normal([3]).tolist() != first.normal([3]).tolist()


def test_a_generator_draws_all_kinds():
    generator = random.Generator.from_seed(1)
    assert generator.uniform([3], 1, 5, tf.int32).dtype == tf.int32
    assert generator.truncated_normal([2], dtype=tf.float16).dtype == tf.float16
    assert generator.uniform_full_int([2], tf.uint32).dtype == tf.uint32
    assert generator.binomial([3], 5.0, [0.0, 1.0, 1.0]).tolist() == [0, 5, 5]
    assert generator.make_seeds(3).shape == (2, 3)
    assert generator.algorithm == random.Algorithm.THREEFRY.value
    with pytest.raises(BadTypeError, match="dtype of whole numbers"):
        generator.uniform_full_int([2], tf.float32)
    with pytest.raises(BadArgumentError, match="begins with a state"):
        random.Generator()


def test_a_generator_goes_back_to_a_state():
    generator = random.Generator.from_seed(5)
    state, first = np.asarray(generator.state), generator.normal([2]).tolist()
    generator.reset(state)
    assert generator.normal([2]).tolist() == first
    generator.reset_from_seed(5)
    assert generator.normal([2]).tolist() == first
    assert random.Generator.from_state(state, "philox").normal([2]).tolist() == first
    other = random.Generator(copy_from=generator)
    assert other.normal([2]).tolist() == generator.normal([2]).tolist()
    generator.skip(3)
    for _ in range(3):
        other.normal([])
    assert other.normal([2]).tolist() == generator.normal([2]).tolist()


def test_split_generators_draw_other_numbers():
    generator = random.Generator.from_seed(5)
    drawn = [each.normal([]).item() for each in (generator, *generator.split(3))]
    assert len({*drawn}) == 4
    with pytest.raises(BadTypeError, match="can't be made in a compiled function"):
        tf.function(lambda: generator.split(2))()


def test_a_compiled_function_draws_new_numbers_in_each_call():
    generator, same = random.Generator.from_seed(5), random.Generator.from_seed(5)
    draw = tf.function(lambda: generator.uniform([2]))
    assert [draw().tolist(), draw().tolist()] == [same.uniform([2]).tolist(), same.uniform([2]).tolist()]


def test_every_replica_draws_its_own_numbers():
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        generator = random.Generator.from_seed(5)
    drawn = strategy.experimental_local_results(strategy.run(lambda: generator.normal([2])))
    assert drawn[0].tolist() != drawn[1].tolist()


def test_a_checkpoint_saves_a_module_with_a_generator(tmp_path):
    class Noise(tf.Module):
        def __init__(self):
            super().__init__()
            self.generator = random.Generator.from_seed(5)

    saved, restored = Noise(), Noise()
    saved.generator.normal([])
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ckpt"))
    tf.train.Checkpoint(model=restored).restore(path)
    assert restored.generator.normal([2]).tolist() == saved.generator.normal([2]).tolist()


def test_the_global_generator_can_be_read_and_set():
    before = random.get_global_generator()
    assert random.get_global_generator() is before
    try:
        random.set_global_generator(random.Generator.from_seed(9))
        first = random.normal([2]).tolist()
        random.set_global_generator(random.Generator.from_seed(9))
        assert random.normal([2]).tolist() == first
    finally:
        random.set_global_generator(before)
    with pytest.raises(BadTypeError, match=r"Expected: a tf\.random\.Generator"):
        random.set_global_generator(keras.random.SeedGenerator(1))
