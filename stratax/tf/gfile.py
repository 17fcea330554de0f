"""`tf.gfile`: files and folders, under TensorFlow 1's names (tf layer)."""

from stratax.data import glob as Glob
from stratax.data.files.gfile import GFile as FastGFile
from stratax.data.files.gfile import GFile as GFile
from stratax.data.files.gfile import GFile as Open
from stratax.data.files.gfile import copy as Copy
from stratax.data.files.gfile import exists as Exists
from stratax.data.files.gfile import isdir as IsDirectory
from stratax.data.files.gfile import listdir as ListDirectory
from stratax.data.files.gfile import makedirs as MakeDirs
from stratax.data.files.gfile import mkdir as MkDir
from stratax.data.files.gfile import remove as Remove
from stratax.data.files.gfile import rename as Rename
from stratax.data.files.gfile import rmtree as DeleteRecursively
from stratax.data.files.gfile import stat as Stat
from stratax.data.files.gfile import walk as Walk
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
