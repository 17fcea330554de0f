"""`tf.gfile`: files and folders, under TensorFlow 1's names (tf layer)."""

import stratax.io.gfile
import stratax.tensorflow.checkpoints.listing
from stratax.io.gfile import GFile as GFile

Copy = stratax.tensorflow.checkpoints.listing.copy
DeleteRecursively = stratax.io.gfile.rmtree
Exists = stratax.tensorflow.checkpoints.listing.exists
FastGFile = stratax.io.gfile.GFile
Glob = stratax.tensorflow.checkpoints.listing.glob
IsDirectory = stratax.io.gfile.isdir
ListDirectory = stratax.tensorflow.checkpoints.listing.listdir
MakeDirs = stratax.io.gfile.makedirs
MkDir = stratax.io.gfile.mkdir
Open = stratax.io.gfile.GFile
Remove = stratax.tensorflow.checkpoints.listing.remove
Rename = stratax.tensorflow.checkpoints.listing.rename
Stat = stratax.io.gfile.stat
Walk = stratax.io.gfile.walk
