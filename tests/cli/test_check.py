import json

import pytest

from tests.cli import command


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\ntf.lite\ntf.abs(1)\ntf.AttrValue()\n")
    return path


def test_each_line_is_told_with_its_remedy(program, capsys):
    assert command.run(["check", str(program)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Not there:", f"  {program}:2: tf.lite"]
    assert "Instead:" in lines[2]
    assert lines[3] == f"  {program}:4: tf.AttrValue"
    assert lines[-1] == "2 lines need another way to write it, in 1 file."


def test_what_is_different_is_told_once_for_all_lines_and_is_no_failure(program, capsys):
    program.write_text(
        "import tensorflow as tf\ntf.Print(1, [1], first_n=2)\ntf.abs(1)\ntf.Print(1, [1], first_n=3)\n"
    )
    assert command.run(["check", str(program)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Different:", f"  {program}:2: tf.Print(first_n=)"]
    assert lines[2].endswith("(Also in 4.)")
    assert (
        lines[-1]
        == "All that is used is there, and 2 lines do something different. Run it with `stratax run`."
    )
    assert command.run(["check", "--json", str(program)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["works"], [finding["line"] for finding in told["findings"]]) == (True, [2, 4])


def test_what_is_not_there_in_a_function_that_nothing_calls_is_no_failure(program, capsys):
    program.write_text(
        "import tensorflow as tf\ndef look():\n    tf.lite\ndef main():\n    tf.abs(1)\nmain()\n"
    )
    assert command.run(["check", str(program)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Not there, in functions that nothing calls:", f"  {program}:3: tf.lite"]
    assert lines[-1].startswith("All that is used is there, and nothing of it is known to differ.")
    assert command.run(["check", "--json", str(program)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["works"], [finding["kind"] for finding in told["findings"]]) == (True, ["uncalled"])


def test_a_program_of_which_all_is_there_succeeds(program, capsys):
    program.write_text("import tensorflow as tf\nprint(tf.abs(1))\n")
    assert command.run(["check", str(program)]) == 0
    assert "stratax run" in capsys.readouterr().out


def test_json_is_for_programs(program, capsys):
    assert command.run(["check", "--json", str(program)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["works"] is False
    assert told["findings"][0] | {"message": ""} == {
        "file": str(program),
        "cell": None,
        "line": 2,
        "kind": "missing",
        "name": "tf.lite",
        "message": "",
    }


def test_a_file_that_is_not_there_is_a_wrong_call(capsys):
    assert command.run(["check", "nowhere.py"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_file_that_is_no_program_fails_and_the_others_are_read(program, capsys):
    broken = program.with_name("broken.py")
    broken.write_text("print 'Python 2'\n")
    assert command.run(["check", str(program.parent)]) == 1
    told = capsys.readouterr().out
    assert f"{broken}:1: syntax\n      This is no Python 3 that can be read" in told
    assert f"{program}:2: tf.lite" in told
