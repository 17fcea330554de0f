"""Collectives are read from what XLA prints: kinds, bytes, groups, and how often they run."""

from stratax.command.rehearsal import collectives_of

ENTRY = """HloModule jit_call, is_scheduled=true

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

ENTRY %main.1_spmd (p: f32[8]) -> f32[8] {
  %p = f32[8]{0:T(256)} parameter(0)
OPERATIONS
}
"""


def found(*operations):
    text = ENTRY.replace("OPERATIONS", "\n".join(f"  {line}" for line in operations))
    return [(each.kind, each.bytes, each.group, each.times) for each in collectives_of(text)]


def test_a_packed_all_reduce_counts_all_of_its_arrays():
    line = (
        "%all-reduce = (f32[906]{0:T(1024)S(1)}, bf16[28800,10]{0,1:T(8,128)S(1)}, pred[4]{0:T(128)}) "
        "all-reduce(%a, %b, %c), channel_id=1, replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add"
    )
    assert found(line) == [("all-reduce", 906 * 4 + 288000 * 2 + 4, 8, 1)]


def test_elements_that_are_taken_of_a_result_are_no_collectives():
    line = "%get-tuple-element.21 = f32[906]{0} get-tuple-element(%all-reduce), index=0"
    assert found(line) == []


def test_collectives_that_run_meanwhile_count_once():
    start = "%s = (f32[4]{0}, f32[32]{0}) all-gather-start(%p), replica_groups=[1,8]<=[8], dimensions={0}"
    done = "%d = f32[32]{0} all-gather-done(%s)"
    assert found(start, done) == [("all-gather", 128, 8, 1)]


def test_a_permutation_counts_what_is_sent_and_not_what_is_kept_meanwhile():
    line = (
        "%s = (f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%p), "
        "source_target_pairs={{0,1},{1,0}}"
    )
    assert found(line) == [("collective-permute", 16, 0, 1)]


def test_of_a_scatter_the_whole_is_counted():
    line = "%r = f32[4]{0} reduce-scatter(%p), replica_groups={{0,1},{2,3}}, to_apply=%add"
    assert found(line) == [("reduce-scatter", 32, 2, 1)]


def test_groups_may_be_axes_of_a_mesh():
    mesh = "replica_groups=mesh['a'=2,'b'=8,'c'=1]"
    gather = (
        "%g = f32[16]{0} all-gather(%p), channel_id=2, GROUPS, dimensions={0}, use_global_device_ids=true"
    )
    assert found(gather.replace("GROUPS", f"{mesh} {{'b'}}")) == [("all-gather", 64, 8, 1)]
    assert found(gather.replace("GROUPS", f"{mesh} {{'a','b'}}")) == [("all-gather", 64, 16, 1)]
    assert found(gather.replace("GROUPS", f"{mesh} {{'b':(2)4}}")) == [("all-gather", 64, 4, 1)]


LOOP = """%body (s: (f32[8])) -> (f32[8]) {
  %sum = f32[8]{0} all-reduce(%g), replica_groups={{0,1}}, to_apply=%add
}

%test (s: (f32[8])) -> pred[] {
  ROOT %c = pred[] constant(true)
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %w = (f32[8]{0}) while(%t), condition=%test, body=%bodyTRIPS
  ROOT %again = f32[8]{0} all-reduce(%w), replica_groups={{0,1}}, to_apply=%add
}
"""


def test_what_a_loop_does_runs_as_often_as_is_known():
    text = LOOP.replace("TRIPS", ', backend_config={"known_trip_count":{"n":"5"}}')
    assert [each.times for each in collectives_of(text)] == [5, 1]
    assert [each.times for each in collectives_of(LOOP.replace("TRIPS", ""))] == [None, 1]


def test_branches_and_what_runs_meanwhile_are_looked_into():
    text = """%one (p: f32[2]) -> f32[2] {
  ROOT %s = f32[2]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%add
}

%two (p: f32[2]) -> f32[2] {
  ROOT %a = f32[2]{0} async-start(%p), calls=%one
}

ENTRY %main (p: f32[2]) -> f32[2] {
  ROOT %c = f32[2]{0} conditional(%i, %p, %p), branch_computations={%one, %two}
}
"""
    assert len(collectives_of(text)) == 2


def test_text_without_a_program_has_no_collectives():
    assert collectives_of("") == []


def test_a_collective_says_what_it_is_called_and_whether_something_else_goes_on():
    name = 'metadata={op_name="jit(f)/jvp(model)/up/kernel/all_gather" stack_frame_id=2}'
    lines = [
        f"%g = bf16[8]{{0}} all-gather(%p), replica_groups={{{{0,1}}}}, dimensions={{0}}, {name}",
        "%s = (f32[4]{0}, f32[8]{0}) all-gather-start(%p), replica_groups={{0,1}}, dimensions={0}",
        'ROOT %d = f32[8]{0} dot(%g, %g), metadata={op_name="jit(f)/model/up/dot"}',
        "%e = f32[8]{0} bitcast(%d)",
        "%r = f32[8]{0} all-reduce(%e), replica_groups={{0,1}}, to_apply=%add",
        "%t = (f32[8]{0}, f32[2]{0}) all-reduce(%p, %p), replica_groups={{0,1}}, to_apply=%add",
    ]
    text = ENTRY.replace("OPERATIONS", "\n".join(f"  {line}" for line in lines))
    gather, start, summed, several = collectives_of(text)
    assert (gather.dtype, gather.elements, gather.overlaps) == ("bfloat16", 8, False)
    assert gather.operation == "jit(f)/jvp(model)/up/kernel/all_gather"
    assert (start.elements, start.overlaps, start.operation) == (8, True, "")
    # The compiler drops the names of sums: what they are of has one.
    assert summed.operation == "jit(f)/model/up/dot"
    assert several.elements == 0
