"""A model that is trained under one strategy, saved, and goes on under others: the steps of TensorFlow's tutorial.

Run it with: python examples/save_and_load.py --strategy mirrored --simulate gpu:2
"""

import pathlib
import tempfile

import command_line
import example_data

import stratax.tf as tf

options = command_line.parse(
    __doc__, strategy="mirrored", uses=("data", "limit", "epochs", "batch_size", "width")
)
(images, labels), (test_images, _) = example_data.mnist(options.data, options.limit)
folder = pathlib.Path(tempfile.mkdtemp())


def scaled(image, label):
    return tf.cast(image, tf.float32) / 255, label


train_dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(scaled).batch(options.batch_size)
predict_dataset = tf.data.Dataset.from_tensor_slices(tf.cast(test_images, tf.float32) / 255)
predict_dataset = predict_dataset.batch(options.batch_size)


def compiled(model):
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, optimizer=tf.keras.optimizers.Adam(), metrics=["accuracy"])
    return model


strategy = options.make_strategy()
with strategy.scope():
    layers = [
        tf.keras.layers.Conv2D(options.width, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
    model = compiled(tf.keras.Sequential([tf.keras.Input((28, 28, 1)), *layers]))
model.fit(train_dataset, epochs=options.epochs)
predictions = model.predict(predict_dataset)

# With Keras: the whole model, its optimizer too, which goes on with or without a strategy, or under another one.
model.save(folder / "model.keras")
without = tf.keras.models.load_model(folder / "model.keras")
print("without a strategy:", abs(without.predict(predict_dataset) - predictions).max())
without.fit(train_dataset, epochs=options.epochs)

another_strategy = tf.distribute.OneDeviceStrategy(f"/{options.device_type}:0")
with another_strategy.scope():
    on_one = tf.keras.models.load_model(folder / "model.keras")
print("on one device:", abs(on_one.predict(predict_dataset) - predictions).max())
on_one.fit(train_dataset, epochs=options.epochs)

# With tf.saved_model: functions and variables, without the code of the model.
tf.saved_model.save(model, folder / "saved")
loaded = tf.saved_model.load(folder / "saved")
inference_func = loaded.signatures["serving_default"]
for batch in predict_dataset.take(1):
    print("loaded:", inference_func(batch)["output_0"].shape)

with strategy.scope():
    loaded = tf.saved_model.load(folder / "saved")
    inference_func = loaded.signatures["serving_default"]
    dist_predict_dataset = strategy.experimental_distribute_dataset(predict_dataset)
    found = []
    for batch in dist_predict_dataset:
        result = strategy.run(inference_func, args=(batch,))["output_0"]
        found += [row for part in strategy.experimental_local_results(result) for row in part]
print(
    "in replicas:", max(float(abs(row - other).max()) for row, other in zip(found, predictions, strict=True))
)

# What is loaded is a layer of another model, and its weights are trained there.
with strategy.scope():
    inputs = tf.keras.Input((28, 28, 1), name="input_x")
    outputs = tf.keras.layers.TFSMLayer(folder / "saved", call_endpoint="serving_default")(inputs)
    around = compiled(tf.keras.Model(inputs, outputs["output_0"]))
before = around.evaluate(train_dataset, verbose=0)[0]
around.fit(train_dataset, epochs=options.epochs)
print("as a layer:", around.evaluate(train_dataset, verbose=0)[0] < before)
