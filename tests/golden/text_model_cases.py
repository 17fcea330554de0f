"""Models that take text and categories, as tutorials make them, to be compared with TensorFlow."""

import os

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(*shape, seed=0, scale=0.3):
    return (scale * np.random.RandomState(seed).randn(*shape)).astype("float32")


def settled(model):
    """Give a model weights that do not depend on how they are drawn."""
    for index, weight in enumerate(model.trainable_weights):
        weight.assign(numbers(*weight.shape, seed=index))
    return model


def compiled(tf, model, loss, metrics=()):
    model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9), loss, metrics=list(metrics))
    return settled(model)


def weights_of(model):
    return [float(np.sum(np.abs(np.asarray(each)))) for each in model.trainable_weights]


# Patients: numbers, categories as numbers and as text.


def patients(count=48):
    random = np.random.RandomState(7)
    features = {
        "sex": random.randint(0, 2, count),
        "vessels": random.randint(0, 4, count),
        "thal": np.array(["normal", "fixed", "reversible", "2", "1"])[random.randint(0, 5, count)],
        "age": random.randint(29, 77, count),
        "pressure": random.randint(94, 200, count).astype("float32"),
        "slope": random.rand(count).astype("float32"),
    }
    return features, random.randint(0, 2, count)


def as_dataset(tf, features, labels, batch):
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(batch)


def encoded(tf, layer, column, dataset, name):
    own = dataset.map(lambda x, y: x[name])
    layer.adapt(own.map(lambda x: tf.expand_dims(x, -1)))
    return layer(column)


def model_of_patients(tf, dataset):
    layers = tf.keras.layers
    inputs = {
        "sex": tf.keras.Input(shape=(1,), name="sex", dtype="int64"),
        "vessels": tf.keras.Input(shape=(1,), name="vessels", dtype="int64"),
        "thal": tf.keras.Input(shape=(1,), name="thal", dtype="string"),
        "age": tf.keras.Input(shape=(1,), name="age"),
        "pressure": tf.keras.Input(shape=(1,), name="pressure"),
        "slope": tf.keras.Input(shape=(1,), name="slope"),
    }
    parts = [
        encoded(tf, layers.IntegerLookup(output_mode="multi_hot"), inputs[name], dataset, name)
        for name in ("sex", "vessels")
    ]
    parts.append(encoded(tf, layers.StringLookup(output_mode="multi_hot"), inputs["thal"], dataset, "thal"))
    parts += [
        encoded(tf, layers.Normalization(), inputs[name], dataset, name)
        for name in ("age", "pressure", "slope")
    ]
    x = layers.Dense(8, activation="relu")(layers.Concatenate()(parts))
    return tf.keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))


@case
def structured_data_from_scratch(tf):
    features, labels = patients()
    dataset = as_dataset(tf, features, labels, 8)
    model = compiled(tf, model_of_patients(tf, dataset), "binary_crossentropy", ["accuracy"])
    history = model.fit(dataset, epochs=3, validation_data=dataset, verbose=0).history
    sample = {"sex": 1, "vessels": 0, "thal": "fixed", "age": 60, "pressure": 145.0, "slope": 0.3}
    one = model.predict({name: tf.convert_to_tensor([value]) for name, value in sample.items()}, verbose=0)
    return history["loss"], history["val_loss"], history["val_accuracy"], one, weights_of(model)


@case
def classify_with_preprocessing_layers(tf):
    layers = tf.keras.layers
    features, labels = patients(40)
    dataset = as_dataset(tf, features, labels, 10)

    def category(name, dtype, max_tokens=None):
        if dtype == "string":
            index = layers.StringLookup(max_tokens=max_tokens)
        else:
            index = layers.IntegerLookup(max_tokens=max_tokens)
        index.adapt(dataset.map(lambda x, y: x[name]))
        encoder = layers.CategoryEncoding(num_tokens=index.vocabulary_size())
        return lambda feature: encoder(index(feature))

    inputs, parts = {}, []
    for name in ("pressure", "slope"):
        normal = layers.Normalization(axis=None)
        normal.adapt(dataset.map(lambda x, y, name=name: x[name]))
        inputs[name] = tf.keras.Input(shape=(1,), name=name)
        parts.append(normal(inputs[name]))
    inputs["age"] = tf.keras.Input(shape=(1,), name="age", dtype="int64")
    parts.append(category("age", "int64", max_tokens=5)(inputs["age"]))
    inputs["thal"] = tf.keras.Input(shape=(1,), name="thal", dtype="string")
    parts.append(category("thal", "string", max_tokens=5)(inputs["thal"]))
    x = layers.Dense(6, activation="relu")(layers.concatenate(parts))
    model = compiled(
        tf,
        tf.keras.Model(inputs, layers.Dense(1)(x)),
        tf.keras.losses.BinaryCrossentropy(from_logits=True),
        ["accuracy"],
    )
    own = dataset.map(lambda x, y: ({name: x[name] for name in inputs}, y))
    losses = model.fit(own, epochs=2, verbose=0).history["loss"]
    return losses, model.evaluate(own, verbose=0), model.predict(own.take(1), verbose=0)[:3]


def space_of_patients(tf):
    space = tf.keras.utils.FeatureSpace
    return space(
        features={
            "sex": "integer_categorical",
            "thal": "string_categorical",
            "vessels": space.integer_hashed(num_bins=6, output_mode="one_hot"),
            "age": space.float_discretized(num_bins=6),
            "pressure": "float_normalized",
            "slope": space.float_rescaled(scale=2.0),
        },
        crosses=[
            space.cross(feature_names=("sex", "age"), crossing_dim=8),
            space.cross(feature_names=("thal", "vessels"), crossing_dim=8),
        ],
        output_mode="concat",
    )


@case
def structured_data_with_feature_space(tf):
    features, labels = patients()
    dataset = as_dataset(tf, features, labels, 8)
    space = space_of_patients(tf)
    space.adapt(dataset.map(lambda x, y: x))
    encoded_features = space.get_encoded_features()
    outputs = tf.keras.layers.Dense(1, activation="sigmoid")(
        tf.keras.layers.Dense(4, activation="relu")(encoded_features)
    )
    training = compiled(tf, tf.keras.Model(encoded_features, outputs), "binary_crossentropy")
    losses = training.fit(
        dataset.map(lambda x, y: (space(x), y), num_parallel_calls=2).prefetch(2), epochs=2, verbose=0
    ).history["loss"]
    inference = tf.keras.Model(space.get_inputs(), outputs)
    predicted = inference.predict(dataset.map(lambda x, y: x), verbose=0)
    first = {name: tf.convert_to_tensor(value[:1]) for name, value in features.items()}
    return losses, predicted[:5], np.asarray(space(first)), weights_of(training)


@case
def feature_space_inside_the_trained_model(tf):
    features, labels = patients()
    dataset = as_dataset(tf, features, labels, 8)
    space = space_of_patients(tf)
    space.adapt(dataset.map(lambda x, y: x))
    outputs = tf.keras.layers.Dense(1)(space.get_encoded_features())
    model = compiled(tf, tf.keras.Model(space.get_inputs(), outputs), "mse")
    return model.fit(dataset, epochs=2, verbose=0).history["loss"], model.evaluate(dataset, verbose=0)


# Reviews.

_WORDS = [
    "the",
    "a",
    "film",
    "was",
    "great",
    "awful",
    "plot",
    "acting",
    "boring",
    "loved",
    "hated",
    "really",
    "and",
    "it",
    "not",
    "with",
    "story",
    "best",
    "worst",
    "ever",
]


def reviews(count=32):
    random = np.random.RandomState(3)
    texts = []
    for _ in range(count):
        words = [_WORDS[index] for index in random.randint(0, len(_WORDS), random.randint(3, 12))]
        texts.append(" ".join(words).capitalize() + random.choice(["!", "...", "<br />Bye.", " "]))
    return np.array(texts), random.randint(0, 2, count)


@case
def basic_text_classification(tf):
    layers = tf.keras.layers
    texts, labels = reviews()
    raw = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(8)

    def standardize(text):
        lowered = tf.strings.regex_replace(tf.strings.lower(text), "<br />", " ")
        return tf.strings.regex_replace(lowered, "[!.]", "")

    vectorize = layers.TextVectorization(
        standardize=standardize, max_tokens=15, output_mode="int", output_sequence_length=10
    )
    vectorize.adapt(raw.map(lambda text, label: text))
    train = raw.map(lambda text, label: (vectorize(tf.expand_dims(text, -1)), label))
    model = tf.keras.Sequential(
        [tf.keras.Input((10,)), layers.Embedding(15, 4), layers.GlobalAveragePooling1D(), layers.Dense(1)]
    )
    compiled(tf, model, tf.keras.losses.BinaryCrossentropy(from_logits=True))
    losses = model.fit(train.cache().prefetch(2), epochs=3, verbose=0).history["loss"]
    export_model = tf.keras.Sequential([vectorize, model, layers.Activation("sigmoid")])
    export_model.compile(loss=tf.keras.losses.BinaryCrossentropy(), optimizer="sgd", metrics=["accuracy"])
    examples = tf.constant(["The film was great!", "The film was okay.", "The film was awful..."])
    return (
        losses,
        vectorize.get_vocabulary()[:8],
        export_model.evaluate(raw, verbose=0),
        export_model.predict(examples, verbose=0),
    )


@case
def text_classification_from_scratch(tf):
    layers = tf.keras.layers
    texts, labels = reviews(40)
    texts = tf.constant(texts)
    raw = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(10)
    vectorize = layers.TextVectorization(max_tokens=18, output_mode="int", output_sequence_length=12)
    vectorize.adapt(texts)
    text = tf.keras.Input(shape=(1,), dtype=tf.string, name="text")
    x = layers.Embedding(19, 6)(vectorize(text))
    x = layers.Conv1D(5, 3, padding="valid", activation="relu", strides=2)(x)
    x = layers.Dense(4, activation="relu")(layers.GlobalMaxPooling1D()(x))
    end_to_end = tf.keras.Model(text, layers.Dense(1, activation="sigmoid", name="predictions")(x))
    compiled(tf, end_to_end, "binary_crossentropy", ["accuracy"])
    history = end_to_end.fit(raw, epochs=3, verbose=0).history
    arrays = end_to_end.fit(texts, labels, batch_size=10, shuffle=False, validation_split=0.25, verbose=0)
    by_batch = end_to_end.train_on_batch(texts[:4], labels[:4])
    return (
        history["loss"],
        arrays.history["val_loss"],
        by_batch,
        np.asarray(end_to_end(texts[:3])),
        end_to_end.predict_on_batch(texts[:2]),
        weights_of(end_to_end),
    )


@case
def bags_of_words(tf):
    layers = tf.keras.layers
    texts, labels = reviews(24)
    texts = tf.constant(texts)
    found = []
    for mode in ("multi_hot", "count", "tf_idf"):
        vectorize = layers.TextVectorization(
            max_tokens=20, ngrams=2, output_mode=mode, pad_to_max_tokens=True
        )
        vectorize.adapt(texts)
        text = tf.keras.Input(shape=(1,), dtype="string")
        model = compiled(tf, tf.keras.Model(text, layers.Dense(1)(vectorize(text))), "mse")
        losses = model.fit(texts, labels, batch_size=8, shuffle=False, epochs=2, verbose=0).history["loss"]
        found.append((losses, weights_of(model)))
    return found


@case
def rows_as_long_as_the_longest_text(tf):
    layers = tf.keras.layers
    texts, labels = reviews(24)
    texts = tf.constant(texts)
    vectorize = layers.TextVectorization(split="character", standardize="lower")
    vectorize.adapt(texts)
    model = tf.keras.Sequential(
        [
            tf.keras.Input(shape=(1,), dtype="string"),
            vectorize,
            layers.Embedding(40, 3),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ]
    )
    compiled(tf, model, "mse")
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(6)
    return model.fit(dataset, epochs=2, verbose=0).history["loss"], model.predict(texts[:3], verbose=0)


@case
def a_model_of_ones_own(tf):
    texts, labels = reviews(24)

    class Reviews(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.vectorize = tf.keras.layers.TextVectorization(output_sequence_length=8)
            self.vectorize.adapt(texts)
            self.embed = tf.keras.layers.Embedding(30, 4, mask_zero=True)
            self.rnn = tf.keras.layers.LSTM(3)
            self.out = tf.keras.layers.Dense(1)

        def call(self, inputs, training=False):
            return self.out(self.rnn(self.embed(self.vectorize(inputs))))

    model = Reviews()
    model(tf.constant(texts[:2]))
    compiled(tf, model, "mse", ["mae"])
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(8)
    history = model.fit(dataset, epochs=2, verbose=0).history
    return history["loss"], history["mae"], model.evaluate(dataset, verbose=0), weights_of(model)


@case
def hashes_and_crosses(tf):
    layers = tf.keras.layers
    features, labels = patients()
    thal = tf.keras.Input(shape=(1,), dtype="string", name="thal")
    vessels = tf.keras.Input(shape=(1,), dtype="int64", name="vessels")
    parts = [
        layers.Hashing(7, output_mode="one_hot")(thal),
        layers.Hashing(7, salt=11, mask_value="normal", output_mode="one_hot")(thal),
        layers.Hashing(5, output_mode="one_hot")(vessels),
        layers.HashedCrossing(9, output_mode="one_hot")((thal, vessels)),
        layers.Flatten()(layers.Embedding(9, 2)(layers.HashedCrossing(9)((thal, vessels)))),
        layers.StringLookup(vocabulary=["fixed", "normal"], num_oov_indices=3, output_mode="one_hot")(thal),
        layers.IntegerLookup(vocabulary=[1, 2], num_oov_indices=2, output_mode="one_hot")(vessels),
        layers.IntegerLookup(vocabulary=[1, 2], mask_token=0, output_mode="count")(vessels),
    ]
    model = tf.keras.Model({"thal": thal, "vessels": vessels}, layers.Dense(1)(layers.Concatenate()(parts)))
    compiled(tf, model, "mse")
    x = {name: tf.constant(features[name][:, None]) for name in ("thal", "vessels")}
    losses = model.fit(x, labels, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, model.predict(x, verbose=0)[:6], weights_of(model)


@case
def functions_of_strings_in_a_layer(tf):
    layers = tf.keras.layers
    features, labels = patients()

    class Words(layers.Layer):
        def __init__(self):
            super().__init__()
            keys = tf.constant(["normal", "fixed"])
            self.table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2], tf.int64)), 0
            )

        def call(self, inputs):
            text = tf.strings.regex_replace(tf.strings.lower(inputs), "e", "")
            length = tf.strings.length(tf.strings.join([text, "x"]))
            hashed = tf.strings.to_hash_bucket_fast(tf.strings.upper(text), 3)
            found = self.table.lookup(inputs)
            starts = tf.strings.substr(text, 0, 1) == "n"
            return tf.concat([tf.cast(each, tf.float32) for each in (length, hashed, found, starts)], axis=-1)

        def compute_output_shape(self, input_shape):
            return (input_shape[0], 4)

    thal = tf.keras.Input(shape=(1,), dtype="string")
    model = tf.keras.Model(thal, layers.Dense(1)(Words()(thal)))
    compiled(tf, model, "mse")
    x = tf.constant(features["thal"][:, None])
    losses = model.fit(x, labels, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, model.predict(x, verbose=0)[:5]


@case
def words_of_classes(tf):
    layers = tf.keras.layers
    texts, labels = reviews(24)
    texts = tf.constant(texts)
    vectorize = layers.TextVectorization(output_sequence_length=6)
    vectorize.adapt(texts)
    text = tf.keras.Input(shape=(1,), dtype="string")
    logits = layers.Dense(3)(layers.Flatten()(layers.Embedding(30, 3)(vectorize(text))))
    model = compiled(
        tf, tf.keras.Model(text, logits), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    losses = model.fit(texts, labels, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    names = layers.StringLookup(vocabulary=["bad", "good", "odd"], num_oov_indices=0, invert=True)
    found = names(np.argmax(model.predict(texts[:6], verbose=0), -1))
    return losses, [each.decode() for each in np.asarray(found).tolist()]


def cases_here():
    only = os.environ.get("CASES", "")
    return {name: function for name, function in CASES.items() if not only or name in only.split(",")}
