"""The ported programs, each run as a user runs it, in a small size. Every test starts processes of its own."""

import base64
import http.client
import io
import json
import os
import pathlib
import re
import zipfile

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf
from stratax.command.serving import ModelServer, ServingOptions
from tests import quick_xla
from tests.cluster import forks

CHECKOUT = pathlib.Path(__file__).parents[2]
MINIMUM = "0.0022596875205636024 @ [0.01152921 0.04611686]"
SMALL = ("--limit", "80", "--batch-size", "40", "--width", "2", "--epochs", "1")
EVERYWHERE = [("one", "cpu:1"), ("mirrored", "gpu:2"), ("central", "cpu:2"), ("tpu", "tpu:4")]

pytestmark = [pytest.mark.processes, pytest.mark.programs]


def run(program, *arguments, simulate="tpu:2", folder=None):
    """What a program prints. Keras' cache is an empty folder, so that nothing depends on what was downloaded."""
    return run_to_end(program, *arguments, simulate=simulate, folder=folder).stdout


def run_to_end(program, *arguments, simulate="tpu:2", folder=None):
    """How a program has ended: well."""
    environment = {**os.environ, "STRATAX_SIMULATE": simulate, "XLA_FLAGS": quick_xla.FLAGS}
    if folder is not None:
        environment["HOME"] = str(folder)
    done = forks.run([CHECKOUT / "examples" / program, *arguments], environment)
    assert done.returncode == 0, done.stderr
    return done


def everywhere(quick):
    """All strategies, of which those not in `quick` are for `make stress`."""
    return [
        pytest.param(*case, marks=[] if case[0] in quick else [pytest.mark.stress]) for case in EVERYWHERE
    ]


def test_a_tpu_that_is_not_attached_is_simulated():
    program = CHECKOUT / "examples" / "cloud_tpu_gradient_descent.py"
    done = forks.run([program], forks.environment_of_a_task())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("device_type='TPU'") == 8


def test_data_that_is_not_there_is_said_to_be_missing():
    done = forks.run([CHECKOUT / "examples" / "mnist_records.py", "--data", "nowhere.npz"], dict(os.environ))
    assert done.returncode == 2
    assert "argument --data: there is no 'nowhere.npz'" in done.stderr


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"tpu", "one"}))
def test_gradient_descent_ends_where_the_article_says(strategy, simulate):
    printed = run("cloud_tpu_gradient_descent.py", "--strategy", strategy, simulate=simulate)
    assert printed.splitlines()[-1] == MINIMUM
    kind, count = simulate.split(":")
    assert printed.count(f"device_type='{kind.upper()}'") == int(count)


@pytest.mark.parametrize(("strategy", "simulate"), everywhere(set()))
def test_a_saved_model_goes_on_under_another_strategy(strategy, simulate, tmp_path):
    printed = run("save_and_load.py", "--strategy", strategy, *SMALL, simulate=simulate, folder=tmp_path)
    for kept in ("without a strategy: 0.0", "on one device: 0.0", "loaded: (13, 10)", "as a layer: True"):
        assert f"{kept}\n" in printed
    assert float(re.findall(r"in replicas: (\S+)", printed)[0]) < 1e-6


DECODER = ("--layers", "2", "--width", "32", "--heads", "2", "--length", "16")


def test_a_decoder_learns_texts_of_ones_own(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "one.txt").write_text("The tide comes in, the tide goes out. " * 40)
    (texts / "other.bin").write_bytes(bytes(range(256)))
    small = (
        "--suffix",
        ".txt",
        "--batch-size",
        "8",
        "--epochs",
        "3",
        "--sample",
        "8",
        "--save",
        tmp_path / "saved",
    )
    printed = run("text_decoder.py", "--data", texts, *DECODER, *small, simulate="gpu:2")
    assert "block_0/up/kernel    32x128" in printed
    assert "94 texts of 16 bytes from 1 files" in printed
    losses = [float(loss) for loss in re.findall(r"- loss: ([0-9.]+)", printed)]
    assert losses[-1] < losses[0]
    assert float(re.findall(r"loaded on one device: (\S+)", printed)[0]) < 0.1
    assert printed.splitlines()[-1].startswith("sample: The ")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["decoder.keras", "export"]


def test_a_decoder_is_compiled_for_a_slice_without_values():
    pytest.importorskip("libtpu")
    printed = run("text_decoder.py", *DECODER, "--batch-size", "16", "--compile", "v5e:4x4", simulate="")
    assert "Functional on v5e:4x4 (16 devices): fits" in printed
    assert "all-gather" in printed


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"tpu"}))
def test_the_session_gives_every_replica_its_numbers(strategy, simulate):
    replicas = 1 if strategy == "one" else int(simulate.split(":")[1])
    printed = run("cloud_tpu_session.py", "--strategy", strategy, simulate=simulate)
    whole = [np.arange(start, start + replicas) for start in range(0, 16, replicas)]
    assert f"{whole}" in printed
    if replicas == 1:
        assert printed.splitlines()[-16:] == [f"[{2 * i}]" for i in range(16)]
        return
    assert f"  {replicas - 1}: tf.Tensor([{replicas - 1}], shape=(1,), dtype=int32)\n}}" in printed
    doubled = re.findall(r"(\d): tf\.Tensor\(\[(\d+)\], shape=\(1,\)", printed)[replicas:]
    assert doubled == [(str(i % replicas), str(2 * i)) for i in range(16)]


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"mirrored"}))
def test_the_guides_model_and_loop_train(strategy, simulate):
    replicas = 1 if strategy == "one" else int(simulate.split(":")[1])
    printed = run("distributed_training_guide.py", "--strategy", strategy, simulate=simulate)
    # A cross entropy over one class is 0; there is a line for every step.
    assert len(re.findall(r"^0\.0$", printed, re.MULTILINE)) == 1000 // (5 * replicas) + 10
    losses = [float(loss) for loss in re.findall(r"loss: ([0-9.e+-]+)", printed)]
    assert losses[-1] < losses[0]
    # The guide's notebook has these numbers: every example is the same one, so they don't depend on the devices.
    assert "'loss': np.float32(1.4210855e-14)" in printed.splitlines()[-1]
    assert "'prediction/mean': np.float32(0.99999994)" in printed.splitlines()[-1]


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"tpu"}))
def test_the_tpu_guide_runs_whole(strategy, simulate, tmp_path):
    printed = run("use_tpus.py", "--strategy", strategy, *SMALL, simulate=simulate, folder=tmp_path)
    replicas = 1 if strategy == "one" else int(simulate.split(":")[1])
    assert printed.count("[[22. 28.]\n [49. 64.]]") == 1 + replicas
    steps = re.findall(r"Current step: (\d+), training loss: ([0-9.]+), accuracy: ([0-9.]+)%", printed)
    assert [int(step) for step, _, _ in steps] == [2, 4]
    assert all(1.5 < float(loss) < 3.5 and float(accuracy) <= 100 for _, loss, accuracy in steps)
    assert printed.count("val_sparse_categorical_accuracy") == 2


@pytest.mark.parametrize("option", ["--use_tpu", pytest.param("--nouse_tpu", marks=pytest.mark.stress)])
def test_the_tpu_estimator_learns_digits(option, tmp_path):
    sizes = ("--limit=128", "--batch_size=32", "--iterations=8", "--train_steps=16", "--learning_rate=0.1")
    arguments = (*sizes, option, f"--model_dir={tmp_path / 'model'}")
    done = run_to_end("mnist_tpu_estimator.py", *arguments, folder=tmp_path)
    assert "INFO:stratax:Loss for final step: " in done.stderr
    ((loss, step),) = re.findall(
        r"^\{'loss': np.float32\((\S+)\), 'global_step': (\d+)\}$", done.stdout, re.MULTILINE
    )
    assert (int(step), float(loss) < 2.29) == (16, True)


def answers_to_a_photograph(base, records):
    record = next(tf.data.TFRecordDataset(str(next(records.glob("val*.tfrecord")))).as_numpy_iterator())
    with ModelServer(ServingOptions(models={"flowers": str(base)}, port=0)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        sent = {"instances": [{"image_bytes": {"b64": base64.b64encode(record).decode()}}]}
        connection.request(
            "POST", "/v1/models/flowers:predict", json.dumps({"signature_name": "classes", **sent})
        )
        answer = json.loads(connection.getresponse().read())
    (predicted,) = answer["predictions"]
    assert predicted["class"] == ["dark", "light"][predicted["classid"]]
    assert len(predicted["probabilities"]) == 2


@pytest.mark.parametrize("option", ["--use_tpu", pytest.param("--nouse_tpu", marks=pytest.mark.stress)])
def test_the_articles_loop_trains_evaluates_and_goes_on(option, tmp_path):
    photographs(tmp_path)
    folders = (
        f"--data={tmp_path}",
        f"--records={tmp_path / 'records'}",
        f"--output_dir={tmp_path / 'model'}",
    )

    def train(steps):
        sizes = ("--train_batch_size=8", "--steps_per_eval=2", f"--train_steps={steps}", option)
        messages = run_to_end("flowers_tpu_estimator.py", *folders, *sizes).stderr
        current = re.findall(r"Training for \d+ steps .* Current step (\d+)\.", messages)
        evaluated = re.findall(r"Eval results at step (\d+): .*'accuracy': np.float32\((\S+)\)", messages)
        assert all(0 <= float(accuracy) <= 1 for _, accuracy in evaluated)
        return [int(step) for step in current], [int(step) for step, _ in evaluated]

    assert train(4) == ([0], [2, 4])
    answers_to_a_photograph(tmp_path / "model/export/exporter", tmp_path / "records")
    # Whoever starts it again finds what it has learned: nothing is left to do.
    assert train(4) == ([4], [])
    assert (tmp_path / "records/labels.txt").read_text() == "dark\nlight\n"


def test_beam_converts_the_articles_photographs(tmp_path):
    photographs(tmp_path)
    folders = (
        f"--data={tmp_path}",
        f"--records={tmp_path / 'records'}",
        f"--output_dir={tmp_path / 'model'}",
    )
    messages = run_to_end("flowers_tpu_estimator.py", "--beam", *folders, "--train_steps=1").stderr
    # 31 of 32 photographs to learn from, in steps of 40; 8 to be tested with.
    assert "train_batch_size=31  eval_batch_size=8  max_steps=1" in messages
    assert len(list((tmp_path / "records").glob("*-of-00004.tfrecord"))) == 8


@pytest.mark.parametrize("program", ["mnist_tpu_estimator.py", "flowers_tpu_estimator.py"])
def test_programs_with_flags_explain_them(program):
    done = forks.run([CHECKOUT / "examples" / program, "--help"], dict(os.environ))
    assert "--simulate: present the CPU as several devices" in done.stdout
    assert f"Run it with: python examples/{program}" in done.stdout


def photographs(folder):
    """Photographs of two classes for learning and testing, one of them broken."""
    write_photographs(folder / "images.zip")
    with zipfile.ZipFile(folder / "images.zip") as archive:
        archive.extractall(folder)
    (folder / "test").rename(folder / "val")
    (folder / "train/dark/0003.jpg").write_bytes(b"broken")


def write_photographs(path):
    """A zip file with a few JPEG files of two classes that differ in brightness."""
    generator = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as archive:
        for split, count in (("train", 16), ("test", 4)):
            for kind, brightness in (("dark", 60), ("light", 190)):
                for number in range(count):
                    pixels = generator.integers(brightness - 40, brightness + 40, (32, 32, 3), np.uint8)
                    file = io.BytesIO()
                    Image.fromarray(pixels).save(file, "JPEG")
                    archive.writestr(f"{split}/{kind}/{number:04}.jpg", file.getvalue())


def test_the_cifar_program_gives_the_same_on_one_device_and_on_two(tmp_path):
    write_photographs(tmp_path / "images.zip")

    def train(batch_size, *strategy, simulate):
        arguments = (
            "--data",
            tmp_path / "images.zip",
            "--batch-size",
            batch_size,
            "--epochs",
            "2",
            *strategy,
        )
        printed = run("cloud_tpu_cifar10.py", *arguments, simulate=simulate)
        assert "Total params: 225,034" in printed
        return [float(number) for number in re.findall(r"Loss: (\S+), Accuracy: (\S+)", printed)[0]]

    alone = train("16", "--strategy", "one", simulate="cpu:1")
    detected = train("8", simulate="tpu:2")
    np.testing.assert_allclose(alone, detected, rtol=1e-4)


@pytest.mark.stress
@pytest.mark.parametrize(
    ("strategy", "simulate"), [("mirrored", "gpu:2"), ("central", "gpu:2"), ("tpu", "tpu:2")]
)
def test_the_cifar_program_runs_with_every_strategy(strategy, simulate, tmp_path):
    write_photographs(tmp_path / "images.zip")
    arguments = (
        "--data",
        tmp_path / "images.zip",
        "--batch-size",
        "8",
        "--epochs",
        "1",
        "--strategy",
        strategy,
    )
    assert "Loss: " in run("cloud_tpu_cifar10.py", *arguments, simulate=simulate)


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"tpu"}))
def test_digits_are_learned_from_record_files_which_a_second_run_finds(strategy, simulate, tmp_path):
    sizes = ("--limit", "400", "--batch-size", "40", "--width", "8", "--epochs", "6")
    arguments = ("--strategy", strategy, *sizes)
    call = ("mnist_records.py", *arguments, "--records", tmp_path / "records")
    printed = run(*call, simulate=simulate, folder=tmp_path)
    assert "400 records in train-400.tfrecord, 66 in test-66.tfrecord" in printed
    loss, accuracy = (float(number) for number in re.findall(r"Loss: (\S+), Accuracy: (\S+)", printed)[0])
    assert accuracy > 0.6
    if strategy == "tpu":
        written = (tmp_path / "records/train-400.tfrecord").stat().st_mtime_ns
        again = run(*call, simulate=simulate, folder=tmp_path)
        assert (tmp_path / "records/train-400.tfrecord").stat().st_mtime_ns == written
        assert float(re.findall(r"Loss: (\S+),", again)[0]) == pytest.approx(loss, rel=1e-4)


@pytest.mark.parametrize(("strategy", "simulate"), everywhere({"mirrored"}))
def test_photographs_are_converted_augmented_and_learned(strategy, simulate, tmp_path):
    photographs(tmp_path)
    options = ("--strategy", strategy, "--data", tmp_path, "--records", tmp_path / "records")
    printed = run("flowers.py", *options, "--batch-size", "8", "--width", "4", simulate=simulate)
    assert "31 photographs of dark, light" in printed
    assert "broken" not in printed
    # 31 photographs: three steps of whole batches.
    assert len(re.findall(r"^3/3 ", printed, re.MULTILINE)) == 2
    assert re.search(r"Loss: \d\.\d+, Accuracy: [01]\.\d+", printed)


def test_the_program_on_photographs_asks_for_them():
    done = forks.run([CHECKOUT / "examples" / "flowers.py"], dict(os.environ))
    assert done.returncode == 1
    assert "--data flowers" in done.stderr


def test_a_wrong_option_is_refused_before_anything_starts():
    done = forks.run([CHECKOUT / "examples" / "use_tpus.py", "--epochs", "0"], dict(os.environ))
    assert done.returncode == 2
    assert "expected a number of at least 1" in done.stderr
