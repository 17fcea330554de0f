from ._checks import check_hooks as check_hooks
from ._checks import check_listeners as check_listeners
from ._listener import CheckpointSaverListener as CheckpointSaverListener
from ._session_run_hook import Session as Session
from ._session_run_hook import SessionRunArgs as SessionRunArgs
from ._session_run_hook import SessionRunContext as SessionRunContext
from ._session_run_hook import SessionRunHook as SessionRunHook
from ._session_run_hook import SessionRunValues as SessionRunValues
