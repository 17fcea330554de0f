"""Writes the folder checkpoints: what TensorFlow 2.15 saves of `estimator_cases` and of two models of Keras.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_checkpoints
"""

import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from tests.golden import checkpoint_cases, estimator_cases, keras_cases

FOLDER = pathlib.Path(__file__).with_name("checkpoints")


def main():
    """Write the checkpoints, and what TensorFlow makes of them."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    numbers = by_name()
    objects()
    formats()
    np.savez_compressed(FOLDER / "numbers.npz", **numbers, **of_keras(), **warm_started())


def keep(saved, folder):
    """Copy a checkpoint, and write a `checkpoint` file that names it."""
    saved = pathlib.Path(saved)
    (FOLDER / folder).mkdir(parents=True)
    for path in saved.parent.iterdir():
        if path.name != "checkpoint" and path.suffix != ".meta":
            shutil.copy(path, FOLDER / folder)
    text = f'model_checkpoint_path: "{saved.name}"\nall_model_checkpoint_paths: "{saved.name}"\n'
    (FOLDER / folder / "checkpoint").write_text(text)


def by_name():
    """Train the Estimator whose numbers are in estimator.npz; return what further steps make of it."""
    model_fn, train, _ = estimator_cases.cases(tf, tf.estimator, tf.data)
    with tempfile.TemporaryDirectory() as folder:
        made = tf.estimator.Estimator(model_fn, folder)
        made.train(train, steps=estimator_cases.STEPS)
        keep(made.latest_checkpoint(), "estimator")
        made.train(train, steps=checkpoint_cases.STEPS)
        return {f"further {name}": made.get_variable_value(name) for name in made.get_variable_names()}


def objects():
    """Save a Keras model by its objects."""
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(3, name="first", input_shape=(2,)), tf.keras.layers.Dense(1, name="second")]
    )
    model.set_weights(checkpoint_cases.WEIGHTS)
    with tempfile.TemporaryDirectory() as folder:
        keep(
            tf.train.Checkpoint(model=model, step=tf.Variable(7, name="step")).write(f"{folder}/ckpt"),
            "objects",
        )


def formats():
    """Save variables of many dtypes in both formats of `Saver`."""
    for folder, settings in (
        ("version_1", {"write_version": tf.train.SaverDef.V1}),
        ("shards", {"write_version": tf.train.SaverDef.V1, "sharded": True}),
        ("version_2", {}),
    ):
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as place, tf.Session() as session:
            for name, value in checkpoint_cases.many(is_version_2=folder == "version_2").items():
                parts = tf.fixed_size_partitioner(3) if name.endswith("sliced") else None
                tf.get_variable(
                    name, value.shape, value.dtype, constant(value), partitioner=parts, use_resource=False
                )
            session.run(tf.global_variables_initializer())
            keep(tf.train.Saver(**settings).save(session, f"{place}/model.ckpt", global_step=3), folder)


def constant(value):
    """Return an initializer that gives a variable, or a part of it, its values."""

    def values(shape, dtype=None, partition_info=None):
        start = partition_info.var_offset[0] if partition_info else 0
        return tf.constant(value[start : start + shape[0]] if len(shape) else value, dtype)

    return values


def of_keras():
    """Train a Keras model as an Estimator; return what that gives."""
    with tempfile.TemporaryDirectory() as folder:
        made = tf.keras.estimator.model_to_estimator(
            keras_cases.model(tf.keras, tf.keras.optimizers.legacy), model_dir=folder
        )
        made.train(lambda: keras_cases.input_fn(tf.data, weighted=True), steps=keras_cases.STEPS)
        keep(made.latest_checkpoint(), "keras")

        def evaluation():
            return keras_cases.input_fn(tf.data, weighted=False, repeat=False)

        metrics = made.evaluate(evaluation)
        rows = made.predict(evaluation)
        predicted = np.stack([row["kind"] for row in rows])
    reader = tf.train.load_checkpoint(FOLDER / "keras")
    found = {f"keras metric {name}": value for name, value in metrics.items()}
    found["keras predicted"] = predicted
    names = [f"{layer}/{name}" for layer in ("hidden", "kind") for name in ("kernel", "bias")]
    return found | {f"keras variable {name}": reader.get_tensor(name) for name in names}


def warm_started():
    """Return the variables that warm starting by vocabularies gives."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        cases = checkpoint_cases.cases(tf, tf.estimator, tf.data, folder, counted)
        cases.old().train(cases.input_fn, steps=1)
        for name, settings in cases.settings.items():
            made = cases.new(name, settings)
            made.train(cases.input_fn, steps=1)
            found |= {f"{name} {each}": made.get_variable_value(each) for each in made.get_variable_names()}
        made = cases.initialized().train(cases.input_fn, steps=1)
        found |= {f"initialized {each}": made.get_variable_value(each) for each in made.get_variable_names()}
    return found


def counted(shape, dtype=None):
    """Do what `checkpoint_cases.counted` does, with a shape that TensorFlow knows later."""
    shape = tf.stack(shape)
    numbers = tf.cast(tf.range(1, tf.reduce_prod(shape) + 1), tf.float32)
    return tf.reshape(numbers, shape) + 1000 * tf.cast(shape[1], tf.float32)


if __name__ == "__main__":
    main()
