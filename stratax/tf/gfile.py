"""`tf.gfile`: files and folders, under TensorFlow 1's names (tf layer)."""

from stratax.data import glob as Glob
from stratax.io.gfile import GFile as FastGFile
from stratax.io.gfile import GFile as GFile
from stratax.io.gfile import GFile as Open
from stratax.io.gfile import copy as Copy
from stratax.io.gfile import exists as Exists
from stratax.io.gfile import isdir as IsDirectory
from stratax.io.gfile import listdir as ListDirectory
from stratax.io.gfile import makedirs as MakeDirs
from stratax.io.gfile import mkdir as MkDir
from stratax.io.gfile import remove as Remove
from stratax.io.gfile import rename as Rename
from stratax.io.gfile import rmtree as DeleteRecursively
from stratax.io.gfile import stat as Stat
from stratax.io.gfile import walk as Walk
from stratax.tf._names import missing_name

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
__getattr__ = missing_name(__name__, __all__)
