"""What a command line leaves out of a program is not missed."""

import textwrap

import pytest

from stratax.tf import migration

MISSING = "tf.lite.Interpreter('model')"
FLAGS = """
    import tensorflow as tf
    from absl import flags

    flags.DEFINE_bool("export", False, "")
    flags.DEFINE_float("alpha", default=0.0, help="")
    flags.DEFINE_string("mode", "train", "")
    flags.DEFINE_integer("steps", 10, "")
    FLAGS = flags.FLAGS
"""
OPTIONS = """
    import argparse
    import tensorflow as tf

    parser = argparse.ArgumentParser()
    parser.add_argument("--export", action="store_true")
    parser.add_argument("-k", "--keep-all", dest="keep", action="store_false")
    parser.add_argument("--mode", default="train")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("place")
    args = parser.parse_args()
"""


def is_missing(tmp_path, text, arguments):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    return any(finding.kind == "missing" for finding in migration.check([program], arguments))


@pytest.mark.parametrize(
    ("test", "arguments", "expected"),
    [
        ("FLAGS.export", "", False),
        ("FLAGS.export", "--export", True),
        ("FLAGS.export", "--export=true --mode=x", True),
        ("FLAGS.export", "--noexport", False),
        ("FLAGS.export", "--export=False", False),
        ("not FLAGS.export", "", True),
        ("FLAGS.export or unknown", "", True),
        ("FLAGS.export and unknown", "", False),
        ("FLAGS.alpha > 0", "", False),
        ("FLAGS.alpha > 0", "--alpha 0.5", True),
        ("FLAGS.mode == 'eval'", "--mode=train", False),
        ("FLAGS.mode in ('eval', 'train_and_eval')", "--mode=eval", True),
        ("FLAGS.steps >= 20", "--steps=x", True),
        ("FLAGS.steps >= 20", "--steps=5", False),
        ("FLAGS.export", None, True),
    ],
)
def test_flags_are_what_the_command_line_says(tmp_path, test, arguments, expected):
    assert is_missing(tmp_path, f"{FLAGS}\n    if {test}:\n        {MISSING}\n", arguments) == expected


@pytest.mark.parametrize(
    ("test", "arguments", "expected"),
    [
        ("args.export", "here", False),
        ("args.export", "--export here", True),
        ("args.keep", "here", True),
        ("args.keep", "-k here", False),
        ("args.mode == 'eval'", "", False),
        ("args.mode == 'eval'", "--mode eval", True),
        ("args.steps > 10", "--steps 20", True),
        ("args.steps > 10", "", False),
        ("args.place == 'there'", "here", True),
    ],
)
def test_options_are_what_the_command_line_says(tmp_path, test, arguments, expected):
    assert is_missing(tmp_path, f"{OPTIONS}\n    if {test}:\n        {MISSING}\n", arguments) == expected


WAYS = {
    "by name": ("def build(alpha=0.0):\n    if alpha > 0:\n        MISSING\nbuild(alpha=FLAGS.alpha)", False),
    "by place": ("def build(alpha=0.0):\n    if alpha > 0:\n        MISSING\nbuild(FLAGS.alpha)", False),
    "another value": ("def build(alpha=0.0):\n    if alpha > 0:\n        MISSING\nbuild(0.1)", True),
    "a value that is computed": (
        "def build(alpha=0.0):\n    if alpha > 0:\n        MISSING\nbuild(f())",
        True,
    ),
    "several by place": ("def build(alpha=0.0):\n    if alpha > 0:\n        MISSING\nbuild(*given)", True),
    "as an attribute": (
        "class Input:\n    def __init__(self, alpha):\n        self.alpha = alpha\n"
        "    def read(self):\n        if self.alpha > 0.0:\n            MISSING\nInput(FLAGS.alpha).read()",
        False,
    ),
    "by partial": (
        "import functools\ndef build(x, alpha):\n    if alpha > 0:\n        MISSING\n"
        "functools.partial(build, 1, FLAGS.alpha)",
        False,
    ),
    "in a dictionary": ("params = {'alpha': FLAGS.alpha}\nif params['alpha']:\n    MISSING", False),
    "set anew": ("FLAGS.alpha = 1.0\nif FLAGS.alpha > 0:\n    MISSING", True),
    "set in a loop": ("for alpha in range(3):\n    if alpha > 0:\n        MISSING", True),
    "called under a condition": ("def export():\n    MISSING\nif FLAGS.export:\n    export()", False),
    "a class": ("class A:\n    def __init__(self):\n        MISSING\nif FLAGS.export:\n    A()", False),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_keeps_its_name(tmp_path, way):
    text, expected = WAYS[way]
    text = textwrap.dedent(FLAGS) + text.replace("MISSING", MISSING) + "\ndef main():\n    pass\nmain()\n"
    assert is_missing(tmp_path, text, "") == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tf.__version__ < '2.0.0'", False),
        ("tf.version.VERSION >= '2.0.0'", True),
        ("not hasattr(tf, 'version') or tf.version.VERSION < '2.0.0'", False),
        ("tf.__version__.startswith('1.')", False),
        ("tf.__version__[0] == '2'", True),
        ("int(tf.__version__.split('.')[0]) < 2", False),
        ("float(tf.__version__[:3]) < 2.0", False),
        ("LooseVersion(tf.__version__) >= LooseVersion('2.10')", True),
        ("version.parse(tf.__version__) < version.parse('2')", False),
    ],
)
def test_the_version_of_tensorflow_is_known(tmp_path, test, expected):
    assert is_missing(tmp_path, f"import tensorflow as tf\nif {test}:\n    {MISSING}\n", None) == expected


def test_what_a_module_does_as_a_program_is_not_run_where_it_is_imported(tmp_path):
    text = f"import tensorflow as tf\ndef f():\n    {MISSING}\nif __name__ == '__main__':\n    f()\n"
    (tmp_path / "parts.py").write_text(text)
    assert (
        is_missing(tmp_path, f"import parts\ndef g():\n    {MISSING}\ndef main(): pass\nmain()", None)
        is False
    )
    assert is_missing(tmp_path, text, None)
