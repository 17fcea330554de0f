"""`tf.io.gfile`: files and folders, here or at a URL (tf layer)."""

from stratax.io.gfile import GFile as GFile
from stratax.io.gfile import isdir as isdir
from stratax.io.gfile import join as join
from stratax.io.gfile import makedirs as makedirs
from stratax.io.gfile import mkdir as mkdir
from stratax.io.gfile import rmtree as rmtree
from stratax.io.gfile import stat as stat
from stratax.io.gfile import walk as walk
from stratax.tensorflow.checkpoints.listing import copy as copy
from stratax.tensorflow.checkpoints.listing import exists as exists
from stratax.tensorflow.checkpoints.listing import glob as glob
from stratax.tensorflow.checkpoints.listing import listdir as listdir
from stratax.tensorflow.checkpoints.listing import remove as remove
from stratax.tensorflow.checkpoints.listing import rename as rename
