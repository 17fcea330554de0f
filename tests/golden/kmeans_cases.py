"""Points and how they are clustered, for TensorFlow's k-means and Stratax': the same lines."""

import numpy as np

STEPS = 7
POINTS = np.random.RandomState(0).randn(32, 3).astype(np.float32) + 1
POINTS[:12] += 4
FIRST = POINTS[[0, 1, 20, 21]].copy()
CASES = {
    "full": {"use_mini_batch": False},
    "full cosine": {"use_mini_batch": False, "distance_metric": "cosine"},
    "mini": {},
    # Few steps: runs of TensorFlow differ after more.
    "mini cosine": {"distance_metric": "cosine", "steps": 2},
    "mini several": {"mini_batch_steps_per_iteration": 3},
    "tolerance": {"use_mini_batch": False, "relative_tolerance": 0.05},
}


def answers(tf, kmeans, arguments, folder):
    """Return centers, counts, the score and what is predicted of the points after a short training."""
    options = dict(arguments)
    steps = options.pop("steps", STEPS)
    size = 8 if arguments.get("use_mini_batch", True) else len(POINTS)

    def data():
        return tf.data.Dataset.from_tensor_slices(POINTS).batch(size)

    made = kmeans(4, model_dir=folder, initial_clusters=FIRST, **options)
    made.train(lambda: data().repeat(), steps=steps)
    found = {name: made.get_variable_value(name) for name in made.get_variable_names()}
    found["score"] = np.float64(made.score(data))
    found["index"] = np.array(list(made.predict_cluster_index(data)))
    return found | {"distances": np.stack(list(made.transform(data)))}
