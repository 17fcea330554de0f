"""The five reference documents: each line of code that they show is run as it is printed.

They lie in the folder of shared data. Where a document's program needs a TPU it runs on a simulated one; what works on
any device runs on simulated TPUs, on simulated GPUs, and on neither. Numbers that say how much is computed are made
small, and data that a document downloads is made here.
"""

import ast
import io
import pathlib
import re

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf
from tests.cluster import forks

ORIGINALS = pathlib.Path(__file__).parents[2] / "docs" / "programs" / "originals"
TPU, GPU, NEITHER = "tpu:2", "gpu:2", ""

# Which lines of a document are code, by the first part of its file's name.
CODE = {
    "000": [(34, 119), (148, 149)],
    "001": [
        *[
            (24, 24),
            (26, 26),
            (50, 50),
            (56, 56),
            (61, 62),
            (70, 70),
            (85, 85),
            (91, 92),
            (106, 110),
            (120, 120),
        ],
        *[(132, 135), (139, 141), (152, 154), (165, 173), (205, 207), (211, 214), (218, 237), (247, 249)],
        *[(455, 458), (497, 503), (519, 523), (590, 591), (621, 627)],
    ],
    "002": [(36, 56), (75, 88), (108, 134), (141, 150), (157, 201), (220, 254), (262, 294), (303, 307)],
    "003": [
        *[(13, 16), (24, 28), (41, 48), (60, 60), (96, 102), (138, 145), (161, 184), (190, 207), (222, 234)],
        *[(253, 286), (296, 309), (327, 354)],
    ],
    "004": [(22, 22), (30, 185), (215, 271), (298, 409)],
}
# What begins like code and is none: a shell's command, and what programs print.
NO_CODE = re.compile(r"!pip|# pip|WARNING|INFO|PerReplica|tf\.Tensor|\[LogicalDevice|Epoch|Train on")
CODE_BEGINS = re.compile(
    r"\s*(import|from|def|return|with|for|if|print)\b.*[:)\]\w]$|\s*@tf|.*tf\.\w+[.\w]*\(|>>> "
)

DIGITS = """
import numpy as np
import stratax.tf as tf

def load(name, split, with_info, as_supervised, try_gcs):
    assert (name, with_info, as_supervised, try_gcs) == ("mnist", True, True, True)
    count = {"train": 400, "test": 200}[split]
    images = np.random.default_rng(0).integers(0, 255, (count, 28, 28, 1)).astype("uint8")
    return tf.data.Dataset.from_tensor_slices((images, np.arange(count) % 10)), None
"""


@pytest.fixture(scope="module")
def documents(shared):
    """The lines of each document; the first is number 1."""
    folder = shared / "seeds"
    return {
        path.name[:3]: ["", *path.read_text("utf-8").split("\n")] for path in sorted(folder.glob("00*.txt"))
    }


@pytest.fixture
def run(tmp_path):
    """Runs a program by `stratax run` on simulated devices, and returns what it prints and reports."""

    def run(text, simulate, *options):
        program = tmp_path / "program.py"
        program.write_text(text, "utf-8")
        environment = forks.environment_of_a_task() | {"STRATAX_SIMULATE": simulate}
        done = forks.run(["-m", "stratax", "run", program, *options], environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return run


def everywhere(quick):
    """TPUs, GPUs and neither, of which one is tried in each run of the tests."""
    return pytest.mark.parametrize(
        "simulate",
        [
            pytest.param(each, id=each or "neither", marks=[] if each == quick else pytest.mark.stress)
            for each in (TPU, GPU, NEITHER)
        ],
    )


def shown(lines, *ranges):
    """The lines of a document from one number to another."""
    return "\n".join("\n".join(lines[first : last + 1]) for first, last in ranges)


def typed(lines, first, last):
    """A program that does what a prompt would with lines that begin with `>>>`, and prints what it would."""
    statements = []
    for line in lines[first : last + 1]:
        if line.startswith(">>> "):
            statements.append(line[4:])
        elif line.startswith("..."):
            statements[-1] += "\n" + line[4:]
    calls = [f"exec(compile({statement + chr(10)!r}, '<prompt>', 'single'))" for statement in statements]
    return "\n".join(calls)


def test_no_line_of_code_is_left_out(documents):
    assert documents.keys() == CODE.keys()
    for name, lines in documents.items():
        code = {number for first, last in CODE[name] for number in range(first, last + 1)}
        found = {number for number, line in enumerate(lines) if CODE_BEGINS.match(line) and line.isascii()}
        missed = [lines[number] for number in sorted(found - code) if not NO_CODE.search(lines[number])]
        assert [line for line in missed if is_code(line)] == []


def is_code(line):
    try:
        ast.parse(line.strip().removeprefix(">>> "))
    except SyntaxError:
        return line.rstrip().endswith((":", "(", ","))
    return True


# The guide on distributed training.


@pytest.mark.programs
@everywhere(NEITHER)
@pytest.mark.processes
def test_the_guide_on_distributed_training_runs_as_printed(documents, run, simulate):
    code = [(first, last) for first, last in CODE["001"] if simulate == TPU or first not in (106, 590)]
    text = shown(documents["001"], *code)
    begin, rest = text.split("import tensorflow as tf\n")
    end = """
print("read", tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict())
print("regressor", {name: round(float(value), 3) for name, value in regressor.evaluate(input_fn, steps=1).items()})
"""
    printed, reported = run(
        f"{begin}import json\nimport os\nimport tensorflow as tf\ntpu_address = ''\n{rest}{end}", simulate
    )
    replicas = int(simulate[-1:] or 1)
    # What the guide shows: as many losses of 0.0, and an Estimator that has learned.
    steps = -(-1000 // (5 * replicas)) + 10
    assert len(re.findall(r"^0\.0$", printed, re.M)) == steps
    assert "'prediction/mean': 1.0, 'label/mean': 1.0, 'global_step': 10.0" in printed
    tasks = {"worker": ["host1:port", "host2:port", "host3:port"], "ps": ["host4:port", "host5:port"]}
    assert f"read {tasks}" in printed
    warned = "Some requested devices are not visible: /gpu:0, /gpu:1." in reported
    assert warned == (simulate != GPU)


# The guide on TPUs. Its program begins with the TPU; with another strategy, the rest runs on any device, it says.


@pytest.mark.programs
@everywhere(TPU)
@pytest.mark.processes
def test_the_guide_on_tpus_runs_as_printed(documents, run, tmp_path, simulate):
    (tmp_path / "tensorflow_datasets.py").write_text(DIGITS)
    lines = documents["003"]
    code = [each for each in CODE["003"] if simulate == TPU or each[0] not in (24, 60)]
    begin, rest = code[:1], code[1:]
    other = "" if simulate == TPU else "strategy = tf.distribute.MirroredStrategy()\n"
    text = f"{shown(lines, *begin)}\n{other}{shown(lines, *rest)}"
    # Filters, and how many steps are an epoch: 2 of 200 images.
    for number, small in (("Conv2D(256", "Conv2D(4"), ("60000 //", "400 //"), ("10000 //", "200 //")):
        assert number in text
        text = text.replace(number, small)
    printed, _ = run(text, simulate)
    assert printed.count("[[22. 28.]\n [49. 64.]]") == 1 + int(simulate[-1:] or 1)
    found = re.findall(r"^Current step: (\d+), training loss: \d+\.\d+, accuracy: \d+\.\d+%$", printed, re.M)
    assert found == ["2", "4", "6", "8", "10", "12"]
    assert len(re.findall(r"^Epoch [1-5]/5$", printed, re.M)) == 10
    assert ("device_type='TPU')]" in printed) == (simulate == TPU)


# The article with programs at a prompt, for a gradient descent, and for a classifier.


@pytest.mark.stress
@pytest.mark.processes
def test_the_articles_session_does_what_is_typed(documents, run):
    printed, _ = run("\n".join(typed(documents["004"], *each) for each in CODE["004"][:2]), TPU)
    assert "device_type='TPU')" in printed
    (numbers,) = re.findall(r"^\[np.int64\(0\), .*\]$", printed, re.M)
    assert re.findall(r"\((\d+)\)", numbers) == [str(number) for number in range(16)]
    doubled = re.findall(r"(\d): tf\.Tensor\(\[(\d+)\], shape=\(1,\)", printed)
    assert doubled == [(str(i % 2), str(2 * i)) for i in range(16)]


@pytest.mark.stress
@pytest.mark.processes
def test_the_articles_gradient_descent_ends_where_it_does(documents, run):
    printed, _ = run(shown(documents["004"], CODE["004"][2]), "tpu:8")
    assert printed.splitlines()[-1] in documents["004"]


@pytest.mark.programs
@everywhere(NEITHER)
@pytest.mark.processes
def test_the_articles_classifier_runs_as_printed(documents, run, simulate):
    text = shown(documents["004"], CODE["004"][3])
    images = """
import numpy as np
images = np.random.default_rng(0).integers(0, 255, (48, 32, 32, 3)).astype("uint8")
labels = np.arange(48)[:, None] % 10
tf.keras.datasets.cifar10.load_data = lambda: ((images[:32], labels[:32]), (images[32:], labels[32:]))
"""
    begin, rest = text.split("import tensorflow as tf\n")
    # Less than a hundred passes: nothing is learned of noise, so it stops early.
    printed, _ = run(f"{begin}import tensorflow as tf\n{images}{rest}", simulate)
    assert re.search(r"^ Total params: 225,034 ", printed, re.M)
    passes = re.findall(r"^Epoch (\d+)/100$", printed, re.M)
    assert 6 <= len(passes) < 100
    assert re.fullmatch(r"Loss: \d+\.\d+, Accuracy: \d\.\d+", printed.splitlines()[-1])


# The guide on TPUEstimator. It leaves out its imports, flags, and how it begins.


@pytest.mark.programs
@everywhere(GPU)
@pytest.mark.processes
def test_the_guide_on_tpuestimator_trains_as_printed(documents, run, tmp_path, simulate):
    lines = documents["000"]
    whole = (ORIGINALS / "mnist_tpu_estimator.py").read_text("utf-8")
    begin = whole[: whole.index("def model_fn")]
    optimizer = "\n".join(line.strip() for line in lines[148:150])
    write = """
def write(path):
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(8):
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([number]) * 784]))
            label = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            features = tf.train.Features(feature={"image_raw": image, "label": label})
            writer.write(tf.train.Example(features=features).SerializeToString())

def start(arguments):
    write(FLAGS.train_file)
    main(arguments)
"""
    end = f"learning_rate = 0.1\n{optimizer}\nassert optimizer is not None\ntf.app.run(start)\n"
    options = [f"--train_file={tmp_path / 'digits'}", f"--model_dir={tmp_path / 'model'}", "--batch_size=8"]
    options += ["--iterations=2", "--train_steps=4", f"--use_tpu={simulate == TPU}"]
    _, reported = run(f"{begin}\n{shown(lines, CODE['000'][0])}\n{write}\n{end}", simulate, *options)
    assert "Loss for final step" in reported
    assert list((tmp_path / "model").glob("*ckpt-4*"))


# The article on a TPUEstimator of one's own. As it was printed, its indentation is lost; in the program whose parts it
# shows, lines have theirs.

ESTIMATOR = """
import numpy as np
import tensorflow as tf

def model_fn(features, labels, mode):
  # write the model to compute predictions, loss, etc. from the model
  logits = tf.layers.dense(features, 2)
  probabilities = tf.nn.softmax(logits)
  class_int = tf.argmax(probabilities, 1)
  class_str = tf.gather(["dark", "bright"], class_int)
  loss = train_op = evalmetrics = None
  if mode != tf.estimator.ModeKeys.PREDICT:
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
    evalmetrics = {"accuracy": tf.metrics.accuracy(labels, class_int)}
  return tf.estimator.EstimatorSpec(
      mode=mode,
      predictions={"probabilities": probabilities,
                   "classid": class_int, "class": class_str},
      loss=loss,
      train_op=train_op,
      eval_metric_ops=evalmetrics,
      export_outputs={'classes': tf.estimator.export.PredictOutput(
          {"probabilities": probabilities, "classid": class_int,
           "class": class_str})}
  )

def input_fn():
  x = np.linspace(-1, 1, 16, dtype=np.float32)[:, None]
  return tf.data.Dataset.from_tensor_slices((x, (x[:, 0] > 0).astype(np.int32))).repeat(20).batch(16)

def train_and_evaluate(output_dir, nsteps):
  estimator = tf.estimator.Estimator(
      model_fn = model_fn,
      model_dir = output_dir)
  estimator.train(input_fn, steps=nsteps)
  print(estimator.evaluate(input_fn, steps=1)["accuracy"])
  print({prediction["class"] for prediction in estimator.predict(input_fn)})

train_and_evaluate("model", 20)
"""


def numbered(lines, *ranges):
    """The lines of code of the article, without their numbers and as little space as there can be."""
    matches = [re.match(r"\s*\d+\. *(.*)", line) for line in shown(lines, *ranges).split("\n")]
    return [" ".join(match[1].split()) for match in matches if match]


def without_space(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_programs_on_photographs_have_every_line_of_the_article(documents):
    program = (ORIGINALS / "flowers_tpu_estimator.py").read_text("utf-8")
    lines = iter(without_space(program))
    assert [line for line in numbered(documents["002"], *CODE["002"][1:]) if line not in lines] == []
    parts = CODE["002"][0]
    assert set(numbered(documents["002"], parts)) <= set(without_space(ESTIMATOR))


@pytest.mark.programs
@pytest.mark.processes
def test_the_articles_estimator_trains(run):
    printed, _ = run(ESTIMATOR, NEITHER)
    assert printed.splitlines() == ["1.0", "{b'dark', b'bright'}"] or printed.splitlines() == [
        "1.0",
        "{b'bright', b'dark'}",
    ]


def write_photographs(path):
    """Eight photographs of noise, as records with the article's names and labels from 1."""
    generator = np.random.default_rng(0)
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(8):
            file = io.BytesIO()
            Image.fromarray(generator.integers(0, 255, (32, 32, 3), np.uint8)).save(file, "JPEG")
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[file.getvalue()]))
            label = tf.train.Feature(int64_list=tf.train.Int64List(value=[1 + number % 5]))
            feature = {"image/encoded": image, "image/class/label": label}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


@pytest.mark.programs
@everywhere(TPU)
@pytest.mark.processes
def test_the_articles_program_on_photographs_trains_evaluates_and_exports(run, tmp_path, simulate):
    records = str(tmp_path / "photographs.tfrecord")
    write_photographs(records)
    program = (ORIGINALS / "flowers_tpu_estimator.py").read_text("utf-8")
    options = [
        f"--train_data_path={records}",
        f"--eval_data_path={records}",
        f"--output_dir={tmp_path / 'out'}",
    ]
    options += ["--train_batch_size=8", "--train_steps=2", "--num_train_images=8", "--num_eval_images=8"]
    options += [f"--use_tpu={simulate == TPU}"]
    _, reported = run(program, simulate, *options)
    assert "Eval results at step 2: {" in reported
    assert list((tmp_path / "out" / "export" / "exporter").iterdir())
