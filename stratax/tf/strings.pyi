from stratax.v1.strings import *

del string_to_hash_bucket
