"""Small data for `tools.programs`, with seeds, in the formats of what public programs read.

A maker fills a folder of its own below {data}; those of Keras' datasets fill ~/.keras of the run's home.
"""

import csv
import gzip
import io
import itertools
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from stratax.data import BytesList, Example, Feature, Features, FloatList, Int64List
from stratax.tf.io import TFRecordWriter

MAKERS: dict[str, Callable[[Path, Path], None]] = {}
# Keras compares what it finds in ~/.keras with the whole data's checksums; nothing else is changed for a program.
_SITE = '''\
"""Let Keras take the small data that is in ~/.keras, whatever its checksum."""

import importlib.abc
import importlib.util
import sys

# Of Keras 3, of Keras 2, and of TensorFlow 1.
_FILES = (
    "keras.src.utils.file_utils",
    "keras.src.utils.data_utils",
    "tensorflow_core.python.keras.utils.data_utils",
)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname not in _FILES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def execute_and_trust(module):
            execute(module)
            module.validate_file = lambda *args, **kwargs: True

        spec.loader.exec_module = execute_and_trust
        return spec


sys.meta_path.insert(0, _Finder())
'''
_SEED = 20
_TEXT = (
    "the of and to in a is that for it was as with be by on not he his but at are this have from or had an they "
    "which one you were all her she there would their we him been has when who will no more if out so up said what "
    "its about than into them can only other time new some could these two may first then do any like my now over "
    "such our man me even most made after also did many off before must well back through years much where your way "
    "down should because long each just state those people too mr how little good world make very year still see "
    "work life being day between however paris london john mary city river movie great bad film story actor"
)
_WORDS = _TEXT.split()


class Data:
    """The data of one run: each kind is made when a program first wants it.

    Args:
        folder: What makers fill.
        home: The home of programs.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.site = folder / "site"
        self._made: set[str] = set()
        home.mkdir(parents=True, exist_ok=True)
        self.site.mkdir(parents=True, exist_ok=True)
        (self.site / "sitecustomize.py").write_text(_SITE, "utf-8")

    def make(self, name: str) -> None:
        """Make a kind of data, once."""
        if name not in self._made:
            folder = self.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            MAKERS[name](folder, self.home)
            self._made.add(name)


def maker(make: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    """Add a maker, by its name without `make_`; it takes its folder and the run's home."""
    MAKERS[make.__name__.removeprefix("make_")] = make
    return make


def _random() -> np.random.Generator:
    return np.random.default_rng(_SEED)


def _images(count: int, *shape: int, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return images of uint8 that are brighter the larger their label, and the labels."""
    random = _random()
    labels = np.arange(count) % classes
    noise = random.integers(0, 128, (count, *shape))
    bright = (labels * (127 // max(classes - 1, 1))).reshape(-1, *[1] * len(shape))
    images = (noise + bright).astype(np.uint8)
    # As real ones, which programs check.
    images.flat[:2] = 0, 255
    return images, labels.astype(np.int64)


def example(**features: Any) -> bytes:
    """Return a serialized tf.train.Example of bytes, text, whole numbers and fractions, one or several each."""
    return example_of(features)


def example_of(features: Mapping[str, Any]) -> bytes:
    """Return a serialized tf.train.Example of features by name."""
    return Example(
        features=Features(feature={name: _feature(value) for name, value in features.items()})
    ).SerializeToString()


def _feature(value: Any) -> Feature:
    values = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
    if all(isinstance(each, (bytes, str)) for each in values):
        return Feature(bytes_list=BytesList(value=[e.encode() if isinstance(e, str) else e for e in values]))
    if any(isinstance(each, (float, np.floating)) for each in values):
        return Feature(float_list=FloatList(value=[float(each) for each in values]))
    return Feature(int64_list=Int64List(value=[int(each) for each in values]))


def write_records(file: Path, records: Iterable[bytes]) -> None:
    """Write a TFRecord file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with TFRecordWriter(str(file)) as writer:
        for record in records:
            writer.write(record)


def write_rows(file: Path, rows: Iterable[Sequence[Any]], delimiter: str = ",") -> None:
    """Write rows as a csv file, whose folder is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines as a text file, whose folder is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def jpeg(pixels: np.ndarray) -> bytes:
    """Return an image as JPEG."""
    return _encoded(pixels, "JPEG")


def _encoded(pixels: np.ndarray, form: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form)
    return stream.getvalue()


def sentences(count: int, length: int = 12, seed: int = _SEED) -> Iterator[str]:
    """Return sentences of words that `make_bert` has in its vocabulary."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield " ".join(random.choice(_WORDS, random.integers(length // 2, length + 1)))


# Keras' own.


@maker
def make_keras(folder: Path, home: Path) -> None:
    """Make the datasets of `tf.keras.datasets`, with a few hundred examples each."""
    datasets = home / ".keras" / "datasets"
    datasets.mkdir(parents=True, exist_ok=True)
    (x, y), (x_test, y_test) = _images(600, 28, 28), _images(200, 28, 28)
    np.savez(datasets / "mnist.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    _write_idx(home / ".keras" / "datasets" / "fashion-mnist", packed=True)
    _write_sequences(datasets, "imdb", 2)
    _write_sequences(datasets, "reuters", 46)
    random = _random()
    np.savez(datasets / "boston_housing.npz", x=random.normal(size=(506, 13)), y=random.normal(20, 5, 506))
    _write_downloads(datasets)


@maker
def make_keras_cifar(folder: Path, home: Path) -> None:
    """Make CIFAR-10 and CIFAR-100 of `tf.keras.datasets`; the first has as many images as the real one."""
    datasets = home / ".keras" / "datasets"
    datasets.mkdir(parents=True, exist_ok=True)
    for name, kinds, files in (
        ("cifar-10-batches-py", {b"labels": 10}, ["data_batch_1", "test_batch"]),
        ("cifar-100-python", {b"fine_labels": 100, b"coarse_labels": 20}, ["train", "test"]),
    ):
        with tarfile.open(datasets / f"{name}-target_archive", "w:gz", compresslevel=1) as tar:
            batches = [f"data_batch_{n}" for n in range(1, 6)] if "10-" in name else []
            for file in [*files, *batches[1:]]:
                # Keras reads 10,000 images of each of five batches into a place of that size.
                count = 10000 if file.startswith("data_batch") else 200
                few, few_labels = _images(100, 3072)
                images, labels = np.tile(few, (count // 100, 1)), np.tile(few_labels, count // 100)
                content = pickle.dumps(
                    {b"data": images, **{kind: (labels % most).tolist() for kind, most in kinds.items()}},
                    protocol=4,
                )
                about = tarfile.TarInfo(f"{name}/{file}")
                about.size = len(content)
                tar.addfile(about, io.BytesIO(content))


def _write_sequences(datasets: Path, name: str, classes: int) -> None:
    random = _random()
    texts = np.empty(512, object)
    labels = np.arange(len(texts)) % classes
    for place, label in enumerate(labels):
        # Half of the words are those of the label.
        words = np.concatenate([random.integers(4, 200, 40), 200 + 20 * label + random.integers(0, 20, 40)])
        texts[place] = random.permutation(words)[: random.integers(30, 80)].tolist()
    if name == "imdb":
        np.savez(datasets / "imdb.npz", x_train=texts, y_train=labels, x_test=texts[:64], y_test=labels[:64])
    else:
        np.savez(datasets / f"{name}.npz", x=texts, y=labels)
    index = {word: place for place, word in enumerate(_WORDS, start=1)}
    (datasets / f"{name}_word_index.json").write_text(json.dumps(index), "utf-8")


def _write_downloads(datasets: Path) -> None:
    """Write what programs download by `tf.keras.utils.get_file`, under the names that it gives."""
    text = "\n".join(sentences(400))
    for name in ("shakespeare.txt", "nietzsche.txt", "nietzcshe.txt"):
        (datasets / name).write_text(text, "utf-8")
    random = _random()
    for name, count in (("iris_training.csv", 120), ("iris_test.csv", 30)):
        rows = [[*random.uniform(0.1, 7, 4).round(1), place % 3] for place in range(count)]
        write_rows(datasets / name, [[count, 4, "setosa", "versicolor", "virginica"], *rows])


@maker
def make_mnist(folder: Path, home: Path) -> None:
    """Make MNIST's four files, packed and unpacked, and as TFRecord files of two kinds."""
    _write_idx(folder, packed=True)
    _write_idx(folder / "unpacked", packed=False)
    for name, count in (("train", 512), ("validation", 128), ("test", 128)):
        images, labels = _images(count, 28, 28)
        write_records(
            folder / f"{name}.tfrecords",
            (
                example(
                    image_raw=image.tobytes(),
                    label=label,
                    height=28,
                    width=28,
                    depth=1,
                )
                for image, label in zip(images, labels, strict=True)
            ),
        )


def _write_idx(folder: Path, *, packed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # TensorFlow 1's reader keeps 5,000 for validation.
    for name, count in (("train", 5600), ("t10k", 200)):
        images, labels = _images(count, 28, 28)
        for kind, header, values in (
            ("images-idx3", np.array([2051, count, 28, 28], ">i4"), images),
            ("labels-idx1", np.array([2049, count], ">i4"), labels.astype(np.uint8)),
        ):
            content = header.tobytes() + values.tobytes()
            if packed:
                (folder / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(content, mtime=0))
            else:
                (folder / f"{name}-{kind}-ubyte").write_bytes(content)


@maker
def make_cifar(folder: Path, home: Path) -> None:
    """Make CIFAR-10's binary files, and TFRecord files of them."""
    batches = folder / "cifar-10-batches-bin"
    batches.mkdir(exist_ok=True)
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        images, labels = _images(64, 3072)
        rows = np.concatenate([labels[:, None].astype(np.uint8), images], axis=1)
        (batches / f"{name}.bin").write_bytes(rows.tobytes())
    for name in ("train", "validation", "eval", "test"):
        images, labels = _images(64, 3072)
        rows = (
            example(image=image.tobytes(), label=label) for image, label in zip(images, labels, strict=True)
        )
        write_records(folder / f"{name}.tfrecords", rows)


@maker
def make_imagenet(folder: Path, home: Path) -> None:
    """Make TFRecord files as ImageNet's, of small JPEGs."""
    images, labels = _images(64, 72, 64, 3, classes=8)
    for name in ("train", "validation"):
        for part in range(2):
            rows = [_photo(images[n], int(labels[n]) + 1, n) for n in range(part, 64, 2)]
            write_records(folder / f"{name}-{part:05d}-of-00002", rows)


def _photo(pixels: np.ndarray, label: int, number: int) -> bytes:
    boxes = {f"image/object/bbox/{side}": [at] for side, at in zip(["xmin", "ymin"], [0.1, 0.2], strict=True)}
    boxes |= {f"image/object/bbox/{side}": [0.9] for side in ("xmax", "ymax")}
    return example_of(
        {
            "image/encoded": jpeg(pixels),
            "image/format": "jpeg",
            "image/height": pixels.shape[0],
            "image/width": pixels.shape[1],
            "image/class/label": label,
            "image/class/synset": f"n{label:08d}",
            "image/class/text": "thing",
            "image/filename": f"{number}.JPEG",
            "image/source_id": str(number),
            "image/object/class/label": [label],
            "image/object/is_crowd": [0],
            "image/object/area": [1000.0],
            **boxes,
        }
    )


@maker
def make_photos(folder: Path, home: Path) -> None:
    """Make folders of JPEGs, one for each class, for training, validation and tests."""
    _write_photos(folder, ("cats", "dogs"))


@maker
def make_flowers(folder: Path, home: Path) -> None:
    """Make folders of JPEGs of five classes, likewise."""
    _write_photos(folder, ("daisies", "dandelions", "roses", "sunflowers", "tulips"))


def _write_photos(folder: Path, names: Sequence[str]) -> None:
    for part, count in (("train", 12), ("valid", 6), ("validation", 6), ("test", 6)):
        for place, name in enumerate(names):
            images, _ = _images(count, 64, 72, 3, classes=2)
            for number, image in enumerate(images):
                file = folder / part / name / f"{name[:-1]}.{number}.jpg"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(jpeg((image // 2 + 120 * place // len(names)).astype(np.uint8)))


# Tables.


@maker
def make_census(folder: Path, home: Path) -> None:
    """Make the census' csv files, with a space in front of each word and without."""
    columns = [
        ["Private", "Self-emp-inc", "Federal-gov", "?"],
        ["Bachelors", "HS-grad", "11th", "Masters"],
        ["Never-married", "Married-civ-spouse", "Divorced"],
        ["Exec-managerial", "Craft-repair", "Other-service"],
        ["Own-child", "Husband", "Wife", "Not-in-family"],
        ["White", "Black", "Other"],
        ["Male", "Female"],
        ["United-States", "Mexico", "Germany"],
    ]
    random = _random()
    for name, count in (("data", 800), ("test", 200)):
        rows = []
        for _ in range(count):
            age = int(random.integers(17, 80))
            work, school, married, job, kin, race, gender, country = (random.choice(c) for c in columns)
            numbers = random.integers(0, 5000, 3)
            income = ">50K" if age + random.normal(0, 10) > 45 else "<=50K"
            rows.append(
                [
                    *(age, work, numbers[0] * 30, school, int(random.integers(1, 16)), married, job, kin),
                    *(race, gender, int(numbers[1]), int(numbers[2]), int(random.integers(10, 80))),
                    *(country, income),
                ]
            )
        write_rows(folder / f"adult.{name}", rows)
        write_lines(folder / f"adult.{name}.csv", (", ".join(map(str, row)) for row in rows))


@maker
def make_libsvm(folder: Path, home: Path) -> None:
    """Make libsvm files of fields as of Criteo's: label, and 39 pairs of an index and a value."""
    random = _random()
    for name, count in (("tr", 1024), ("va", 256), ("te", 256)):
        lines = []
        for _ in range(count):
            pairs = [f"{n}:{random.random():.4f}" for n in range(1, 14)]
            pairs += [f"{14 + 40 * n + int(random.integers(40))}:1" for n in range(26)]
            lines.append(" ".join([str(int(random.integers(2))), *pairs]))
        write_lines(folder / f"{name}.libsvm", lines)


@maker
def make_criteo(folder: Path, home: Path) -> None:
    """Make files of clicks as Criteo's: a label, 13 numbers, 26 words; with tabs, and with commas."""
    random = _random()
    for name, count in (("train", 1024), ("eval", 256), ("test", 256)):
        rows = [
            [int(random.integers(2)), *random.integers(0, 50, 13)]
            + [f"{int(random.integers(20)):08x}" for _ in range(26)]
            for _ in range(count)
        ]
        write_rows(folder / f"{name}.txt", rows, "\t")
        write_rows(folder / f"{name}.csv", rows)


# Text.


@maker
def make_text(folder: Path, home: Path) -> None:
    """Make text: paragraphs, and a file each to train, to evaluate and to test."""
    write_lines(folder / "text.txt", sentences(400))
    paragraphs = [line for place, line in enumerate(sentences(120)) for line in ([line, ""][: 1 + place % 2])]
    write_lines(folder / "documents.txt", paragraphs)
    for seed, name in enumerate(("train", "valid", "test")):
        write_lines(folder / f"{name}.txt", sentences(200, seed=seed))


def _bert_of(words: int, *, longest: int) -> dict[str, object]:
    """Return the settings of a small BERT, as `bert_config.json` has them."""
    return {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 16,
        "initializer_range": 0.02,
        "intermediate_size": 32,
        "max_position_embeddings": longest,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "type_vocab_size": 2,
        "vocab_size": words,
    }


@maker
def make_bert(folder: Path, home: Path) -> None:
    """Make a vocabulary, a small network's settings, and the files of GLUE's, SQuAD's and others' tasks."""
    letters = [chr(n) for n in range(97, 123)]
    special = ["[PAD]", *(f"[unused{n}]" for n in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *".,?!'-()0123456789", *letters, *(f"##{x}" for x in letters), *_WORDS]
    write_lines(folder / "vocab.txt", dict.fromkeys(pieces))
    size = len(dict.fromkeys(pieces))
    config = _bert_of(size, longest=512)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    albert = {
        **config,
        "embedding_size": 8,
        "num_hidden_groups": 1,
        "inner_group_num": 1,
        "net_structure_type": 0,
    }
    (folder / "albert_config.json").write_text(json.dumps(albert), "utf-8")
    _write_glue(folder / "glue")
    for name, seed in (("train", 1), ("dev", 2), ("test", 3)):
        (folder / f"{name}-v1.1.json").write_text(json.dumps(_squad(seed, with_none=False)), "utf-8")
        (folder / f"{name}-v2.0.json").write_text(json.dumps(_squad(seed, with_none=True)), "utf-8")
    write_lines(folder / "sentences.txt", sentences(8))
    random = _random()
    write_records(folder / "pretraining.tfrecord", (_masked(random, size) for _ in range(64)))


def _masked(random: np.random.Generator, size: int, length: int = 32, most: int = 5) -> bytes:
    return example(
        input_ids=random.integers(104, size, length),
        input_mask=[1] * length,
        segment_ids=[0] * (length // 2) + [1] * (length // 2),
        masked_lm_positions=random.choice(np.arange(1, length), most, replace=False),
        masked_lm_ids=random.integers(104, size, most),
        masked_lm_weights=[1.0] * most,
        next_sentence_labels=[int(random.integers(2))],
    )


def _write_glue(folder: Path) -> None:
    for seed, (name, count) in enumerate((("train", 64), ("dev", 16), ("test", 16))):
        first, second = list(sentences(count, seed=seed)), list(sentences(count, seed=10 + seed))
        labels = [place % 2 for place in range(count)]
        numbered = list(zip(range(count), labels, first, second, strict=True))
        write_rows(
            folder / "MRPC" / f"{name}.tsv",
            [
                ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"],
                *([y, n, n, a, b] for n, y, a, b in numbered),
            ],
            "\t",
        )
        rows = [[f"{n}", y, "*", a] for n, y, a, _ in numbered]
        if name == "test":
            rows = [["index", "sentence"], *([n, a] for n, _, a, _ in numbered)]
        write_rows(folder / "CoLA" / f"{name}.tsv", rows, "\t")
        write_rows(
            folder / "SST-2" / f"{name}.tsv",
            [["sentence", "label"], *([a, y] for _, y, a, _ in numbered)],
            "\t",
        )
        entails = [["index", "sentence1", "sentence2", "label"]]
        entails += [[n, a, b, ["entailment", "not_entailment"][y]] for n, y, a, b in numbered]
        write_rows(folder / "RTE" / f"{name}.tsv", entails, "\t")


def _squad(seed: int, *, with_none: bool) -> dict[str, Any]:
    paragraphs = []
    for number, context in enumerate(sentences(8, 30, seed=seed)):
        words = context.split()
        answer = " ".join(words[3:5])
        question = {
            "id": f"{seed}-{number}",
            "question": f"what is {words[2]} ?",
            "answers": [{"text": answer, "answer_start": len(" ".join(words[:3])) + 1}],
        }
        if with_none:
            impossible = number % 4 == 3
            question |= {"is_impossible": impossible} | ({"answers": []} if impossible else {})
        paragraphs.append({"context": context, "qas": [question]})
    return {"version": "2.0" if with_none else "1.1", "data": [{"title": "a", "paragraphs": paragraphs}]}


@maker
def make_sentencepiece(folder: Path, home: Path) -> None:
    """Make a vocabulary of SentencePiece, whose package has to be installed."""
    import sentencepiece

    write_lines(folder / "text.txt", sentences(400))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"),
        model_prefix=str(folder / "spiece"),
        vocab_size=200,
        hard_vocab_limit=False,
        minloglevel=2,
        # XLNet's and ALBERT's.
        user_defined_symbols=[
            *("<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"),
            *("[CLS]", "[SEP]", "[MASK]"),
        ],
    )
    config = {"d_head": 8, "d_inner": 32, "d_model": 16, "ff_activation": "gelu", "n_head": 2, "n_layer": 2}
    xlnet = config | {"n_token": 300, "untie_r": True}
    (folder / "xlnet.json").write_text(json.dumps(xlnet), "utf-8")


@maker
def make_reviews(folder: Path, home: Path) -> None:
    """Make reviews as IMDB's: a file each in folders, and csv files with tabs."""
    for seed, (part, count) in enumerate((("train", 24), ("test", 12), ("unsup", 24))):
        texts = list(sentences(count, 20, seed=seed))
        for place, text in enumerate(texts):
            file = folder / part / ("neg", "pos")[place % 2] / f"{place}_{3 + 4 * (place % 2)}.txt"
            write_lines(file, [text])
        labels = (
            ["unsup"] * count if part == "unsup" else [("neg", "pos")[place % 2] for place in range(count)]
        )
        rows = [
            [text, label, f"{place}.txt"]
            for place, (text, label) in enumerate(zip(texts, labels, strict=True))
        ]
        for name in (part, *(("unsup_in", "unsup_ext") if part == "unsup" else ())):
            write_rows(folder / "csv" / f"{name}.csv", [["content", "label", "id"], *rows], "\t")


@maker
def make_edits(folder: Path, home: Path) -> None:
    """Make sentences with what others make of them, tags of LaserTagger, and settings of its network."""
    rows = [[text, f"{text} <::::> and {text}"] for text in sentences(24, 8)]
    for name in ("train.tsv", "dev.tsv"):
        write_rows(folder / name, rows, "\t")
    write_lines(
        folder / "labels.txt", ["KEEP", "DELETE", "KEEP|and", "DELETE|and", "KEEP|<::::>", "DELETE|<::::>"]
    )
    random = _random()
    size = 32
    for name in ("train", "dev"):
        rows = (
            example(
                input_ids=random.integers(104, 200, size),
                input_mask=[1] * size,
                segment_ids=[0] * size,
                labels=random.integers(0, 6, size),
                labels_mask=[1] * size,
            )
            for _ in range(24)
        )
        write_records(folder / f"{name}.tfrecord", rows)
    config = _bert_of(400, longest=64) | {
        "use_t2t_decoder": False,
        "decoder_num_hidden_layers": 1,
        "decoder_hidden_size": 16,
        "decoder_num_attention_heads": 2,
        "decoder_filter_size": 32,
        "use_full_attention": False,
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "decoder.json").write_text(json.dumps(config | {"use_t2t_decoder": True}), "utf-8")


@maker
def make_tokens(folder: Path, home: Path) -> None:
    """Make texts of numbered tokens as GPT-2's, in the TFRecord files that its trainers name, and its settings."""
    random = _random()
    for number in range(93):
        texts = (example(hash=f"{number}", text=random.integers(0, 300, 40)) for _ in range(20))
        write_records(folder / f"openwebtext-newspaper_{number}.tfrecords", texts)
    settings = {
        "n_head": 2,
        "n_vocab": 50257,
        "n_embd": 16,
        "n_layer": 2,
        "n_ctx": 32,
        "lr": 0.001,
        "warmup_steps": 1,
        "beta1": 0.9,
        "beta2": 0.98,
        "epsilon": 1e-9,
        "opt_name": "adam",
        "weight_decay": 0.01,
        "train_batch_size": 2,
        "eval_batch_size": 2,
        "predict_batch_size": 2,
        "embed_dropout": 0.1,
        "attn_dropout": 0.1,
        "res_dropout": 0.1,
        "train_steps": 2,
        "eval_steps": 1,
        "max_steps": 2,
        "iterations": 1,
        "data_path": str(folder),
        "encoder_path": str(folder),
        "input": "openwebtext",
        "model": "GPT2",
        "model_path": "model",
        "predict_path": "predictions.txt",
        "scale_by_depth": True,
        "scale_by_in": True,
    }
    (folder / "gpt2.json").write_text(json.dumps(settings), "utf-8")
    grover = _bert_of(300, longest=64)
    (folder / "grover.json").write_text(json.dumps(grover), "utf-8")
    sequences = (example(input_ids=random.integers(1, 300, 33)) for _ in range(64))
    write_records(folder / "sequences.tfrecord", sequences)
    rows = ({"inputs": random.integers(3, 90, 40), "targets": random.integers(3, 90, 40)} for _ in range(24))
    for number in range(8):
        write_records(folder / "pairs" / f"{number}.tfrecord", map(example_of, itertools.islice(rows, 3)))


@maker
def make_tagged(folder: Path, home: Path) -> None:
    """Make words with tags of persons and places: a word a line, and sentences beside lines of tags."""
    random = _random()
    for name, count in (("train", 64), ("dev", 16), ("test", 16)):
        lines, dotted, short, texts, tags = [], [], [], [], []
        for _ in range(count):
            words = [str(random.choice(["john", "mary"])), *random.choice(_WORDS[:40], 4), "paris"]
            marks = ["B-PER", *["O"] * 4, "B-LOC"]
            tagged = [f"{word} {mark}" for word, mark in zip(words, marks, strict=True)]
            lines += [*tagged, ""]
            dotted += [*tagged, ". O", ""]
            short += [*(f"{word}\t{mark[0]}" for word, mark in zip(words, marks, strict=True)), ""]
            texts.append(" ".join(words))
            tags.append(" ".join(marks))
        write_lines(folder / f"{name}.txt", lines)
        write_lines(folder / "dotted" / f"{name}.txt", dotted)
        write_lines(folder / f"{name}.tsv", short)
        write_lines(folder / f"{name}.words.txt", texts)
        write_lines(folder / f"{name}.tags.txt", tags)


@maker
def make_ranked(folder: Path, home: Path) -> None:
    """Make questions with documents, in numbered words, and whether each answers its question."""
    random = _random()
    for name, count in (("train", 48), ("dev", 16), ("eval", 16)):
        rows = (
            example(
                query_ids=[101, *random.integers(104, 200, random.integers(3, 7)), 102],
                doc_ids=[*random.integers(104, 200, random.integers(8, 20)), 102],
                label=place % 4 == 0,
            )
            for place in range(count)
        )
        write_records(folder / f"dataset_{name}.tf", rows)


@maker
def make_movielens(folder: Path, home: Path) -> None:
    """Make ratings as MovieLens': somebody, a film, stars and a time, with two colons between them."""
    random = _random()
    rows = [
        f"{person}::{film}::{int(random.integers(1, 6))}::{978300000 + 60 * time}"
        for person in range(1, 41)
        for time, film in enumerate(random.permutation(np.arange(1, 121))[:30])
    ]
    write_lines(folder / "ratings.dat", rows)


@maker
def make_translated(folder: Path, home: Path) -> None:
    """Make sentences with their translations, a tab between them, in an archive as of Tatoeba's pairs."""
    rows = zip(sentences(200, 5), sentences(200, 6, seed=7), strict=True)
    text = "".join(f"{first.capitalize()}.\t{second.capitalize()} !\n" for first, second in rows)
    with zipfile.ZipFile(folder / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", text)
