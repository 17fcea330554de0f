"""A picture that can't be written is told, and all else is shown."""

from stratax.cli import plots


def test_a_picture_that_fails_loses_no_table(tmp_path):
    problems = []
    plots.write_plot(tmp_path, "<svg/>", problems)
    assert problems[0].startswith("The picture could not be written")
    plots.write_plot(tmp_path / "drawn.svg", "<svg/>", [])
    assert (tmp_path / "drawn.svg").read_text() == "<svg/>"
