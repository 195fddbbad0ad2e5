"""The commands that follow the logs of the job: dlf, and what it is compared with."""

import shlex

from bench.objects import LABELS, NAMESPACE

TEMPLATE = r'{{.PodName}} {{.Message}}{{"\n"}}'  # stern as the old launchers ran it
STREAMS = "5000"  # more logs than any case has; stern exits at the 51st otherwise


def dlf(command: str, kubeconfig: str) -> list[str]:
    """`dlf logs`, as it is used."""
    logs = f"logs bench --kind PyTorchJob --namespace {NAMESPACE} --kubeconfig {kubeconfig}"
    return shlex.split(f"{command} {logs}")


def stern(path: str, kubeconfig: str, limit: str = STREAMS) -> list[str]:
    """stern with `POD MESSAGE`; an empty `limit` leaves its default of 50 logs."""
    flags = ["--max-log-requests", limit] if limit else []
    base = [path, ".", "-n", NAMESPACE, "--kubeconfig", kubeconfig, "--color", "never"]
    return [*base, "--template", TEMPLATE, *flags]


def kubectl(path: str, kubeconfig: str) -> list[str]:
    """kubectl for the job's pods that exist when it starts, all lines."""
    labels = ",".join(f"{key}={value}" for key, value in LABELS.items())
    base = [path, "logs", "-f", "--prefix", "-l", labels, "-n", NAMESPACE]
    return [*base, "--kubeconfig", kubeconfig, "--tail=-1", "--max-log-requests", STREAMS]
