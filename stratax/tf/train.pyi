"""`tf.train`: the messages of Examples, clusters, and checkpoints (tf layer)."""

import stratax.tensorflow.estimator._monitored
import stratax.train
from stratax.cluster import ClusterSpec as ClusterSpec
from stratax.data import BytesList as BytesList
from stratax.data import Example as Example
from stratax.data import Feature as Feature
from stratax.data import FeatureList as FeatureList
from stratax.data import FeatureLists as FeatureLists
from stratax.data import Features as Features
from stratax.data import FloatList as FloatList
from stratax.data import Int64List as Int64List
from stratax.data import SequenceExample as SequenceExample
from stratax.distribute import Server as Server
from stratax.estimator import CheckpointSaverHook as CheckpointSaverHook
from stratax.estimator import CheckpointSaverListener as CheckpointSaverListener
from stratax.estimator import FeedFnHook as FeedFnHook
from stratax.estimator import FinalOpsHook as FinalOpsHook
from stratax.estimator import GlobalStepWaiterHook as GlobalStepWaiterHook
from stratax.estimator import LoggingTensorHook as LoggingTensorHook
from stratax.estimator import NanLossDuringTrainingError as NanLossDuringTrainingError
from stratax.estimator import NanTensorHook as NanTensorHook
from stratax.estimator import ProfilerHook as ProfilerHook
from stratax.estimator import Scaffold as Scaffold
from stratax.estimator import SecondOrStepTimer as SecondOrStepTimer
from stratax.estimator import SessionRunArgs as SessionRunArgs
from stratax.estimator import SessionRunContext as SessionRunContext
from stratax.estimator import SessionRunHook as SessionRunHook
from stratax.estimator import SessionRunValues as SessionRunValues
from stratax.estimator import StepCounterHook as StepCounterHook
from stratax.estimator import StopAtStepHook as StopAtStepHook
from stratax.estimator import SummarySaverHook as SummarySaverHook
from stratax.estimator import SyncReplicasOptimizer as SyncReplicasOptimizer
from stratax.estimator import VocabInfo as VocabInfo
from stratax.estimator import warm_start as warm_start
from stratax.tensorflow.estimator._monitored import ChiefSessionCreator as ChiefSessionCreator
from stratax.tensorflow.estimator._monitored import MonitoredSession as MonitoredSession
from stratax.tensorflow.estimator._monitored import MonitoredTrainingSession as MonitoredTrainingSession
from stratax.tensorflow.estimator._monitored import SingularMonitoredSession as SingularMonitoredSession
from stratax.tensorflow.estimator._monitored import Supervisor as Supervisor
from stratax.tensorflow.graph._coordinator import Coordinator as Coordinator
from stratax.tensorflow.graph._devices import replica_device_setter as replica_device_setter
from stratax.tensorflow.graph._graph_def import write_graph as write_graph
from stratax.tensorflow.graph._producers import batch as batch
from stratax.tensorflow.graph._producers import batch_join as batch_join
from stratax.tensorflow.graph._producers import input_producer as input_producer
from stratax.tensorflow.graph._producers import match_filenames_once as match_filenames_once
from stratax.tensorflow.graph._producers import maybe_batch as maybe_batch
from stratax.tensorflow.graph._producers import range_input_producer as range_input_producer
from stratax.tensorflow.graph._producers import shuffle_batch as shuffle_batch
from stratax.tensorflow.graph._producers import shuffle_batch_join as shuffle_batch_join
from stratax.tensorflow.graph._producers import slice_input_producer as slice_input_producer
from stratax.tensorflow.graph._producers import string_input_producer as string_input_producer
from stratax.tensorflow.graph._queues import QueueRunner as QueueRunner
from stratax.tensorflow.graph._queues import add_queue_runner as add_queue_runner
from stratax.tensorflow.graph._queues import start_queue_runners as start_queue_runners
from stratax.tensorflow.saved_models.loading import import_meta_graph as import_meta_graph
from stratax.tensorflow.v1.train import *
from stratax.train import Checkpoint as Checkpoint
from stratax.train import CheckpointManager as CheckpointManager
from stratax.train import CheckpointOptions as CheckpointOptions
from stratax.train import checkpoint_exists as checkpoint_exists
from stratax.train import checkpoints_iterator as checkpoints_iterator
from stratax.train import get_checkpoint_state as get_checkpoint_state
from stratax.train import latest_checkpoint as latest_checkpoint
from stratax.train import list_variables as list_variables
from stratax.train import load_checkpoint as load_checkpoint
from stratax.train import load_variable as load_variable

NewCheckpointReader = stratax.train.load_checkpoint

WorkerSessionCreator = stratax.tensorflow.estimator._monitored.ChiefSessionCreator
