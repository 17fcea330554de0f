"""`CheckpointLoadStatus`: what became of a checkpoint's values (checkpoint layer)."""

from stratax import errors
from stratax.checkpoint._restoration import Restoration, listing


class CheckpointLoadStatus:
    """What `Checkpoint.restore` returns, to check what was restored.

    Args:
        restoration: What is restored; None if there was no checkpoint.
    """

    def __init__(self, restoration: Restoration | None) -> None:
        self._restoration = restoration

    def assert_consumed(self) -> "CheckpointLoadStatus":
        """Check that every saved value has its variable, and every variable its value.

        Returns:
            This status.

        Raises:
            RestoreError: If not; lists what is left. It is an `AssertionError` too, as in TensorFlow.
        """
        restoration = self._present()
        # A layer may have been built outside of Keras' hooks: looked for once more before anything is
        # reported.
        restoration.settle()
        if restoration.left:
            raise errors.RestoreError(
                "Saved values were not restored: there are no such variables (yet). Expected: every value in use. "
                f"Received: {listing(restoration.left)}. Build the model and the optimizer first, or leave this "
                "check out where they are built later."
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> "CheckpointLoadStatus":
        """Check that every variable that exists by now has got a value.

        Returns:
            This status.

        Raises:
            RestoreError: If not; lists the others.
        """
        restoration = self._present()
        restoration.settle()
        if unmatched := restoration.find_unmatched():
            raise errors.RestoreError(
                "Variables were not restored: the checkpoint has no values for them. Expected: one for every "
                f"variable. Received: {listing(unmatched)}."
            )
        return self

    def run_restore_ops(self, session: object = None) -> None:
        """Do nothing but check that there is a checkpoint: what exists has its values already.

        Args:
            session: Ignored.

        Raises:
            RestoreError: If there is none.
        """
        self._present()

    def initialize_or_restore(self, session: object = None) -> None:
        """Do nothing: variables have values from the beginning, and those of the checkpoint if it has some.

        Args:
            session: Ignored.
        """

    def assert_nontrivial_match(self) -> "CheckpointLoadStatus":
        """Check that anything at all was restored.

        Returns:
            This status.

        Raises:
            RestoreError: If nothing was.
        """
        if not self._present().num_given:
            raise errors.RestoreError(
                "Nothing was restored: no variable has a value in the checkpoint. Expected: the objects that were "
                f"saved, under the same names. Received: {listing(self._present().left)}."
            )
        return self

    def expect_partial(self) -> "CheckpointLoadStatus":
        """Say that values may be left, so that no warning tells of them at the end.

        Returns:
            This status.
        """
        if self._restoration is not None:
            self._restoration.expect_partial()
        return self

    def _present(self) -> Restoration:
        if self._restoration is None:
            raise errors.RestoreError(
                "There was no checkpoint to restore. Expected: a path. Received: save_path=None."
            )
        return self._restoration
