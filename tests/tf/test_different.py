"""The table of what is different: its names are there, and `stratax check` finds their use."""

import pytest

from stratax.tf import _different, _reader, _sources, migration

NAMES = [name.lstrip("!^") for row in _different.read() for name in row.names]


def of(path):
    for what in (_sources.SourceModule("stratax.tf"), _sources.SourceModule("stratax.tf.compat.v1")):
        for part in path.removeprefix("tf.").split("."):
            what = None if what is None else _sources.attribute(what, part)
        if what is not None:
            return what
    return None


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_is_there(name):
    path, _, argument = name.partition("(")
    assert of(path) is not None
    accepted = _reader._arguments(of(path))
    assert not argument or accepted is None or argument.removesuffix("=)") in accepted


def test_names_stand_in_one_row_each():
    assert sorted(NAMES) == sorted(set(NAMES))


def test_rows_are_one_text_or_three():
    assert {len(row.cells) for row in _different.read()} == {1, 3}
    assert all(cell for row in _different.read() for cell in row.cells)


def test_a_row_stands_for_what_is_below_its_name_and_for_older_spellings():
    assert (
        _different.find("tf.config.threading.set_inter_op_parallelism_threads").row.names[0]
        == "tf.config.optimizer"
    )
    assert _different.find("tf.abs") is None
    assert _different.find("tf") is None


def test_a_sentence_has_neither_a_lead_nor_links():
    row = _different.Different("a", "", (), ("**Lead.** See **`x`** [there](page.md#y).",))
    assert row.sentence() == "See `x` there."
    assert _different.Different("a", "", (), ("a", "b", "c")).sentence() == "a: c (TensorFlow: b)."


def test_lines_that_differ_are_found_by_names_arguments_and_methods():
    found = migration.check_source(
        "import tensorflow as tf\n"
        "from tensorflow.keras.layers import TextVectorization as T\n"
        "T()\n"
        "f = tf.function(lambda x: x, jit_compile=True)\n"
        "g = tf.function(lambda x: x, jit_compile=None)\n"
        "model = tf.keras.Sequential()\n"
        "model.compile('sgd', run_eagerly=True)\n"
        "model.save_weights('w')\n"
        "strategy = tf.distribute.MirroredStrategy()\n"
        "strategy.extended\n"
        "tf.compat.v1.train.export_meta_graph()\n"
    )
    assert [(each.line, each.kind, each.name) for each in found] == [
        (2, "different", "tf.keras.layers.TextVectorization"),
        (3, "different", "tf.keras.layers.TextVectorization"),
        (4, "different", "tf.function(jit_compile=)"),
        (7, "different", "tf.keras.Sequential.compile(run_eagerly=)"),
        (8, "different", "tf.keras.Sequential.save_weights"),
        (10, "different", "tf.distribute.MirroredStrategy.extended"),
        (11, "missing", "tf.compat.v1.train.export_meta_graph"),
    ]
    assert found[2].message == "`jit_compile` is ignored: XLA compiles every function. Leave it out."
