"""Reading what dlf printed."""

LOCAL = ("pytorch", "--runtime", "local")


def printed(out: bytes) -> dict[str, list[str]]:
    """Pod name without the job's, such as `master-0`, to the lines that it printed."""
    pods: dict[str, list[str]] = {}
    for line in out.decode().splitlines():
        pod, _, message = line.partition(" ")
        pods.setdefault("-".join(pod.split("-")[2:]), []).append(message)
    return pods
