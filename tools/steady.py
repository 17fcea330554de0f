"""Run a program of TensorFlow so that it computes the same each time, and note its losses.

`python steady.py PROGRAM [ARGUMENTS]`, or `-m MODULE [ARGUMENTS]`, with whatever `tensorflow` there is: first values
follow from shapes alone, nothing is shuffled, dropped or distorted, and generators have seeds. Public names are
replaced, and of no library more is known than these. It runs on Python 3.7 on, and imports nothing of Stratax.

Each loss is a line of the file that the environment names in STEADY_NOTES: where it was seen, at which step ("-" where
nobody counts), and the loss.
"""

import contextlib
import functools
import importlib
import inspect
import os
import random
import re
import runpy
import sys
import zlib

import numpy as np

NOTES = "STEADY_NOTES"
_RANDOM_INITIALIZER = re.compile(r"(?i)normal|uniform|orthogonal|variance_?scaling|unit_scaling")
_LAYERS_OF_NOISE = (
    "Dropout AlphaDropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D SpatialDropout3D"
)
_INITIALIZERS = ("initializers", "keras.initializers")
# What programs import besides.
_INSIDE = ("tensorflow.python.ops.init_ops", "tensorflow.python.ops.init_ops_v2")
_DISTORTIONS = (
    "random_flip_left_right random_flip_up_down random_brightness random_contrast random_hue random_saturation "
    "random_jpeg_quality"
)


def chances(shape):
    """Return numbers between -1 and 1 that follow from the shape alone."""
    seed = zlib.crc32(repr([int(size) for size in shape]).encode())
    return np.random.RandomState(seed).uniform(-1.0, 1.0, [int(size) for size in shape])


def first_values(shape):
    """Return a variable's first values: such that sums over its inputs keep their scale."""
    inputs = np.prod(shape[:-1]) if len(shape) > 1 else 400
    return chances(shape) * np.sqrt(3.0 / max(1, inputs))


class Notes:
    """The file of losses.

    Args:
        tf: TensorFlow, or what stands for it.
        path: The file's path.
    """

    def __init__(self, tf, path):
        self._tf = tf
        self._path = path
        # What calls another thing that is noted is noted itself alone.
        self._inside = False
        self._say(f"# TensorFlow {tf.__version__}")

    def note(self, where, loss, step="-"):
        """Note a loss, which may be known only when the function runs that is traced."""
        if self._inside:
            return
        tf = self._tf
        total = functools.reduce(lambda a, b: a + b, [tf.reduce_sum(part) for part in tf.nest.flatten(loss)])
        if tf.executing_eagerly():
            self._say(f"{where} {step} {float(total)!r}")
        else:
            tf.print(where, step, total, output_stream="file://" + self._path)

    def note_number(self, where, loss, step="-"):
        """Note a loss that is known."""
        self._say(f"{where} {step} {float(np.mean(loss))!r}")

    @contextlib.contextmanager
    def alone(self):
        """Note nothing of what tapes see."""
        before, self._inside = self._inside, True
        try:
            yield
        finally:
            self._inside = before

    def _say(self, line):
        with open(self._path, "a") as file:
            file.write(line + "\n")


def find(root, path):
    """Return what a path of names leads to, or None."""
    for name in path.split("."):
        try:
            root = getattr(root, name)
        except (AttributeError, ImportError):
            return None
    return root


def imported(name):
    """Return a module, or None if there is no such."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def replace(root, names, make):
    """Put `make(what is there)` in the place of each name that is there."""
    for path in names.split():
        place, _, name = path.rpartition(".")
        owner = find(root, place) if place else root
        found = None if owner is None else find(owner, name)
        if found is not None:
            setattr(owner, name, make(found))


def replace_method(cls, name, make):
    """Put `make(function)` in the place of a class' method, also of one that it inherits."""
    for owner in [cls] if cls is None else cls.__mro__:
        if owner is not None and name in vars(owner):
            found = vars(owner)[name]
            is_static = isinstance(found, staticmethod)
            function = found.__func__ if is_static else found
            if not hasattr(function, "steadied"):
                made = functools.wraps(function)(make(function))
                made.steadied = True
                setattr(owner, name, staticmethod(made) if is_static else made)
            return


def steady_initializers(tf):
    """Let random initializers give what follows from the shape alone."""

    def call(self, shape, dtype=None, **options):
        kind = tf.as_dtype(dtype or getattr(self, "dtype", None) or tf.float32)
        return tf.constant(first_values([int(size) for size in shape]), kind)

    modules = [find(tf, place + name) for place in ("", "compat.v1.") for name in _INITIALIZERS]
    for module in [tf, tf.compat.v1, *modules, *map(imported, _INSIDE)]:
        for name in dir(module) if module is not None else ():
            if _RANDOM_INITIALIZER.search(name):
                found = find(module, name)
                if inspect.isclass(found) and "__call__" in dir(found):
                    found.__call__ = call


def steady_contrib(tf):
    """Let layers of TensorFlow 1's contrib begin like all others."""
    if find(tf, "contrib.layers") is None:
        return
    initializer = tf.compat.v1.glorot_uniform_initializer()

    def beginning(found):
        @functools.wraps(found)
        def layer(*args, **named):
            return found(*args, **{"weights_initializer": initializer, **named})

        return layer

    for place in ("contrib.layers.", "contrib.slim."):
        made = "xavier_initializer xavier_initializer_conv2d variance_scaling_initializer"
        replace(
            tf,
            " ".join(place + name for name in made.split()),
            lambda found: lambda *args, **named: initializer,
        )
        layers = (
            "fully_connected conv2d convolution2d separable_conv2d separable_convolution2d conv2d_transpose"
        )
        replace(tf, " ".join(place + name for name in layers.split()), beginning)


def steady_generators(tf):
    """Let random functions give what follows from the shape alone."""

    def sized(shape, dtype):
        known = tf.get_static_value(shape) if hasattr(tf, "get_static_value") else shape
        if known is not None:
            return tf.constant(chances(np.reshape(known, -1)), dtype)
        sequence = tf.range(tf.cast(tf.reduce_prod(shape), tf.float32))
        return tf.cast(tf.reshape(tf.cos(sequence * sequence), shape), dtype)

    def normal(shape, mean=0.0, stddev=1.0, dtype=tf.float32, seed=None, name=None, **options):
        return mean + sized(shape, dtype) * stddev * 3.0**0.5

    def uniform(shape, minval=0, maxval=None, dtype=tf.float32, seed=None, name=None, **options):
        top = 1 if maxval is None else maxval
        share = (sized(shape, tf.float32) + 1.0) / 2.0
        return tf.cast(tf.cast(minval, tf.float32) + share * tf.cast(top - minval, tf.float32), dtype)

    def categorical(logits, num_samples, dtype=None, seed=None, name=None, output_dtype=None):
        # The largest of logits with noise of this distribution is one drawn by them.
        noise = -np.log(-np.log((chances([num_samples, logits.shape[-1]]) + 1.0) / 2.0))
        drawn = tf.expand_dims(logits, 1) + tf.constant(noise, logits.dtype)
        return tf.argmax(drawn, -1, output_type=dtype or output_dtype or tf.int64)

    for place in ("", "compat.v1."):
        replace(tf, f"{place}random.categorical {place}multinomial", lambda found: categorical)
        for kind, made in (("normal", normal), ("truncated_normal", normal), ("uniform", uniform)):
            name = kind if kind == "truncated_normal" else "random_" + kind
            replace(tf, f"{place}random.{kind} {place}{name}", lambda found, made=made: made)
            stateless = f"{place}random.stateless_{kind}"
            replace(
                tf,
                stateless,
                lambda found, made=made: lambda shape, seed, *rest, **named: made(shape, *rest, **named),
            )
        replace(
            tf,
            f"{place}random.shuffle {place}random_shuffle",
            lambda found: lambda value, *rest, **named: value,
        )
    new = np.random.default_rng
    np.random.default_rng = lambda seed=None: new(0 if seed is None else seed)
    if find(tf, "random.set_seed"):
        tf.random.set_seed(0)
    # Others are read whenever their readers come to it, also behind an update.
    tf.compat.v1.enable_resource_variables()
    if tf.__version__.startswith("1."):
        # As those others are, which programs ask whether they are there.
        imported("tensorflow.python.ops.resource_variable_ops").BaseResourceVariable.__bool__ = lambda self: (
            True
        )


def steady_layers(tf):
    """Let nothing be dropped, and no noise be added."""

    def first(found):
        return lambda value, *rest, **named: value

    for place in ("", "compat.v1."):
        for name in _LAYERS_OF_NOISE.split():
            for path in (f"{place}keras.layers.{name}", f"{place}layers.{name}"):
                replace_method(
                    find(tf, path), "call", lambda found: lambda self, inputs, *rest, **named: inputs
                )
        functions = "nn.dropout layers.dropout keras.backend.dropout nn.rnn_cell.DropoutWrapper"
        replace(tf, " ".join(place + name for name in functions.split()), first)
    replace(tf, "contrib.layers.dropout contrib.slim.dropout contrib.rnn.DropoutWrapper", first)


def steady_input(tf):
    """Let examples come in the order of the data, as they are."""

    def first(found):
        return lambda value, *rest, **named: value

    def in_order(found):
        return lambda *args, **named: found(*args, **{**named, "shuffle": False})

    for place in ("", "compat.v1."):
        dataset = find(tf, place + "data.Dataset")
        replace_method(dataset, "shuffle", lambda found: lambda self, *args, **named: self)
        replace_method(dataset, "with_options", lambda found: lambda self, *args, **named: self)
        replace_method(dataset, "list_files", in_order)
        replace(tf, f"{place}data.experimental.shuffle_and_repeat", _only_repeat)
        replace(tf, f"{place}data.experimental.parallel_interleave", _not_sloppy)
        inputs = f"{place}estimator.inputs."
        replace(tf, f"{inputs}numpy_input_fn {inputs}pandas_input_fn", in_order)
        replace(tf, " ".join(f"{place}image.{name}" for name in _DISTORTIONS.split()), first)
        replace(tf, f"{place}image.random_crop {place}random_crop", _corner)
        replace(
            tf, f"{place}image.sample_distorted_bounding_box", lambda found: functools.partial(_whole_box, tf)
        )
    replace(tf, "contrib.data.shuffle_and_repeat", _only_repeat)
    replace(tf, "contrib.data.parallel_interleave", _not_sloppy)


def _only_repeat(found):
    return lambda buffer_size, count=None, seed=None: lambda dataset: dataset.repeat(count)


def _not_sloppy(found):
    return lambda map_func, cycle_length, block_length=1, **named: (
        lambda dataset: dataset.interleave(map_func, cycle_length=cycle_length, block_length=block_length)
    )


def _corner(found):
    return lambda value, size, *rest, **named: value[tuple(slice(0, each) for each in size)]


def _whole_box(tf, image_size, bounding_boxes, *rest, **named):
    size = tf.concat([tf.cast(image_size, tf.int32)[:2], [-1]], 0)
    return tf.zeros([3], tf.int32), size, tf.constant([[[0.0, 0.0, 1.0, 1.0]]])


def lend_older_names(tf):
    """Let TensorFlow 1.15 have what moved before it."""
    old, new = find(tf, "contrib.estimator"), find(tf, "estimator.experimental")
    for name in dir(new) if old is not None else ():
        if name.startswith("stop_if_") and find(old, name) is None:
            setattr(old, name, getattr(new, name))


def steady_devices(tf):
    """Let a program for TPUs do without them, on one device."""

    def nothing(found):
        return lambda *args, **named: None

    def without(found):
        return lambda self, *args, **named: found(self, *args, **{**named, "use_tpu": False})

    for place in ("", "compat.v1.", "contrib."):
        for module in ("estimator.tpu", "tpu"):
            replace_method(find(tf, f"{place}{module}.TPUEstimator"), "__init__", without)
        replace(
            tf, place + "tpu.CrossShardOptimizer", lambda found: lambda optimizer, *rest, **named: optimizer
        )
        replace(
            tf,
            f"{place}cluster_resolver.TPUClusterResolver {place}tpu.experimental.initialize_tpu_system",
            nothing,
        )
        replace(tf, place + "distribute.cluster_resolver.TPUClusterResolver", nothing)
        strategies = f"{place}distribute.TPUStrategy {place}distribute.experimental.TPUStrategy"
        replace(tf, strategies, lambda found: lambda *args, **named: tf.distribute.get_strategy())
    replace(tf, "config.experimental_connect_to_cluster config.experimental_connect_to_host", nothing)


def note_fits(tf, notes):
    """Note what `Model.fit` says after each batch, and keep its examples in order."""

    class Losses(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            notes.note_number("fit", logs["loss"])

    def fitting(found):
        def fit(self, *args, **named):
            named["callbacks"] = [*(named.get("callbacks") or ()), Losses()]
            if "shuffle" in inspect.signature(found).parameters:
                named["shuffle"] = False
            with notes.alone():
                return found(self, *args, **named)

        return fit

    def on_batch(found):
        def train_on_batch(self, *args, **named):
            with notes.alone():
                result = found(self, *args, **named)
            loss = result.get("loss") if isinstance(result, dict) else np.ravel(result)[0]
            notes.note_number("batch", loss)
            return result

        return train_on_batch

    for path in ("keras.Model", "compat.v1.keras.Model"):
        for name in ("fit", "fit_generator"):
            replace_method(find(tf, path), name, fitting)
        replace_method(find(tf, path), "train_on_batch", on_batch)


def raise_behind_readers(graph, step):
    """Let the global step grow when everything has read it; in a graph nothing says which comes first."""
    readers = []
    for operation in graph.get_operations():
        if not any(each is step for each in operation.inputs):
            continue
        if operation.type.startswith("Assign"):
            operation._add_control_inputs(readers)
        elif operation._get_control_flow_context() is None:
            readers.append(operation)


def note_estimators(tf, notes):
    """Note the loss of each step of `Estimator.train`."""
    v1 = tf.compat.v1

    class Losses(v1.train.SessionRunHook):
        def begin(self):
            # Where Estimators put the loss of their spec.
            self.loss = v1.get_collection(v1.GraphKeys.LOSSES)[-1]
            self.step = v1.train.get_global_step()
            if hasattr(self.step, "handle"):
                raise_behind_readers(v1.get_default_graph(), self.step.handle)

        def before_run(self, context):
            return v1.train.SessionRunArgs(self.loss)

        def after_run(self, context, values):
            # Read afterwards: beside the update, nobody knows which comes first.
            notes.note_number("estimator", values.results, int(context.session.run(self.step)))

    def training(found):
        def train(self, input_fn, hooks=None, *rest, **named):
            with notes.alone():
                return found(self, input_fn, [*(hooks or ()), Losses()], *rest, **named)

        return train

    replace_method(find(v1, "estimator.Estimator"), "train", training)


def note_tapes(tf, notes):
    """Note what tapes differentiate."""

    def noting(found):
        def gradient(self, target, *args, **named):
            result = found(self, target, *args, **named)
            notes.note("tape", target)
            return result

        return gradient

    replace_method(tf.GradientTape, "gradient", noting)


def run(what):
    """Run a program as `python` would."""
    if what[0] == "-m":
        sys.argv, sys.path[0] = what[1:], os.getcwd()
        runpy.run_module(what[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = what, os.path.dirname(os.path.abspath(what[0]))
        runpy.run_path(what[0], run_name="__main__")


def main(what):
    """Make everything steady, and run the program."""
    import tensorflow as tf

    notes = Notes(tf, os.environ[NOTES])
    lend_older_names(tf)
    for make_steady in (
        steady_initializers,
        steady_contrib,
        steady_generators,
        steady_layers,
        steady_input,
        steady_devices,
    ):
        make_steady(tf)
    for note in (note_fits, note_estimators, note_tapes):
        note(tf, notes)
    # At last: what is imported may draw some; what the program imports draws more here than there.
    random.shuffle = lambda values, *rest: None
    random.seed(0)
    np.random.seed(0)
    run(what)


if __name__ == "__main__":
    main(sys.argv[1:])
