"""What is found in the text of a program that Stratax does not have."""

import json
import textwrap

import pytest

from stratax import errors
from stratax.tf import migration


def names(text):
    return [(finding.line, finding.name) for finding in migration.check_source(textwrap.dedent(text))]


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\nx = tf.lite.Interpreter('m')",
        "import tensorflow\ntensorflow.lite.Interpreter",
        "import tensorflow.compat.v1 as tf1\ntf1.lite",
        "\nfrom tensorflow import lite",
        "import stratax.tf as tf\ntf.lite",
        "from stratax import tf\ntf.lite",
        "import tensorflow as tf\nwith tf.lite: pass",
    ],
)
def test_a_missing_module_is_found_by_whatever_name(text):
    ((line, name),) = names(text)
    assert line == 2
    assert name.endswith(".lite")


def test_names_are_followed_through_imports_and_assignments():
    found = names(
        """
        from tensorflow import keras
        from tensorflow.keras import layers as L
        from tensorflow.keras.layers import Dense, LocallyConnected2D
        layers = keras.layers
        L.Dense(1)
        L.LocallyConnected1D(1, 2)
        layers.LocallyConnected2D(1, 2)
        keras.utils.TimedThread(None)
        """
    )
    assert found == [
        (4, "tf.keras.layers.LocallyConnected2D"),
        (7, "tf.keras.layers.LocallyConnected1D"),
        (8, "tf.keras.layers.LocallyConnected2D"),
        (9, "tf.keras.utils.TimedThread"),
    ]


def test_what_a_name_means_elsewhere_is_left_alone():
    assert (
        names(
            """
            import numpy as tf
            tf.lite
            import tensorflow as tf
            def f(tf, flags=tf.constant(1)):
                return tf.lite
            for tf in []:
                tf.lite
            try:
                import tensorflow as t
                t.enable_nonsense()
            except AttributeError:
                pass
            import keras
            keras.nonsense
            """
        )
        == []
    )


def test_arguments_are_checked():
    found = migration.check_source(
        "import tensorflow as tf\n"
        "tf.keras.layers.Dense(1, input_shape=(2,), nonsense=1)\n"
        "tf.keras.optimizers.Adam(lr=1, decay=0, epsilon=1e-8, clipnorm=1)\n"
        "tf.reduce_sum([1], axis=0, nonsense=2)\n"
        "tf.keras.layers.LSTM(4, return_sequences=True, nonsense=3, name='x')\n"
        "options = {}\n"
        "tf.reduce_sum([1], **options)\n"
    )
    assert [(each.line, each.name) for each in found] == [
        (2, "tf.keras.layers.Dense(nonsense=)"),
        (4, "tf.reduce_sum(nonsense=)"),
        (5, "tf.keras.layers.LSTM(nonsense=)"),
    ]
    assert found[1].message == "tf.reduce_sum has no argument nonsense here."


def test_models_of_tensors_and_what_a_class_takes_by_other_names_are_no_findings():
    assert (
        names(
            """
            import tensorflow as tf
            tf.keras.Model(inputs=[], outputs=[], name="m")
            tf.keras.callbacks.LambdaCallback(on_epoch_end=print)
            tf.keras.layers.Embedding(2, 3, input_length=4)
            tf.io.FixedLenFeature(shape=[], dtype=tf.int64)
            if hasattr(tf, "lite"):
                tf.lite
            tf.__name__
            [tf for tf in ()]
            class Own:
                from tensorflow.keras import layers
            layers.LocallyConnected1D
            """
        )
        == []
    )


def test_methods_of_objects_are_known_by_their_class():
    found = names(
        """
        import tensorflow as tf
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
        optimizer.get_scaled_loss(1)
        optimizer.nonsense
        tf.keras.Sequential().to_yaml()
        tf.keras.optimizers.legacy.Adam().get_weights()
        tf.distribute.MirroredStrategy().unwrap(1)
        """
    )
    assert found == [
        (4, "tf.keras.mixed_precision.LossScaleOptimizer.get_scaled_loss"),
        (6, "tf.keras.Sequential.to_yaml"),
        (7, "tf.keras.optimizers.legacy.Adam.get_weights"),
        (8, "tf.distribute.MirroredStrategy.unwrap"),
    ]


def test_methods_of_datasets_are_checked():
    found = names(
        """
        import tensorflow as tf
        data = tf.data.Dataset.from_tensor_slices([1]).map(lambda x: x).batch(2)
        data = data.shuffle(3)
        data.nonsense()
        for x in data.take(1).absurd(): pass
        tf.data.TFRecordDataset("f").silly()
        data.reduce(0, max).anything
        """
    )
    assert found == [
        (5, "tf.data.Dataset.nonsense"),
        (6, "tf.data.Dataset.absurd"),
        (7, "tf.data.Dataset.silly"),
    ]


def test_libraries_that_need_tensorflow_are_told_of():
    (finding,) = migration.check_source("import tensorflow_text as text")
    assert (finding.name, finding.line) == ("tensorflow_text", 1)
    assert "Instead:" in finding.message


def test_a_file_that_is_no_python_is_told_of():
    (finding,) = migration.check_source("import tensorflow as tf\nprint tf.lite\n", "old.py")
    assert (finding.place(), finding.kind) == ("old.py:2", "unreadable")
    assert "no Python 3" in finding.message


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 1}', '{"cells": [{"cell_type": "code"}]}', '{"a":\n{'])
def test_a_notebook_that_is_none_is_told_of(tmp_path, text):
    path = tmp_path / "broken.ipynb"
    path.write_text(text)
    (finding,) = migration.check([path])
    assert (finding.file, finding.kind) == (str(path), "unreadable")
    assert "no notebook" in finding.message


def test_paths_without_a_program_are_refused(tmp_path):
    with pytest.raises(errors.BadArgumentError, match="no such file"):
        migration.check([tmp_path / "absent.py"])
    with pytest.raises(errors.BadArgumentError, match="neither Python files nor notebooks"):
        migration.check([tmp_path])


def test_cells_of_a_notebook_are_one_program(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# tf.lite"]},
        {
            "cell_type": "code",
            "source": ["%matplotlib inline\n", "!pip install x\n", "import tensorflow as tf"],
        },
        {"cell_type": "code", "source": ["%%bash\n", "tf.lite"]},
        {"cell_type": "code", "source": ["if True:\n", "    !ls\n", "tf.abs?\n", "tf.lite.Interpreter"]},
    ]
    path = tmp_path / "some" / "notebook.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps({"cells": cells}))
    (finding,) = migration.check([tmp_path])
    assert finding.place() == f"{path}:cell 3:4"


GRAPHS = "import tensorflow.compat.v1 as tf\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("w = tf.get_variable('w', [2])", [2]),
        ("with tf.variable_scope('a'):\n    y = tf.layers.dense(x, 2)", [2, 3]),
        ("def net():\n    return tf.get_variable('w', [2])\nnet()", [3]),
        ("def main(_):\n    net()\ndef net():\n    tf.layers.dense(x, 2)\ntf.app.run()", [5]),
        (
            "def main(_):\n    tf.metrics.accuracy(a, b)\nif __name__ == '__main__':\n    tf.app.run(main=main)",
            [3],
        ),
        ("tf.train.AdamOptimizer(0.1).minimize(loss)", [2]),
        # What an Estimator traces, and what nothing says is called.
        (
            "def model_fn(features, labels, mode):\n    tf.layers.dense(x, 2)\ntf.estimator.Estimator(model_fn)",
            [],
        ),
        ("def net(x):\n    return tf.layers.dense(x, 2)\ndef model_fn(f, l):\n    return net(f)", []),
        ("make = lambda: tf.get_variable('w', [2])", []),
        ("optimizer = tf.train.AdamOptimizer(0.1)\ny = tf.layers.flatten(x)", []),
        # A session runs it.
        ("w = tf.get_variable('w', [2])\nwith tf.Session() as session:\n    session.run(w)", []),
        ("def receiver():\n    return tf.placeholder(tf.float32)", []),
    ],
)
def test_what_adds_to_a_graph_is_missing_where_there_is_none(text, lines):
    found = [each for each in migration.check_source(GRAPHS + text) if each.kind == "missing"]
    assert [each.line for each in found] == (lines or [])
    assert all("model_fn" in each.message for each in found)


def test_a_function_of_one_cell_is_called_in_another(tmp_path):
    cells = [GRAPHS + "def net():\n    return tf.get_variable('w', [2])", "net()"]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    (found,) = migration.check([tmp_path])
    assert (found.cell, found.line, found.kind) == (1, 3, "missing")


def test_of_a_library_that_can_be_imported_what_it_has_is_told_of():
    text = "import tensorflow_hub as hub\nif handle:\n    hub.load(handle)\nfrom tensorflow_hub import KerasLayer\n"
    found = migration.check_source(text)
    assert [(each.line, each.name) for each in found] == [(3, "tensorflow_hub.load"), (4, "tensorflow_hub")]
    assert all("Instead: a model of `tf.keras.applications`" in each.message for each in found)
