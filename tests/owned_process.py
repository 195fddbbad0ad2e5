"""A process of a test."""

import subprocess
from types import TracebackType
from typing import AnyStr


class OwnedProcess(subprocess.Popen[AnyStr]):
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

    def end(self) -> None:
        """Kill it if it still runs, and let go of its pipes, which its children may hold."""
        self.kill()
        super().__exit__(None, None, None)
