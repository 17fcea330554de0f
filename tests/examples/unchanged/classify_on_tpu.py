"""A classifier of photographs as notebooks for TPUs have it: records, augmentation, a schedule, a submission."""

import math
import re
import sys

import numpy as np
import tensorflow as tf
import tensorflow.keras.backend as K
from tensorflow.keras import layers as L

folder = sys.argv[1]
AUTO = tf.data.experimental.AUTOTUNE
SIZE, CLASSES, BATCH, EPOCHS = 16, ["dark", "light"], 8, 2

try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(tpu)
    tf.tpu.experimental.initialize_tpu_system(tpu)
    strategy = tf.distribute.experimental.TPUStrategy(tpu)
except ValueError:
    strategy = tf.distribute.get_strategy()
print("replicas", strategy.num_replicas_in_sync)


def write(split, count):
    with tf.io.TFRecordWriter(f"{folder}/{split}-{count}.tfrec") as writer:
        for number in range(count):
            label = number % 2
            pixels = np.full((SIZE, SIZE, 3), 60 + 120 * label + number, np.uint8)
            feature = {
                "image": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[tf.io.encode_jpeg(pixels).numpy()])
                ),
                "class": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                "id": tf.train.Feature(bytes_list=tf.train.BytesList(value=[f"p{number:03}".encode()])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


for split, count in (("train", 32), ("val", 12), ("test", 10)):
    write(split, count)


def count_of(names):
    return np.sum([int(re.search(r"-([0-9]*)\.", name).group(1)) for name in names])


def read(split, second, ordered=False):
    def parse(example):
        features = {"image": tf.io.FixedLenFeature([], tf.string)}
        features[second] = tf.io.FixedLenFeature([], tf.int64 if second == "class" else tf.string)
        parsed = tf.io.parse_single_example(example, features)
        image = tf.cast(tf.image.decode_jpeg(parsed["image"], channels=3), tf.float32) / 255.0
        image = tf.reshape(image, [SIZE, SIZE, 3])
        return image, tf.cast(parsed["class"], tf.int32) if second == "class" else parsed["id"]

    options = tf.data.Options()
    options.experimental_deterministic = ordered
    files = tf.data.TFRecordDataset(tf.io.gfile.glob(f"{folder}/{split}*.tfrec"), num_parallel_reads=AUTO)
    return files.with_options(options).map(parse, num_parallel_calls=AUTO)


def augment(image, label):
    image = tf.image.resize(tf.image.random_flip_left_right(image), [SIZE + 4, SIZE + 4])
    image = tf.image.random_crop(tf.image.random_saturation(image, 0, 2), [SIZE, SIZE, 3])
    # Turned a little: where each pixel comes from, by a matrix.
    angle = math.pi / 18.0 * tf.random.normal([1], dtype="float32")
    turn = tf.reshape(
        tf.concat([tf.cos(angle), tf.sin(angle), -tf.sin(angle), tf.cos(angle)], axis=0), [2, 2]
    )
    rows = tf.repeat(tf.range(SIZE // 2, -SIZE // 2, -1), SIZE)
    columns = tf.tile(tf.range(-SIZE // 2, SIZE // 2), [SIZE])
    there = K.cast(K.dot(turn, tf.cast(tf.stack([rows, columns]), dtype="float32")), dtype="int32")
    there = K.clip(there, -SIZE // 2 + 1, SIZE // 2)
    places = tf.stack([SIZE // 2 - there[0,], SIZE // 2 - 1 + there[1,]])
    return tf.reshape(tf.gather_nd(image, tf.transpose(places)), [SIZE, SIZE, 3]), label


training = read("train", "class").map(augment, num_parallel_calls=AUTO).repeat().shuffle(64)
training = training.batch(BATCH, drop_remainder=True).prefetch(AUTO)
validation = read("val", "class", ordered=True).batch(BATCH).cache().prefetch(AUTO)

with strategy.scope():
    features = tf.keras.Sequential([L.Conv2D(4, 3, activation="relu", input_shape=[SIZE, SIZE, 3])])
    model = tf.keras.Sequential(
        [features, L.GlobalAveragePooling2D(), L.Dense(len(CLASSES), activation="softmax")]
    )
model.compile(
    optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"]
)
rates = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.001 * 0.5**epoch, verbose=0)
steps = count_of(tf.io.gfile.glob(f"{folder}/train*.tfrec")) // BATCH
history = model.fit(
    training, steps_per_epoch=steps, epochs=EPOCHS, validation_data=validation, callbacks=[rates], verbose=2
)
print("rates", [round(float(rate), 6) for rate in history.history["learning_rate"]])

labels = next(iter(validation.map(lambda image, label: label).unbatch().batch(12))).numpy()
assert (labels == np.concatenate([[y] for _, y in validation.unbatch()])).all()
guesses = np.argmax(model.predict(validation.map(lambda image, label: image), verbose=0), axis=-1)
matrix = np.zeros((2, 2), np.int32)
np.add.at(matrix, (labels, guesses), 1)
assert (matrix == tf.math.confusion_matrix(labels, guesses).numpy()).all()

tests = read("test", "id", ordered=True).batch(BATCH)
found = np.argmax(model.predict(tests.map(lambda image, name: image), verbose=0), axis=-1)
names = next(iter(tests.map(lambda image, name: name).unbatch().batch(10))).numpy().astype("U")
table = np.rec.fromarrays([names, found])
np.savetxt(f"{folder}/submission.csv", table, fmt=["%s", "%d"], delimiter=",", header="id,label", comments="")
print("classes", tf.strings.join([tf.constant("is"), tf.constant(CLASSES)], separator=" ").numpy())
