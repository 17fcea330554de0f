"""Writes the pages of ported programs: each original beside its port, with the changed lines counted.

`python docs/programs/count.py` rewrites the pages; a test checks that they are those that this file would write.

What is counted are lines of code: blank lines, comments, docstrings and indentation don't matter. A changed line
counts once, whether it was replaced, added or left out. A changed line belongs to the example and not to the port if
it reads the example's command line or data (`options`, `command_line`, `example_data`): these make one file run in any
size, with any strategy, from any data, and a program that you carry over does not need them.
"""

import ast
import dataclasses
import difflib
import io
import pathlib
import re
import tokenize

FOLDER = pathlib.Path(__file__).resolve().parent
EXAMPLES = FOLDER.parent.parent / "examples"
ORIGINALS = FOLDER / "originals"
_OF_THE_EXAMPLE = re.compile(
    r"\boptions\b|\bcommand_line\b|\bexample_data\b|\btrain_data\b|\btest_data\b|\bFLAGS\.steps_per_eval\b"
)
_WHOLE_FILE = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """A page about one document.

    Attributes:
        name: The page's file name without its ending.
        title: The document's title.
        source: Who published it, where.
        programs: The names of its programs.
        notes: What to know about the port.
    """

    name: str
    title: str
    source: str
    programs: tuple[str, ...]
    notes: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Count:
    """How much of a program changed.

    Attributes:
        original: Lines of code in the original.
        changed: Lines that differ.
        of_the_example: Those of them that read the example's command line or data.
    """

    original: int
    changed: int
    of_the_example: int

    @property
    def of_the_port(self) -> int:
        """The changed lines that a program which is carried over needs too."""
        return self.changed - self.of_the_example


PAGES = (
    Page(
        name="distributed_training_guide",
        title="Distributed training with TensorFlow",
        source="the guide on tensorflow.org, in its edition for TensorFlow 2.0 (code: Apache License 2.0)",
        programs=("distributed_training_guide.py",),
        notes="""\
The guide's Keras model, trained with `fit` from a Dataset and from NumPy arrays, and its custom loop, over a
distributed dataset and with `next`, and its `LinearRegressor`, trained and evaluated under the strategy. Its list of
learning rates knows global batches of 5 and 10 only; the port has a default, so that it runs on any number of devices.
The guide shows in a notebook what `evaluate` gives, which takes a `print` in a file; with as many devices as you like it
is what the guide shows, `'loss': 1.4210855e-14` and `'prediction/mean': 0.99999994`. Parameter servers are not here
yet.""",
    ),
    Page(
        name="tpu_estimator",
        title="Cloud TPU에서 TPUEstimator API 사용",
        source="the guide on cloud.google.com (code: Apache License 2.0)",
        programs=("mnist_tpu_estimator.py",),
        notes="""\
The guide (in English: using the TPUEstimator API on Cloud TPU) has one program, a convolutional network that learns
MNIST from a TFRecord file. It leaves out the flags that the program reads and the call of `tf.app.run`; they stand in
both files. The port's example makes the file from an `mnist.npz`, and evaluates at the end. Only imports change.""",
    ),
    Page(
        name="custom_estimator_on_tpu",
        title="如何为 Cloud TPU 编写自定义估算器模型",
        source="an article by Lak Lakshmanan of Google, in its Chinese edition of 2018; the code is its author's",
        programs=("flowers_tpu_estimator.py",),
        notes="""\
The article (in English: how to write a custom Estimator model for the Cloud TPU) shows the parts of a program:
reading and augmenting photographs, a model function, and a loop that trains and evaluates in turns. What it describes
in words is written out in both files: the flags, the rest of `input_fn`, and the network. The photographs are
converted by `stratax.convert`, in processes or by a pipeline of Apache Beam (`--beam`), to the features that the article
names. What it exports at its end answers to photographs behind [`stratax serve`](../serving.md). Only imports change.""",
    ),
    Page(
        name="use_tpus",
        title="Use TPUs",
        source="the guide on tensorflow.org (code: Apache License 2.0)",
        programs=("use_tpus.py",),
        notes="""\
The whole guide: the list of devices, a matrix product on one core and on all, Keras' `fit` without and with
`steps_per_execution=50`, the custom loop that gets an iterator, and many steps in one call with `tf.range`. MNIST is
read from an `mnist.npz` instead of by `tensorflow_datasets`. Keras 3 calls `reset_states` of a metric `reset_state`.
`c.device` is a `jax.Device`, which prints as JAX calls it.""",
    ),
    Page(
        name="cloud_tpu",
        title="Python: Google Colaboratory で Cloud TPU を TensorFlow から試してみる",
        source="an article of the blog CUBE SUGAR CONTAINER, written for TensorFlow 2.1; the programs are its author's",
        programs=("cloud_tpu_session.py", "cloud_tpu_gradient_descent.py", "cloud_tpu_cifar10.py"),
        notes="""\
The article (in English: trying Cloud TPU from TensorFlow) types its first program at a prompt, which shows what an
expression gives; in a file that takes a `print`, which is all that changes there besides the import. The gradient
descent ends where the article's does, at `0.0022596875205636024 @ [0.01152921 0.04611686]`. The whole numbers that
`Dataset.range` gives are int64 on the host and int32 on a device.""",
    ),
)


def code_lines(path: pathlib.Path) -> list[str]:
    """The lines of code of a program, without indentation."""
    text = path.read_text(encoding="utf-8")
    skipped = {
        line for node in _docstrings(ast.parse(text)) for line in range(node.lineno, node.end_lineno + 1)
    }
    comments = [
        token.start
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    starts = dict(comments)
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        kept = line[: starts.get(number)].strip()
        if kept and number not in skipped:
            lines.append(kept)
    return lines


def _docstrings(tree: ast.Module) -> list[ast.Expr]:
    owners = (
        node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    )
    firsts = (owner.body[0] for owner in owners if owner.body)
    return [
        first
        for first in firsts
        if isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ]


def count(program: str) -> Count:
    """Compares a program with its port, line by line."""
    original, port = code_lines(ORIGINALS / program), code_lines(EXAMPLES / program)
    changed = of_the_example = 0
    for kind, start, end, port_start, port_end in difflib.SequenceMatcher(
        None, original, port, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            changed += max(end - start, port_end - port_start)
            of_the_example += sum(bool(_OF_THE_EXAMPLE.search(line)) for line in port[port_start:port_end])
    return Count(original=len(original), changed=changed, of_the_example=of_the_example)


def row(program: str) -> str:
    """A program's line in the table."""
    found = count(program)
    return (
        f"| [`{program}`](../../examples/{program}) | {found.original} | {found.changed} | "
        f"{found.of_the_example} | **{found.of_the_port}** |"
    )


HEADER = """\
| program | lines of code | changed | for the example's options and data | for Stratax |
| --- | ---: | ---: | ---: | ---: |"""


def diff(program: str) -> str:
    """The original beside its port: a unified diff that shows the whole program."""
    original, port = ((folder / program).read_text(encoding="utf-8") for folder in (ORIGINALS, EXAMPLES))
    lines = difflib.unified_diff(
        [line.rstrip() for line in original.splitlines()],
        port.splitlines(),
        f"original/{program}",
        f"examples/{program}",
        lineterm="",
        n=_WHOLE_FILE,
    )
    return "\n".join(line.rstrip() for line in lines)


def page_text(page: Page) -> str:
    """What stands on a page."""
    table = "\n".join([HEADER, *map(row, page.programs)])
    programs = "\n\n".join(f"## {program}\n\n```diff\n{diff(program)}\n```" for program in page.programs)
    return f"""# {page.title}

From {page.source}.

{page.notes}

{table}

Blank lines, comments, docstrings and indentation are not counted; [how it is counted](count.py).

{programs}
"""


def index_text() -> str:
    """What stands on the page that leads to the others."""
    entries = "\n".join(f"- [{page.title}]({page.name}.md): {page.source}." for page in PAGES)
    table = "\n".join([HEADER, *(row(program) for page in PAGES for program in page.programs)])
    return f"""# Programs that were carried over

Programs from five documents about TensorFlow, each beside its port to Stratax, with the changed lines counted:

{entries}

{table}

The changed lines for Stratax are `import stratax.tf as tf` in the place of `import tensorflow as tf`, and what the
pages say. Run a program with `python examples/<program>`; `--help` tells its options. Where no TPU is,
`--strategy tpu` simulates one with 8 cores.
"""


def pages() -> dict[pathlib.Path, str]:
    """Every page with its text."""
    texts = {FOLDER / f"{page.name}.md": page_text(page) for page in PAGES}
    return {FOLDER / "README.md": index_text(), **texts}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
