"""How the pages become a site: `make docs`. The pages themselves are plain Markdown, to be read without the site too."""

import os
import re
import sys

from sphinx.application import Sphinx

sys.path.insert(0, os.path.abspath(".."))

from stratax import __version__

PARTS = {
    "Begin": [
        "getting_started",
        "which_tool",
        "notebooks/first_program",
        "notebooks/from_tensorflow",
        "notebooks/many_workers",
    ],
    "Guides": [
        *(
            "keras_fit",
            "custom_loops",
            "jax_libraries",
            "estimator",
            "strategies",
            "many_workers",
            "parameter_servers",
            "laptop_to_pod",
            "saving",
            "checkpoints",
            "serving",
            "summaries",
        ),
        *("data", "input_files", "recipes", "troubleshooting"),
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
        *("reference/stratax.train", "reference/stratax.export", "glossary", "benchmarks"),
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

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["_build"]
# A notebook holds what it has shown; the tests run it again.
nb_execution_mode = "off"
myst_heading_anchors = 4

autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# "The packs: for each, ..." is a sentence, not a type and what it is.
napoleon_use_rtype = False

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
    folder = os.path.dirname(page)
    for name, shown in ELSEWHERE.items():
        source[0] = re.sub(
            rf"\]\((?:\.\./)+{re.escape(name)}(?=[)#])", f"]({os.path.relpath(shown, folder)}", source[0]
        )


def _mark_code(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    # The docstrings' single backticks are code, as in Markdown; what follows one directly, as a plural's s, is text.
    for index, line in enumerate(lines):
        lines[index] = re.sub(
            r"(?<!`)`([^`]+)`(?!`)(?=(\w?))", lambda found: f"``{found[1]}``" + "\\ " * bool(found[2]), line
        )


def _contents(part: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {part}", "", *pages, "```", ""])
