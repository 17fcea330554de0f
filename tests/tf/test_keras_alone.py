"""`import keras` finds what Keras 2 had, where a process takes Stratax for TensorFlow."""

import subprocess
import sys

# Written for Keras 2 and TensorFlow 1; TensorFlow 2.15 computes these losses of it, with `tf.compat.v1`.
PROGRAM = """
import keras
import keras.backend.tensorflow_backend as KTF
import tensorflow as tf
from keras import backend as K
from keras.engine.topology import Layer, get_source_inputs
from keras.layers import CuDNNLSTM
from keras.layers.core import Dense
from keras.layers.normalization.batch_normalization import BatchNormalization
from keras.objectives import binary_crossentropy
from keras.preprocessing.image import ImageDataGenerator
from keras.preprocessing.text import Tokenizer
from keras.utils import np_utils
from tensorflow.python.keras.layers.core import Dropout

def make_session(fraction=0.3):
    options = tf.GPUOptions(per_process_gpu_memory_fraction=fraction)
    return tf.Session(config=tf.ConfigProto(gpu_options=options))

KTF.set_session(make_session())
K.get_session().run([tf.global_variables_initializer(), tf.tables_initializer()])
weight = tf.constant(2.0)
assert np_utils.to_categorical([1], 2).tolist() == [[0.0, 1.0]]
assert K.image_dim_ordering() == "tf"
K.set_image_dim_ordering("th")
assert (K.image_dim_ordering(), K.image_data_format()) == ("th", "channels_first")
K.set_image_dim_ordering("tf")
assert K.image_data_format() == "channels_last"
try:
    K.set_image_dim_ordering("channels_last")
except ValueError as error:
    assert "'tf' (channels last) or 'th'" in str(error)
assert issubclass(Dense, Layer) and Dropout is keras.layers.Dropout

layers = [Dense(2, "tanh", kernel_initializer="ones"), Dense(1, kernel_initializer="ones")]
model = keras.Sequential([keras.Input((2,)), *layers])
model.compile("sgd", lambda y, x: weight * K.mean(K.square(K.clip(x - y, -5.0, 5.0)), axis=-1))
x = [[0.0, 1.0], [2.0, -1.0], [0.5, 0.25], [-1.0, -1.0]]
history = model.fit(tf.constant(x), tf.constant([[1.0], [0.0], [2.0], [1.0]]), epochs=3, verbose=0, shuffle=False)
print(" ".join(f"{loss:.5f}" for loss in history.history["loss"]))
"""


def test_a_program_of_keras_2_with_a_session_for_its_settings_trains(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "-m", "stratax", "run", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.stdout.split("\n")[-2:] == ["5.84990 5.49074 5.16518", ""], found.stderr
