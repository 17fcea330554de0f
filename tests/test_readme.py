import os
import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
TEXT = README.read_text()


def test_the_readme_is_short_and_its_code_is_near_the_top():
    lines = TEXT.splitlines()
    assert len(lines) <= 150
    assert lines.index("stratax run program.py      # its `import tensorflow` gives Stratax") < 25
    assert lines.index("```", lines.index("```python")) < 36


def test_every_file_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []


@pytest.mark.programs
def test_a_process_runs_the_readme_with_no_extra_and_learns(tmp_path):
    program = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    # What only the extras bring can't be imported.
    extras = "import sys\nsys.modules.update(dict.fromkeys(['sklearn', 'PIL', 'pyarrow', 'tensorboard']))\n"
    check = "\nassert model.evaluate(points, in_circle, verbose=0)[1] > 0.9"
    done = subprocess.run(
        [sys.executable, "-c", extras + program + check],
        env=os.environ | {"STRATAX_SIMULATE": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
