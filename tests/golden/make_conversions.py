"""Writes the folder conversions: what Keras in TensorFlow saves of `conversion_cases`.

Run it with a Python that has TensorFlow 2.15 (Keras 2), and with one that has TensorFlow 2.21 (Keras 3):
python -m tests.golden.make_conversions
"""

import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from tests.golden import conversion_cases

IS_KERAS_2 = tf.keras.__name__.startswith("keras.api._v2")
FOLDER = pathlib.Path(__file__).with_name("conversions")


def main():
    """Write what this version of Keras saves."""
    optimizers = tf.keras.optimizers
    if IS_KERAS_2:
        keep("keras2_adam", optimizers.Adam(0.01))
        keep("keras2_older_sgd", optimizers.legacy.SGD(0.01, momentum=0.9))
        keep("keras2_older_adam", optimizers.legacy.Adam(0.01, amsgrad=True))
        beside("keras2_beside", optimizers.Adam(0.01))
        by_name("saver_adam")
        saved_model("keras2_saved", lambda model, folder: model.save(folder))
    else:
        keep("keras3_adam", optimizers.Adam(0.01))
        keep("keras3_rmsprop", optimizers.RMSprop(0.01, momentum=0.5, centered=True))
        saved_model("keras3_exported", lambda model, folder: model.export(folder, verbose=False))


def beside(name, optimizer):
    """Save a model and its optimizer that a loop of the program's own trains."""
    model = conversion_cases.model(tf.keras)
    model.optimizer = optimizer
    for _ in range(conversion_cases.STEPS):
        conversion_cases.step(tf, model)
    del model.optimizer
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    tf.train.Checkpoint(net=model, optimizer=optimizer).save(str(FOLDER / name / "ckpt"))
    (FOLDER / name / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
    model.optimizer = optimizer
    numbers(name, model)


def by_name(name):
    """Save a network of TensorFlow 1 and its Adam with a Saver, in the first format."""
    v1 = tf.compat.v1
    inputs, targets = conversion_cases.batches()
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).mkdir()
    with tf.Graph().as_default(), v1.Session() as session:
        values = inputs
        for layer, (rows, columns) in conversion_cases.LAYERS.items():
            kernel = v1.get_variable(f"net/{layer}/kernel", (rows, columns))
            bias = v1.get_variable(f"net/{layer}/bias", (columns,), initializer=v1.zeros_initializer())
            values = (tf.tanh if layer == "first" else tf.identity)(tf.matmul(values, kernel) + bias)
        steps = v1.train.get_or_create_global_step()
        optimizer = v1.train.AdamOptimizer(0.01, epsilon=1e-7)
        train = optimizer.minimize(tf.reduce_mean((values - targets) ** 2), global_step=steps)
        session.run(v1.global_variables_initializer())
        for _ in range(conversion_cases.STEPS):
            session.run(train)
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1)
        saver.save(session, str(FOLDER / name / "model.ckpt"), global_step=steps, write_meta_graph=False)
        (FOLDER / name / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-3"\n')
        found = {"predicted": session.run(values), "iterations": session.run(steps)}
        session.run(train)
        further = {
            f"further {index}": session.run(each) for index, each in enumerate(v1.trainable_variables())
        }
        np.savez(FOLDER / name / "numbers.npz", **found, **further)


def keep(name, optimizer):
    """Save a model and its optimizer."""
    model = conversion_cases.trained(tf.keras, optimizer)
    step = tf.Variable(conversion_cases.STEPS, dtype=tf.int64, name="step")
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    tf.train.Checkpoint(model=model, optimizer=optimizer, step=step).save(str(FOLDER / name / "ckpt"))
    (FOLDER / name / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
    numbers(name, model)


def saved_model(name, save):
    """Save a model for serving; of it only the variables and the name of the rest are kept."""
    model = conversion_cases.trained(tf.keras, tf.keras.optimizers.SGD(0.01))
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        save(model, folder)
        shutil.copytree(f"{folder}/variables", FOLDER / name / "variables")
    (FOLDER / name / "saved_model.pb").write_bytes(b"")
    numbers(name, model)


def numbers(name, model):
    """Write what the model predicts, and its weights after one more step."""
    inputs, _ = conversion_cases.batches()
    found = {
        "predicted": model(inputs, training=False).numpy(),
        "iterations": model.optimizer.iterations.numpy(),
    }
    conversion_cases.step(tf, model)
    further = {f"further {index}": each.numpy() for index, each in enumerate(model.trainable_variables)}
    np.savez(FOLDER / name / "numbers.npz", **found, **further)


if __name__ == "__main__":
    main()
