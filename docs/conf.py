"""How the pages become a site: `make docs`. The pages are plain Markdown, to be read without the site too."""

import os
import re
import sys
from collections.abc import Iterator

import click
from sphinx.application import Sphinx

sys.path.insert(0, os.path.abspath(".."))

from stratax import __version__
from stratax.cli._main import program

PARTS = {
    "Begin": [
        "getting_started",
        "which_tool",
        "notebooks/first_program",
        "notebooks/from_tensorflow",
        "notebooks/many_workers",
        "notebooks/model_in_parts",
    ],
    "Guides": [
        *(
            "keras_fit",
            "custom_loops",
            "jax_libraries",
            "estimator",
            "strategies",
            "large_models",
            "many_workers",
            "parameter_servers",
            "laptop_to_pod",
            "saving",
            "checkpoints",
            "serving",
            "summaries",
        ),
        *("data", "input_files", "recipes", "costs", "troubleshooting"),
    ],
    "From TensorFlow": ["compatibility", "from_tensorflow1", "programs/README"],
    "Reference": [
        *(
            "reference/stratax",
            "reference/stratax.cluster",
            "reference/stratax.data",
            "reference/stratax.distribute",
        ),
        *("reference/stratax.estimator", "reference/stratax.estimator.tpu", "reference/stratax.summary"),
        *(
            "reference/stratax.train",
            "reference/stratax.export",
            "reference/stratax.serving",
            "reference/stratax.tpu",
        ),
        *("reference/stratax.errors", "reference/command_line", "glossary", "benchmarks"),
    ],
    "The project": ["architecture", "project/contributing", "project/changelog"],
}
"""What the site's side bar lists."""

PROGRAMS = ["distributed_training_guide", "tpu_estimator", "custom_estimator_on_tpu", "use_tpus", "cloud_tpu"]

# Pages of the repository that lie outside of this folder, and where the site shows them.
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}

project = "Stratax"
author = "the developers of Stratax"
project_copyright = author
release = version = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["_build"]
# A notebook holds what it has shown; the tests run it again.
nb_execution_mode = "off"
myst_heading_anchors = 4

autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# A signature that is longer has a line for each argument.
python_maximum_signature_line_length = 100
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# "The packs: for each, ..." is a sentence, not a type and what it is.
napoleon_use_rtype = False

# Only what one would run: no prompts, and no output of it.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_static_path = ["static"]
html_css_files = ["tables.css"]
html_theme = "furo"
html_title = f"Stratax {version}"


def setup(app: Sphinx) -> None:
    """Have pages prepared before they are read."""
    app.connect("source-read", _prepare)
    app.connect("autodoc-process-docstring", _mark_code)


def _prepare(app: Sphinx, page: str, source: list[str]) -> None:
    if page == root_doc:
        source[0] += "".join(_contents(part, pages) for part, pages in PARTS.items())
    if page == "programs/README":
        source[0] += _contents("Programs", PROGRAMS)
    if page == "reference/command_line":
        source[0] += "".join(_commands(program, "stratax"))
    folder = os.path.dirname(page)
    for name, shown in ELSEWHERE.items():
        source[0] = re.sub(
            rf"\]\((?:\.\./)+{re.escape(name)}(?=[)#])", f"]({os.path.relpath(shown, folder)}", source[0]
        )


def _commands(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[str]:
    """Yield what a command and those below it say of themselves, each as a section."""
    # Wide enough that no option's text is broken into a narrow column, narrow enough for the page.
    context = click.Context(
        command, parent, info_name=path.rpartition(" ")[2], max_content_width=96, terminal_width=96
    )
    if parent is not None:
        yield f"\n{'#' * (path.count(' ') + 1)} {path}\n\n```text\n{command.get_help(context)}\n```\n"
    for name, each in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(each, f"{path} {name}", context)


def _mark_code(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    # The docstrings' single backticks are code, as in Markdown; what follows one directly, as a plural's s, is text.
    for index, line in enumerate(lines):
        lines[index] = re.sub(
            r"(?<!`)`([^`]+)`(?!`)(?=(\w?))", lambda found: f"``{found[1]}``" + "\\ " * bool(found[2]), line
        )


def _contents(part: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {part}", "", *pages, "```", ""])
