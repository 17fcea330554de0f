"""What a program does not call keeps it from nothing, and is told by itself."""

import textwrap

import pytest

from stratax.tf import migration

MISSING = "tf.lite.Interpreter('model')"


def kinds(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text("import tensorflow as tf\n" + textwrap.dedent(text))
    return {(finding.line, finding.kind) for finding in migration.check([folder / "program.py"])}


def test_a_function_that_nothing_names_is_told_by_itself(tmp_path):
    found = kinds(
        tmp_path,
        program=f"""
        import parts

        def look_once():
            {MISSING}

        def main():
            parts.build()
            return Model().call

        class Model:
            def call(self):
                {MISSING}

        class Unused(Model):
            kept = {MISSING}
            def call(self):
                {MISSING}

        main()
        """,
        parts=f"""
        def build():
            return helper()
        def helper():
            return 1
        def other():
            return again()
        def again():
            {MISSING}
        """,
    )
    assert found == {(6, "uncalled"), (14, "missing"), (17, "missing"), (19, "uncalled"), (10, "uncalled")}


@pytest.mark.parametrize(
    "kept",
    [
        "f()",
        "tf.train.MonitoredSession(f)",
        "TABLE = {'f': None}",
        "@register\ndef g(): f()",
        "class ATest(tf.test.TestCase):\n    def test(self): f()",
        "def test_f(): f()",
        "import parts\ngetattr(parts, name)()",
        "globals()[name]()",
        "def g(called=f): pass",
        "@f\nclass C: pass",
        "try:\n    f()\nexcept ValueError:\n    pass",
    ],
)
def test_what_may_be_called_counts_as_called(tmp_path, kept):
    text = f"def f():\n    {MISSING}\ndef main():\n    pass\n{kept}\nmain()\n"
    found = kinds(tmp_path, program=text, parts="")
    assert (3, "missing") in found
    assert "uncalled" not in {kind for _, kind in found}


def test_a_module_that_calls_nothing_is_there_for_others(tmp_path):
    text = f"def f():\n    {MISSING}\ndef g():\n    f()\n"
    assert kinds(tmp_path, program=text) == {(3, "missing")}
    assert [finding.kind for finding in migration.check([tmp_path])] == ["missing"]


def test_a_name_of_tensorflow_that_is_computed_names_no_own_function(tmp_path):
    text = f"def f():\n    {MISSING}\ndef main():\n    getattr(tf.nn, 'relu'), getattr(tf, name)\nmain()\n"
    assert kinds(tmp_path, program=text) == {(3, "uncalled")}


def test_a_method_that_nothing_names_is_told_by_itself(tmp_path):
    found = kinds(
        tmp_path,
        program=f"""
        from parts import Base

        class Input:
            @property
            def size(self):
                return 1
            def mix(self):
                {MISSING}
            def read(self):
                {MISSING}

        class Of(Base):
            def own(self):
                {MISSING}

        class OfKeras(tf.keras.layers.Layer):
            def call(self, x):
                {MISSING}

        def main():
            Input().read(), Of(), OfKeras()
        main()
        """,
        parts="class Base(object): pass\n",
    )
    assert found == {(10, "uncalled"), (12, "missing"), (16, "uncalled"), (20, "missing")}


@pytest.mark.parametrize("computed", ["getattr(self, name)()", "getattr(other, name, None)"])
def test_methods_whose_names_are_computed_may_be_any(tmp_path, computed):
    text = f"class A:\n    def f(self):\n        {MISSING}\n    def g(self):\n        {computed}\nA().g()\n"
    assert kinds(tmp_path, program=text) == {(4, "missing")}


def test_names_that_call_nothing(tmp_path):
    text = f"""
        from absl import flags

        __all__ = ["f", "main"]
        flags.DEFINE_bool("f", False, "")
        parser.add_argument("f")

        class g:
            def __init__(self, name="g"):
                {MISSING}
        def f():
            {MISSING}
        def export():
            {MISSING}
        def main():
            tf.estimator.export.ExportOutput, flags.FLAGS.f, vars(parser)
        main()
        """
    assert {kind for _, kind in kinds(tmp_path, program=text)} == {"uncalled"}
