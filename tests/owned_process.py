"""A process of a test."""

import subprocess
from types import TracebackType


class OwnedProcess(subprocess.Popen[bytes]):
    """Its block waits for its end, unless the block fails: then it is killed.

    Otherwise the failure of a test whose process runs on would be told as a timeout.
    """

    def __exit__(  # type: ignore[explicit-override]
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.kill()
        super().__exit__(kind, error, traceback)
