"""`tf.contrib.slim.parallel_reader`: the files that patterns name."""

from collections.abc import Sequence

from stratax import errors
from stratax.base.shown import shown
from stratax.data import glob


def get_data_files(data_sources: str | Sequence[str]) -> list[str]:
    """Return the files of patterns, as `tf.contrib.slim.parallel_reader.get_data_files`.

    Args:
        data_sources: A path, a pattern such as `"data/train-*"`, or a list of them.

    Raises:
        BadArgumentError: If there are none.
    """
    if not isinstance(data_sources, str):
        return [each for source in data_sources for each in get_data_files(source)]
    is_pattern = any(mark in data_sources for mark in "*?[")
    files = list(glob(data_sources)) if is_pattern else [data_sources]
    if not files:
        raise errors.BadArgumentError(f"No data files found in {shown(data_sources)}")
    return files
