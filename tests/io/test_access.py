"""Files as streams of bytes: of this machine, of other file systems, compressed."""

import fsspec
import pytest

from stratax.data import ParquetDataset, TFRecordWriter, glob
from stratax.errors import BadArgumentError, BadTypeError, MissingPackageError
from stratax.io import as_file_name, open_bytes
from stratax.io._access import local_path


def test_names_are_texts_or_paths(tmp_path):
    assert as_file_name(b"a") == as_file_name("a") == "a"
    assert local_path(f"file://{tmp_path}") == local_path(str(tmp_path)) == str(tmp_path)
    assert local_path("gs://bucket/a") is local_path("simplecache::gs://bucket/a") is None
    assert local_path("a::b") == "a::b"
    with pytest.raises(BadTypeError, match="string or a path.*3 of type int"):
        as_file_name(3)
    with pytest.raises(BadArgumentError, match="no zero byte in it"):
        as_file_name("a\0b")


@pytest.mark.parametrize("use", ["read", "list", "write", "parquet"])
@pytest.mark.parametrize(
    ("url", "kind", "message"),
    [
        ("nope://x/y", BadArgumentError, "of no kind that fsspec opens.*'nope://x/y.*Protocol not known"),
        (
            "nopackage://x/y",
            MissingPackageError,
            "need a package that is not installed.*'nopackage://x/y.*pip",
        ),
    ],
)
def test_urls_that_nothing_opens_are_reported(use, url, kind, message):
    fsspec.register_implementation(
        "nopackage", "no_such_package.FileSystem", errtxt="install it", clobber=True
    )
    uses = {
        "read": lambda: open_bytes(url),
        "list": lambda: glob(url + "*"),
        "write": lambda: TFRecordWriter(url),
        "parquet": lambda: list(ParquetDataset(url)),
    }
    with pytest.raises(kind, match=message):
        uses[use]()
