from stratax.summary import flush as flush

from ._contrib_summary import all_summary_ops as all_summary_ops
from ._contrib_summary import always_record_summaries as always_record_summaries
from ._contrib_summary import audio as audio
from ._contrib_summary import create_file_writer as create_file_writer
from ._contrib_summary import generic as generic
from ._contrib_summary import histogram as histogram
from ._contrib_summary import image as image
from ._contrib_summary import initialize as initialize
from ._contrib_summary import never_record_summaries as never_record_summaries
from ._contrib_summary import record_summaries_every_n_global_steps as record_summaries_every_n_global_steps
from ._contrib_summary import scalar as scalar
from ._contrib_summary import should_record_summaries as should_record_summaries
from ._contrib_summary import summary_writer_initializer_op as summary_writer_initializer_op
