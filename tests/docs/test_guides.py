import importlib.util
import os
import pathlib
import re
import shlex

import pytest

from stratax import errors
from tests.cli import command as cli
from tests.cluster import forks

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUIDES = sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"^```(\w*)$")
OTHERS = {"benchmarks", "compatibility", "glossary"}
"""Pages that are reference, not guides: their code is tested where they are."""


def blocks_of(path):
    """The page's blocks of code as (language, line number of the first line, lines)."""
    found, opened = [], None
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (fence[1], number + 1, [])
        elif fence:
            found.append(opened)
            opened = None
        elif opened is not None:
            opened[2].append(line)
    assert opened is None, f"a block of {path} has no end"
    return found


def program_of(path):
    """A program with the page's Python blocks on the lines that they have there, and checks of what they print."""
    lines = [""] * (len(path.read_text().splitlines()) + 1)
    lines[0] = "from tests.docs.guide_output import expect as __expect, forget as __forget"
    before = None
    for language, first, code in blocks_of(path):
        if language == "python":
            lines[first - 2] += "__forget()"
            lines[first - 1 : first - 1 + len(code)] = code
        elif language == "text" and before is not None and "".join(lines[before : first - 2]).strip() == "":
            lines[first - 1] = f"__expect({chr(10).join(code) + chr(10)!r})"
        before = first - 1 + len(code) if language == "python" else None
    return "\n".join(lines)


# What a page needs that a user of the others does not have.
LIBRARIES = {"jax_libraries": ("equinox", "flax", "optax")}


def guides():
    found = [
        path for path in GUIDES if path.stem not in OTHERS and any(b[0] == "python" for b in blocks_of(path))
    ]
    return [pytest.param(path, marks=_needs(LIBRARIES.get(path.stem, ())), id=path.stem) for path in found]


def _needs(libraries):
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}: make setup")


def run(path, folder):
    simulated = re.search(r"STRATAX_SIMULATE=(\w+:\d+)", path.read_text())
    program = folder / f"{path.stem}.py"
    program.write_text(program_of(path))
    environment = os.environ | {
        "STRATAX_SIMULATE": simulated[1] if simulated else "",
        "JAX_PLATFORMS": "cpu",
    }
    return forks.run([program], environment, cwd=folder, timeout=280)


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("path", guides())
def test_processes_run_the_code_of_a_guide_and_it_prints_what_the_guide_says(path, tmp_path):
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.processes
def test_processes_notice_a_guide_that_says_what_its_code_does_not_print(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("# Wrong\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    done = run(page, tmp_path)
    assert done.returncode == 1
    assert "The guide says" in done.stderr
    assert "line 8" in done.stderr


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_every_link_of_a_page_leads_to_a_file_and_heading_that_is_there(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def _anchors(path):
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_map_links_to_every_page():
    text = (ROOT / "docs" / "index.md").read_text()
    pages = [path.name for path in GUIDES if path.stem not in ("index", "benchmarks")]
    assert [page for page in pages if f"({page})" not in text] == []


def test_the_page_on_trouble_has_every_class_of_error_and_what_it_derives_from():
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    values = [value for name, value in vars(errors).items() if name[0] != "_"]
    classes = [value for value in values if isinstance(value, type) and issubclass(value, BaseException)]
    assert len(classes) > 20
    for error in classes:
        if error is not errors.StrataxError:
            shown = (base for base in error.__bases__ if base.__name__[0] != "_")
            parent = next(base for base in shown if base is not errors.StrataxError)
            row = rf"\|[^|\n]*`{error.__name__}`[^|\n]*\| `{parent.__name__}`[^|\n]*\|"
            assert re.search(row, text), error


def test_every_stratax_command_in_the_documentation_can_be_called_so():
    pages = [ROOT / "README.md", *GUIDES]
    blocks = ["\n".join(lines) for page in pages for language, _, lines in blocks_of(page) if language == ""]
    code = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    commands = [shlex.split(line, comments=True) for line in code if re.match(r"(\w+=\S+ )*stratax ", line)]
    calls = [words[words.index("stratax") + 1 :] for words in commands]
    assert len(calls) > 3
    for name, *options in calls:
        command = cli.program.commands[name]
        command.make_context(name, options)
