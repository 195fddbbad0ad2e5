"""dlf as the platform starts it: a process with a launcher's environment and credentials."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .workspace import Workspace

PROJECT = Path(__file__).parents[2]


@contextmanager
def launched(
    workspace: Workspace, framework: str, *flags: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """Run `dlf FRAMEWORK FLAGS`, with pods small enough for any node; end it with the block."""
    platform = {
        "KFJ_NAMESPACE": workspace.namespace,
        "KFJ_PIPELINE_NAME": "digits",
        "KFJ_RUN_ID": "run-1",
        "KFJ_TASK_ID": "7",
        "KFJ_TASK_NAME": "train",
        "KFJ_CREATOR": "alice",
        "KFJ_TASK_RESOURCE_CPU": "0.1",
        "KFJ_TASK_RESOURCE_MEMORY": "256Mi",
        "KUBECONFIG": str(workspace.kubeconfig),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "dlf", framework, *flags],
        cwd=PROJECT,
        env=os.environ | platform | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as dlf:
        try:
            yield dlf
        finally:
            dlf.kill()


def finished(
    workspace: Workspace, framework: str, *flags: str, **environment: str
) -> tuple[int, dict[str, list[str]], str]:
    """Run dlf to its end; return its exit code, each pod's lines, and what it said itself."""
    with launched(workspace, framework, *flags, **environment) as dlf:
        output, errors = dlf.communicate()
    return dlf.returncode, messages(output), errors


def messages(output: str) -> dict[str, list[str]]:
    """Return each pod's lines, by `master-0`, `worker-0`, ...: job names end in random letters."""
    messages: dict[str, list[str]] = {}
    for line in output.splitlines():
        pod, _, message = line.partition(" ")
        messages.setdefault("-".join(pod.split("-")[-2:]), []).append(message)
    return messages
