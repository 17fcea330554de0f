"""Curves are drawn with a mark for each slice that a program fits."""

import xml.etree.ElementTree as ET

from stratax.cli import _curves
from stratax.command.rehearsal import plan
from tests.command.rehearsal.test_plan import failed, report

SVG = "{http://www.w3.org/2000/svg}"


def drawn(reports, name="train.py"):
    return ET.fromstring(_curves.as_svg(plan(reports, {}), name))


def texts(picture):
    return [text.text for text in picture.iter(f"{SVG}text")]


def test_each_slice_has_a_mark_that_tells_what_holds_it_up():
    few = drawn([report("v5e-8", 0.1)])
    more = drawn([report("v5e-8", 0.1), report("v5e-16", 0.1), failed("v5e-32")])

    def marks(picture):
        return len(list(picture.iter(f"{SVG}circle")))

    # One for each of the two panels; the legend has one itself.
    assert (marks(few), marks(more)) == (3, 5)
    assert any("does not fit v5e:4x8" in text for text in texts(more))


def test_axes_are_marked_with_powers_that_hold_all_points():
    found = texts(drawn([report("v5e-8", 0.1), report("v5e-64", 0.1)]))
    assert {"8", "16", "32", "64", "1 K", "10 K", "100 K"} <= set(found)


def test_names_are_escaped_and_nothing_fitting_is_a_picture_too():
    found = texts(drawn([report("v5e-8", 0.1)], name='<a> & "b".py'))
    assert '<a> & "b".py: examples per second' in found
    assert any("does not fit v5e:2x4" in text for text in texts(drawn([failed("v5e-8")])))
