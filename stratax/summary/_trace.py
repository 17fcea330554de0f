"""Profiles for TensorBoard's profile page, from JAX' profiler (summary layer)."""

import dataclasses
import os
import tempfile
import threading
import warnings

import jax

from stratax import io as files
from stratax.base.callers import stack_level
from stratax.core import regions
from stratax.errors import BadArgumentError
from stratax.io import FileName


@dataclasses.dataclass(frozen=True, slots=True)
class _Trace:
    """A trace that is running.

    Attributes:
        profile: Where JAX' profiler puts what it has recorded, if it runs.
        outdir: Where that is to go, if it was said at the start.
    """

    profile: "tempfile.TemporaryDirectory[str] | None"
    outdir: str | None


class _Traces:
    """The trace of this process: JAX has one profiler."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current: _Trace | None = None


_TRACES = _Traces()


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: FileName | None = None) -> None:
    """Begin to record what the devices and the host do, as `tf.summary.trace_on`.

    Args:
        graph: Accepted, and nothing is recorded for it: there is no graph of TensorFlow. What is compiled is seen by
            `function.jaxpr(...)`.
        profiler: Whether to run JAX' profiler.
        profiler_outdir: Where its profile goes; may be said in :func:`trace_export` as well.

    Example:
        >>> import tempfile
        >>> import stratax as sx
        >>> logdir = tempfile.mkdtemp()
        >>> sx.summary.trace_on(profiler=True)
        >>> sx.summary.trace_export("step", step=0, profiler_outdir=logdir)
    """
    if not _is_eager("trace_on"):
        return
    outdir = None if profiler_outdir is None else files.as_file_name(profiler_outdir)
    with _TRACES.lock:
        if _TRACES.current is not None:
            warnings.warn(
                "A trace is recorded already: `trace_on` changes nothing.", stacklevel=stack_level()
            )
            return
        folder = tempfile.TemporaryDirectory(prefix="stratax-profile-") if profiler else None
        if folder is not None:
            try:
                jax.profiler.start_trace(folder.name)
            except BaseException:
                folder.cleanup()
                raise
        _TRACES.current = _Trace(folder, outdir)


def trace_export(name: str, step: object = None, profiler_outdir: FileName | None = None) -> None:
    """End the trace and write its profile where TensorBoard's profile page looks, as `tf.summary.trace_export`.

    Args:
        name: Ignored: a profile is named by its time.
        step: Ignored.
        profiler_outdir: The folder that TensorBoard reads; the profile goes to `plugins/profile` in it.

    Raises:
        BadArgumentError: If there is no trace, or no folder for its profile.
        FileAccessError: If the profile can't be written.
    """
    if not _is_eager("trace_export"):
        return
    with _TRACES.lock:
        trace = _TRACES.current
        if trace is None:
            raise BadArgumentError("There is no trace to export. Expected: `trace_on` before `trace_export`.")
        outdir = trace.outdir if profiler_outdir is None else files.as_file_name(profiler_outdir)
        if trace.profile is not None and outdir is None:
            raise BadArgumentError(
                "The profile has no folder to go to. Expected: profiler_outdir to be the folder that TensorBoard "
                "reads, in `trace_on` or `trace_export`. Received: profiler_outdir=None."
            )
        _TRACES.current = None
    if trace.profile is not None and outdir is not None:
        with trace.profile as folder:
            jax.profiler.stop_trace()
            _copy(folder, outdir)


def trace_off() -> None:
    """End the trace and forget what it recorded, as `tf.summary.trace_off`; does nothing where there is none."""
    with _TRACES.lock:
        trace, _TRACES.current = _TRACES.current, None
    if trace is not None and trace.profile is not None:
        with trace.profile:
            jax.profiler.stop_trace()


def _is_eager(name: str) -> bool:
    if regions.executing_eagerly():
        return True
    warnings.warn(
        f"`{name}` does nothing inside a compiled function. Call it outside.", stacklevel=stack_level()
    )
    return False


def _copy(source: str, target: str) -> None:
    for folder, _, names in os.walk(source):
        parts = os.path.relpath(folder, source).split(os.sep)
        into = files.join(target, *(part for part in parts if part != "."))
        if names:
            files.make_folder(into)
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                files.write_file(files.join(into, name), file.read())
