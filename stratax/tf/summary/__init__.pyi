"""`tf.summary`: values for TensorBoard (tf layer)."""

from stratax.summary import SummaryWriter as SummaryWriter
from stratax.summary import audio as audio
from stratax.summary import create_file_writer as create_file_writer
from stratax.summary import create_noop_writer as create_noop_writer
from stratax.summary import flush as flush
from stratax.summary import histogram as histogram
from stratax.summary import image as image
from stratax.summary import record_if as record_if
from stratax.summary import scalar as scalar
from stratax.summary import should_record_summaries as should_record_summaries
from stratax.summary import text as text
from stratax.summary import trace_export as trace_export
from stratax.summary import trace_off as trace_off
from stratax.summary import trace_on as trace_on
from stratax.summary import write as write
from stratax.tensorflow.v1.summary import FileWriter as FileWriter
from stratax.tensorflow.v1.summary import FileWriterCache as FileWriterCache
from stratax.tensorflow.v1.summary import Summary as Summary
from stratax.tensorflow.v1.summary import merge as merge
from stratax.tensorflow.v1.summary import merge_all as merge_all

from . import experimental as experimental
