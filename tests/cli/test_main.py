import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import stratax as sx
from stratax.cli import _main
from stratax.errors import BadArgumentError, StrategyError


@pytest.mark.parametrize(("arguments", "expected"), [(["--version"], sx.__version__), (["--help"], "demo")])
def test_version_and_help_are_printed_and_succeed(arguments, expected, capsys):
    assert _main.run(arguments) == 0
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("module", ["stratax", "stratax.cli"])
def test_the_command_runs_as_a_module_where_no_script_is_installed(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert sx.__version__ in done.stdout


def all_commands(group=_main.program, path=()):
    for name, command in group.commands.items():
        yield [*path, name], command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"),
    list(all_commands()),
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_command_and_option_has_help(path, command):
    assert command.help
    result = CliRunner().invoke(_main.program, [*path, "--help"])
    assert result.exit_code == 0
    assert " ".join(command.help.replace("\b", "").split()) in " ".join(result.output.split())
    assert "\\" not in result.output
    options = (parameter for parameter in command.params if isinstance(parameter, click.Option))
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["demo", "--strategy", "none"], "'none' is not one of 'one', 'mirrored', 'central', 'tpu'"),
        (["demo", "--dataset", "cats"], "'cats' is not one of 'digits', 'mnist'"),
        (["demo", "--batch-size", "0"], "'--batch-size': 0 is not in the range x>=1"),
        (["demo", "--epochs", "-1"], "'--epochs': -1 is not in the range x>=1"),
        (["demo", "--steps-per-execution", "0"], "0 is not in the range x>=1"),
        (["demo", "--simulate", "tpu8"], "kind:count, for example tpu:8"),
        (["demo", "--simulate", "npu:8"], "Only these kinds of device can be simulated: CPU, GPU, TPU"),
        (["devices", "--simulate", "tpu:0"], "Received: count=0"),
        (["demo", "--dataset", "mnist", "--data", "nowhere.npz"], "no MNIST file there"),
        (["demo", "--dataset", "digits", "--data", "nowhere.npz"], "--data is for --dataset mnist"),
    ],
)
def test_a_wrong_call_is_explained_without_a_traceback_and_exits_with_2(arguments, message, capsys):
    assert _main.run(arguments) == 2
    captured = capsys.readouterr()
    assert message in " ".join(captured.err.split())
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [(BadArgumentError("wrong."), 2), (StrategyError("broken."), 1), (click.ClickException("missing."), 1)],
)
def test_an_error_of_stratax_is_one_message_and_its_kind_decides_the_exit_code(
    error, code, monkeypatch, capsys
):
    @click.command()
    def fail():
        raise error

    monkeypatch.setitem(_main.program.commands, "fail", fail)
    assert _main.run(["fail"]) == code
    assert capsys.readouterr().err == f"Error: {error}\n"


def test_a_bug_keeps_its_traceback(monkeypatch):
    @click.command()
    def fail():
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(_main.program.commands, "fail", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        _main.run(["fail"])


def test_main_leaves_with_the_exit_code():
    with pytest.raises(SystemExit) as leaving:
        _main.main(["--version"])
    assert leaving.value.code == 0
