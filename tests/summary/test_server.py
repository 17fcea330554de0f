"""A real TensorBoard shows what was written."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import stratax as sx
from stratax import summary
from stratax.tensorflow.v1 import summary as summary_v1

pytestmark = pytest.mark.processes
SECONDS = 90


class Server:
    """TensorBoard, as a process that answers on a port of its own choice."""

    def __init__(self, logdir):
        command = [
            sys.executable,
            "-m",
            "tensorboard.main",
            "--logdir",
            str(logdir),
            "--port",
            "0",
            "--host",
            "127.0.0.1",
        ]
        environment = dict(os.environ, JAX_PLATFORMS="cpu")
        # A group of its own, with the server of data that it starts.
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"at (http://\S+?)/? \(", line):
                self.address = found[1]
                return
        raise AssertionError("".join(lines))

    def get(self, path, **query):
        with urllib.request.urlopen(
            f"{self.address}/data/plugin/{path}?{urllib.parse.urlencode(query)}"
        ) as answer:
            return answer.read()

    def json(self, path, **query):
        return json.loads(self.get(path, **query))

    def wait_for(self, path, is_there, **query):
        """The answer, once it is one: the server reads the folder in the background."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                answer = self.json(path, **query)
                if is_there(answer):
                    return answer
            except urllib.error.HTTPError:
                answer = None
            assert time.monotonic() < deadline, answer
            time.sleep(0.3)

    def close(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            self.process.stderr.close()


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    """A folder with a run of a compiled loop, one of eager code, one of TensorFlow 1's form, and a profile."""
    folder = tmp_path_factory.mktemp("logs")
    step = sx.Variable(0, dtype="int32")

    @sx.function
    def train(count):
        for _ in sx.range(count):
            step.assign_add(1)
            summary.scalar("loss", 1.0 / step, step=step, description="*falls*")
            summary.histogram("weights", jnp.arange(10.0) * step, step=step, buckets=5)

    compiled, eager = (summary.create_file_writer(folder / name) for name in ("compiled", "eager"))
    with compiled.as_default():
        train(20)
    with eager.as_default(step=3):
        summary.image("picture", np.arange(12, dtype="uint8").reshape(1, 2, 2, 3) * 20)
        summary.text("words", "# title\n*hello*")
        summary.audio("tone", np.sin(np.arange(800.0) / 4).reshape(1, -1, 1), 8000)
    compiled.close()
    eager.close()
    with summary_v1.FileWriter(folder / "old") as writer:
        writer.add_summary(summary_v1.scalar("loss", 0.25), 7)
        writer.add_summary(summary_v1.histogram("weights", np.arange(10.0)), 7)
    return folder


@pytest.fixture(scope="module")
def server(logdir):
    server = Server(logdir)
    yield server
    server.close()


def test_numbers_of_every_step_are_shown(server):
    tags = server.wait_for("scalars/tags", lambda tags: {"compiled", "old"} <= set(tags))
    assert tags["compiled"] == {"loss": {"displayName": "", "description": "<p><em>falls</em></p>"}}
    points = server.wait_for("scalars/scalars", lambda found: len(found) == 20, run="compiled", tag="loss")
    assert [point[1] for point in points] == list(range(1, 21))
    np.testing.assert_allclose([point[2] for point in points], 1 / np.arange(1, 21), rtol=1e-6)
    assert [point[1:] for point in server.json("scalars/scalars", run="old", tag="loss")] == [[7, 0.25]]


def test_distributions_are_shown(server):
    found = server.wait_for(
        "histograms/histograms", lambda found: len(found) == 20, run="compiled", tag="weights"
    )
    _, step, buckets = found[-1]
    assert step == 20
    np.testing.assert_allclose(buckets, [[36.0 * i, 36.0 * (i + 1), 2] for i in range(5)])
    ((_, step, buckets),) = server.json("histograms/histograms", run="old", tag="weights")
    assert (step, sum(bucket[2] for bucket in buckets)) == (7, pytest.approx(10))


def test_images_are_shown(server):
    (found,) = server.wait_for("images/images", bool, run="eager", tag="picture", sample=0)
    assert found["step"] == 3
    query = dict(urllib.parse.parse_qsl(found["query"]))
    content = server.get("images/individualImage", **query)
    assert np.asarray(Image.open(io.BytesIO(content))).ravel().tolist() == [20 * i for i in range(12)]


def test_text_is_shown(server):
    (found,) = server.wait_for("text/text", bool, run="eager", tag="words")
    assert found["step"] == 3
    assert "<h1>title</h1>" in found["text"]
    assert "<em>hello</em>" in found["text"]


def test_sound_is_shown(server):
    (found,) = server.wait_for("audio/audio", bool, run="eager", tag="tone", sample=0)
    assert (found["step"], found["contentType"]) == (3, "audio/wav")
    content = server.get("audio/individualAudio", **dict(urllib.parse.parse_qsl(found["query"])))
    assert content[:4] == b"RIFF"


def test_what_is_written_later_comes_by_and_by(server, logdir):
    writer = summary.create_file_writer(logdir / "late")
    with writer.as_default():
        summary.scalar("late", 1.0, step=1)
    # Not closed: the file is still written to.
    writer.flush()
    found = server.wait_for("scalars/scalars", bool, run="late", tag="late")
    assert found[0][1:] == [1, 1.0]
    writer.close()
