"""What was loaded of an export is compiled for TPUs by the program that it has for them."""

import keras
import numpy as np

import stratax as sx
import stratax.tf as tf
from tests.command.rehearsal.devices import needs_libtpu
from tests.command.rehearsal.test_strategies import caught_in, compiled

pytestmark = needs_libtpu


def test_loaded_functions_are_called_by_themselves_in_replicas_and_as_layers(tmp_path):
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    tf.saved_model.save(inner, str(tmp_path / "saved"))
    x, y = np.zeros((8, 3), "float32"), np.zeros((8, 2), "float32")

    def run():
        tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"](x)
        strategy = sx.distribute.MirroredStrategy()
        with strategy.scope():
            loaded = tf.saved_model.load(str(tmp_path / "saved"))
            inputs = keras.Input((3,))
            endpoint = tf.keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="serving_default")
            model = keras.Model(inputs, endpoint(inputs)["output_0"])
            model.compile("sgd", "mse")
        strategy.run(loaded.signatures["serving_default"], (x,))
        model.fit(x, y, batch_size=8, verbose=0)

    alone, replicas, training = (compiled(made, "v3-8") for made in caught_in(run))
    assert alone.num_devices == 1
    assert replicas.num_devices == 8
    assert [each.kind for each in training.collectives] == ["all-reduce"]
