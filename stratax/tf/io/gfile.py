"""`tf.io.gfile`: files and folders, here or at a URL (tf layer)."""

from stratax.data import glob as glob
from stratax.data.files.gfile import GFile as GFile
from stratax.data.files.gfile import copy as copy
from stratax.data.files.gfile import exists as exists
from stratax.data.files.gfile import isdir as isdir
from stratax.data.files.gfile import join as join
from stratax.data.files.gfile import listdir as listdir
from stratax.data.files.gfile import makedirs as makedirs
from stratax.data.files.gfile import mkdir as mkdir
from stratax.data.files.gfile import remove as remove
from stratax.data.files.gfile import rename as rename
from stratax.data.files.gfile import rmtree as rmtree
from stratax.data.files.gfile import stat as stat
from stratax.data.files.gfile import walk as walk
from stratax.tf._names import missing_name

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]
__getattr__ = missing_name(__name__, __all__)
