"""`tf.contrib.seq2seq`: decoders, attention, beam search (tf layer)."""

from stratax.tensorflow.contrib._attention import AttentionMechanism as AttentionMechanism
from stratax.tensorflow.contrib._attention import AttentionWrapper as AttentionWrapper
from stratax.tensorflow.contrib._attention import AttentionWrapperState as AttentionWrapperState
from stratax.tensorflow.contrib._attention import BahdanauAttention as BahdanauAttention
from stratax.tensorflow.contrib._attention import LuongAttention as LuongAttention
from stratax.tensorflow.contrib._attention import hardmax as hardmax
from stratax.tensorflow.contrib._beam_search import BeamSearchDecoder as BeamSearchDecoder
from stratax.tensorflow.contrib._beam_search import BeamSearchDecoderOutput as BeamSearchDecoderOutput
from stratax.tensorflow.contrib._beam_search import BeamSearchDecoderState as BeamSearchDecoderState
from stratax.tensorflow.contrib._beam_search import (
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
)
from stratax.tensorflow.contrib._beam_search import gather_tree as gather_tree
from stratax.tensorflow.contrib._beam_search import tile_batch as tile_batch
from stratax.tensorflow.contrib._seq2seq import BasicDecoder as BasicDecoder
from stratax.tensorflow.contrib._seq2seq import BasicDecoderOutput as BasicDecoderOutput
from stratax.tensorflow.contrib._seq2seq import Decoder as Decoder
from stratax.tensorflow.contrib._seq2seq import dynamic_decode as dynamic_decode
from stratax.tensorflow.contrib._seq2seq import sequence_loss as sequence_loss
from stratax.tensorflow.contrib._seq2seq_helpers import CustomHelper as CustomHelper
from stratax.tensorflow.contrib._seq2seq_helpers import GreedyEmbeddingHelper as GreedyEmbeddingHelper
from stratax.tensorflow.contrib._seq2seq_helpers import Helper as Helper
from stratax.tensorflow.contrib._seq2seq_helpers import InferenceHelper as InferenceHelper
from stratax.tensorflow.contrib._seq2seq_helpers import SampleEmbeddingHelper as SampleEmbeddingHelper
from stratax.tensorflow.contrib._seq2seq_helpers import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
)
from stratax.tensorflow.contrib._seq2seq_helpers import TrainingHelper as TrainingHelper
