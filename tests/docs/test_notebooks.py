"""The notebooks of the documentation run, and print what they hold as printed."""

import os
import pathlib
import re
import sys

import nbclient
import nbformat
import pytest
from jupyter_client import kernelspec, manager

from tests import quick_xla

NOTEBOOKS = pathlib.Path(__file__).parents[2] / "docs" / "notebooks"
# Steps, ports and how fast others notice a loss differ from run to run.
VARIES = re.compile(r"PeerLost|exit code|peer ranks|^WARNING")
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?")


class KernelOfThisPython(manager.KernelManager):
    """Starts the interpreter that runs the tests, whatever kernels are installed."""

    @property
    def kernel_spec(self):
        arguments = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return kernelspec.KernelSpec(argv=arguments, display_name="Python", language="python")


def printed(notebook):
    """The lines that a notebook's cells have printed, with # for numbers, and the number of its pictures."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    lines = [NUMBER.sub("#", line.rstrip()) for line in text.splitlines() if not VARIES.search(line)]
    return lines, sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize(
    "name",
    [
        "first_program",
        "from_tensorflow",
        "model_in_parts",
        pytest.param("many_workers", marks=pytest.mark.stress),
    ],
)
def test_processes_of_a_notebook_print_and_draw_what_it_holds(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", quick_xla.FLAGS)
    # The commands of a notebook are those of this environment.
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    )
    # The tests' own devices and XLA flags are not the reader's.
    monkeypatch.delenv("STRATAX_SIMULATE", raising=False)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    expected = printed(notebook)
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        resources={"metadata": {"path": str(tmp_path)}},
        kernel_manager_class=KernelOfThisPython,
    )
    client.execute()
    assert printed(notebook) == expected


def test_a_notebook_holds_its_output_and_no_path_of_a_machine():
    notebooks = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert len(notebooks) == 4
    for path in notebooks:
        lines, pictures = printed(nbformat.read(path, as_version=4))
        assert lines, path
        assert pictures, path
        assert not re.search(r"/(home|root|tmp|Users)/", path.read_text("utf-8")), path
