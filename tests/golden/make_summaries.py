"""Writes `summaries.json`: the messages that TensorFlow makes of the calls in `tests/summary/golden_calls.py`.

Run it with TensorFlow 2.15 (`tensorflow-cpu==2.15.*`, `numpy<2`), from the checkout:
`python -m tests.golden.make_summaries`.
"""

import base64
import glob
import json
import pathlib
import tempfile

import tensorflow as tf

from tests.summary import golden_calls

TARGET = pathlib.Path(__file__).with_name("summaries.json")


def written(folder: str) -> list[tuple[int, str]]:
    """The steps and messages of a folder's summaries, as Base64."""
    (path,) = glob.glob(f"{folder}/*")
    events = tf.compat.v1.train.summary_iterator(path)
    return [
        (event.step, base64.b64encode(event.summary.SerializeToString()).decode())
        for event in events
        if event.HasField("summary")
    ]


def main() -> None:
    """Rewrites the file of summaries."""
    folder = tempfile.mkdtemp()
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        golden_calls.eager(tf.summary, tf.name_scope)
    writer.close()
    eager = written(folder)
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        golden_calls.graph(tf.compat.v1.summary, tf.compat.v1.name_scope, tf.constant)
        merged = tf.compat.v1.summary.merge_all()
        writer = tf.compat.v1.summary.FileWriter(folder)
        for step in range(2):
            writer.add_summary(session.run(merged), step)
        writer.close()
    TARGET.write_text(json.dumps({"eager": eager, "graph": written(folder)}, indent=0) + "\n")


if __name__ == "__main__":
    main()
