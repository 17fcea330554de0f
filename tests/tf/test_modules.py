"""The modules of its own that a program imports are found from their text."""

import pytest

from stratax.tf import migration


@pytest.fixture
def tree(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def found(path):
    return sorted((finding.file.rpartition("/")[2], finding.name) for finding in migration.check([path]))


def test_modules_beside_a_program_are_read_with_it(tree):
    root = tree(
        {
            "main.py": "import model\nfrom parts import inner\nimport numpy\nmodel.make()\n",
            "model.py": "import tensorflow as tf\ntf.nothing_like_it\nimport main\n",
            "parts/__init__.py": "",
            "parts/inner.py": "from . import outer\n",
            "parts/outer.py": "import tensorflow as tf\ntf.no_such_name\n",
            "other.py": "import tensorflow as tf\ntf.never_imported\n",
        }
    )
    assert found(root / "main.py") == [("model.py", "tf.nothing_like_it"), ("outer.py", "tf.no_such_name")]
    assert len(found(root)) == 3


def test_a_module_of_a_package_is_run_by_its_name(tree):
    root = tree(
        {
            "trainer/__init__.py": "",
            "trainer/task.py": "import trainer.model as model\n",
            "trainer/model.py": "import tensorflow as tf\ntf.no_such_name\n",
        }
    )
    assert found(root / "trainer" / "task.py") == [("model.py", "tf.no_such_name")]


def test_a_program_of_tensorflow_1_is_read_as_one(tree):
    dropout = (
        "import tensorflow as tf\ntf.nn.dropout(x, keep_prob=0.9)\ntf.reduce_sum(x, reduction_indices=1)\n"
    )
    root = tree(
        {
            "first.py": "import tensorflow as tf\nimport model\ntf.app.run()\n",
            "both.py": "import tensorflow as tf\nif hasattr(tf, 'app'):\n    tf.app\nimport model\n",
            "model.py": dropout,
        }
    )
    assert found(root / "first.py") == []
    assert [name for _, name in found(root / "both.py")] == [
        "tf.nn.dropout(keep_prob=)",
        "tf.reduce_sum(reduction_indices=)",
    ]


def test_what_is_no_python_3_is_told(tree):
    root = tree({"main.py": "import old\n", "old.py": "print 'x'\n"})
    assert found(root / "main.py") == [("old.py", "syntax")]
