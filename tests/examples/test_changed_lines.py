"""The pages that show each program beside its port: the numbers are counted, and the pages are up to date."""

import importlib.util
import pathlib
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "programs"


@pytest.fixture(scope="module")
def count():
    spec = importlib.util.spec_from_file_location("count_changed_lines", DOCS / "count.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["count_changed_lines"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["count_changed_lines"]


@pytest.fixture
def compare(count, monkeypatch, tmp_path):
    """The count for two texts."""

    def compare(original, port):
        for folder, text in (("ORIGINALS", original), ("EXAMPLES", port)):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "program.py").write_text(text)
            monkeypatch.setattr(count, folder, tmp_path / folder)
        return count.count("program.py")

    return compare


def test_the_pages_are_what_the_programs_make_them(count):
    for path, text in count.pages().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is old. Run: python docs/programs/count.py"
        )


def test_every_original_has_a_page_and_a_port(count):
    programs = {program for page in count.PAGES for program in page.programs}
    assert programs == {path.name for path in count.ORIGINALS.glob("*.py")}
    assert all((count.EXAMPLES / program).is_file() for program in programs)


def test_few_lines_of_each_program_change_for_stratax(count):
    changed = {program: count.count(program).of_the_port for page in count.PAGES for program in page.programs}
    assert all(number <= 10 for number in changed.values()), changed


def test_programs_of_estimators_change_in_their_imports_only(count):
    imports = {"mnist_tpu_estimator.py": 4, "flowers_tpu_estimator.py": 2}
    assert {program: count.count(program).of_the_port for program in imports} == imports
    # Besides its import: the default of a learning rate, and a `print`.
    assert count.count("distributed_training_guide.py").of_the_port == 3


def test_comments_docstrings_blank_lines_and_indentation_do_not_count(compare):
    found = compare(
        'def f():\n  """Does."""\n  return 1  # One\n',
        '"""What it is."""\n\ndef f():\n    """Tut."""\n    # Eins\n    return 1\n',
    )
    assert (found.original, found.changed) == (2, 0)


def test_a_line_counts_once_whether_replaced_added_or_left_out(compare):
    found = compare(
        "import tensorflow as tf\na = 1\nb = 2\n", "import stratax.tf as tf\na = 1\nb = 2\nc = 3\n"
    )
    assert (found.changed, found.of_the_example) == (2, 0)


def test_lines_that_read_the_command_line_are_the_examples_own(compare):
    found = compare("a = 1\nb = 2\n", "import command_line\na = 1\nb = options.epochs\n")
    assert (found.changed, found.of_the_example, found.of_the_port) == (2, 2, 0)


def test_a_hash_in_a_string_is_no_comment(compare):
    assert compare("a = '#1'\n", "a = '#2'\n").changed == 1
