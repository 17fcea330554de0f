"""Bytes to and from a device's memory, as a compiled program's text tells them."""

import pytest

from stratax.command.rehearsal._traffic import count_repeated, traffic_of

# A matrix of 64 x 128 floats is 32 KiB, a row of it 512 bytes.
MATRIX, ROW = 32768, 512


def text_of(entry, *computations):
    lines = "\n".join(f"  {line}" for line in entry)
    return "\n".join([*computations, f"ENTRY %main (p: f32[64,128]) -> f32[64,128] {{\n{lines}\n}}"])


def of(entry, *computations, steps=1):
    return traffic_of(text_of(entry, *computations), steps)


P = "%p = f32[64,128]{1,0:T(8,128)} parameter(0)"


def test_operands_are_read_and_results_written():
    assert of([P, "ROOT %a = f32[64,128]{1,0} add(%p, %p)"]) == 3 * MATRIX
    assert of([P, "ROOT %b = f32[8192]{0} bitcast(%p)"]) == 0
    assert of([P, "%n = f32[64,128]{1,0} negate(%p)", "ROOT %t = (f32[64,128]{1,0}) tuple(%n)"]) == 2 * MATRIX


def test_what_stays_on_the_chip_costs_nothing():
    kept = "%n = f32[64,128]{1,0:T(8,128)S(1)} negate(%p)"
    assert of([P, kept, "ROOT %a = f32[64,128]{1,0:T(8,128)} add(%n, %n)"]) == 2 * MATRIX
    assert of([P, kept, "ROOT %a = f32[64,128]{1,0:T(8,128)S(3)} add(%n, %n)"]) == MATRIX


def test_copies_in_the_background_count_where_they_begin():
    start = "%s = (f32[64,128]{1,0:S(1)}, f32[64,128]{1,0}, u32[]{:S(2)}) copy-start(%p)"
    done = "ROOT %d = f32[64,128]{1,0:S(1)} copy-done(%s)"
    assert of([P, start, done]) == MATRIX
    sliced = "%s = ((f32[64,128]{1,0}), f32[8,128]{1,0:S(1)}, s32[]{:S(2)}) slice-start(%p), slice={[0:8], [0:128]}"
    assert of([P, sliced, "ROOT %d = f32[8,128]{1,0:S(1)} slice-done(%s)"]) == 8 * ROW


def test_a_fusion_reads_only_the_rows_that_it_takes():
    inside = """%rows (q: f32[64,128], i: s32[]) -> f32[1,128] {
  %q = f32[64,128]{1,0} parameter(0)
  %i = s32[]{:S(6)} parameter(1)
  %r = f32[1,128]{1,0} dynamic-slice(%q, %i, %i), dynamic_slice_sizes={1,128}
  ROOT %n = f32[1,128]{1,0} negate(%r)
}"""
    i = "%i = s32[]{:S(6)} parameter(1)"
    assert of([P, i, "ROOT %f = f32[1,128]{1,0} fusion(%p, %i), kind=kLoop, calls=%rows"], inside) == 2 * ROW
    whole = inside.replace("negate(%r)", "add(%r, %q)")
    assert (
        of([P, i, "ROOT %f = f32[1,128]{1,0} fusion(%p, %i), kind=kLoop, calls=%rows"], whole) == ROW + MATRIX
    )


def test_fusions_within_fusions_that_rename_are_looked_through():
    inside = """%name (b: f32[64,128]) -> f32[64,128] {
  %b = f32[64,128]{1,0} parameter(0)
  ROOT %c = f32[64,128]{1,0} bitcast(%b)
}
%rows (q: f32[64,128]) -> f32[1,128] {
  %q = f32[64,128]{1,0} parameter(0)
  %c = f32[64,128]{1,0} fusion(%q), kind=kLoop, calls=%name
  ROOT %r = f32[1,128]{1,0} slice(%c), slice={[0:1], [0:128]}
}"""
    assert of([P, "ROOT %f = f32[1,128]{1,0} fusion(%p), kind=kLoop, calls=%rows"], inside) == 2 * ROW


def test_arrays_that_are_changed_in_place_count_with_what_is_new():
    inside = """%put (q: f32[64,128], u: f32[1,128], i: s32[]) -> f32[64,128] {
  %q = f32[64,128]{1,0} parameter(0)
  %u = f32[1,128]{1,0} parameter(1)
  %i = s32[]{:S(6)} parameter(2)
  ROOT %r = f32[64,128]{1,0} dynamic-update-slice(%q, %u, %i, %i)
}"""
    others = ["%u = f32[1,128]{1,0} parameter(1)", "%i = s32[]{:S(6)} parameter(2)"]
    fused = "ROOT %f = f32[64,128]{1,0} fusion(%p, %u, %i), kind=kLoop, calls=%put"
    assert of([P, *others, fused], inside) == 2 * ROW
    plain = "ROOT %f = f32[64,128]{1,0} dynamic-update-slice(%p, %u, %i, %i)"
    assert of([P, *others, plain]) == 2 * ROW
    # Read, added to, written; and the rows to add.
    added = inside.replace("dynamic-update-slice(%q, %u, %i, %i)", "scatter(%q, %i, %u)")
    assert of([P, *others, fused], added) == 3 * ROW


def test_loops_count_as_often_as_is_known_and_of_branches_the_largest():
    loop = """%body (t: (f32[64,128])) -> (f32[64,128]) {
  %t = (f32[64,128]{1,0}) parameter(0)
  %g = f32[64,128]{1,0} get-tuple-element(%t), index=0
  %n = f32[64,128]{1,0} negate(%g)
  ROOT %u = (f32[64,128]{1,0}) tuple(%n)
}"""
    entry = [P, "%t = (f32[64,128]{1,0}) tuple(%p)"]
    ran = "ROOT %w = (f32[64,128]{1,0}) while(%t), condition=%more, body=%body"
    assert of([*entry, ran], loop) == 2 * MATRIX
    known = ran + ', backend_config={"known_trip_count":{"n":"5"}}'
    assert of([*entry, known], loop) == 10 * MATRIX
    # Steps count once.
    assert of([*entry, known], loop, steps=5) == 2 * MATRIX
    none = "%none (t: (f32[64,128])) -> (f32[64,128]) {\n  ROOT %t = (f32[64,128]{1,0}) parameter(0)\n}"
    chosen = "ROOT %c = (f32[64,128]{1,0}) conditional(%i, %t, %t), branch_computations={%none, %body}"
    index = "%i = s32[]{:S(6)} parameter(1)"
    assert of([*entry, index, chosen], loop, none) == 2 * MATRIX


def test_reserving_memory_moves_nothing():
    reserved = '%c = f32[64,128]{1,0} custom-call(), custom_call_target="AllocateBuffer"'
    assert of([P, reserved, "ROOT %d = f32[64,128]{1,0} add(%p, %c)"]) == 3 * MATRIX


def test_products_of_loops_count_as_often_as_is_known():
    square = """%body (t: (f32[64,64])) -> (f32[64,64]) {
  %t = (f32[64,64]{1,0}) parameter(0)
  %g = f32[64,64]{1,0} get-tuple-element(%t), index=0
  %n = f32[64,64]{1,0} dot(%g, %g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %u = (f32[64,64]{1,0}) tuple(%n)
}"""
    entry = [
        "%p = f32[64,64]{1,0} parameter(0)",
        "%d = f32[64,64]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "%t = (f32[64,64]{1,0}) tuple(%d)",
        "ROOT %w = (f32[64,64]{1,0}) while(%t), condition=%more, body=%body, "
        'backend_config={"known_trip_count":{"n":"5"}}',
    ]
    text = text_of(entry, square)
    assert count_repeated(text) == pytest.approx(6 / 2)
    assert count_repeated(text, steps=5) == 1.0
    assert count_repeated(text_of([P])) == 1.0
