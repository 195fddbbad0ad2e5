"""Which log: one container instance of one pod."""

import msgspec


class Target(msgspec.Struct, frozen=True):
    """One container instance and what its lines are labelled with.

    Attributes:
        pod: name of the pod.
        container: name of the container.
        instance: containerID; with pod and container it is the identity of the log, since a
            restarted container keeps its name.
        role: role of the pod in the job, such as `worker`, or "".
        rank: global rank, or None where the role has none.
        restart: how many instances of this container came before.
        namespace: of the pod.
        uid: of the pod.
    """

    pod: str
    container: str
    instance: str
    role: str = ""
    rank: int | None = None
    restart: int = 0
    namespace: str = ""
    uid: str = ""

    @property
    def name(self) -> str:
        """`POD/CONTAINER`, with the restart count when there was one; for messages."""
        again = f" (restart {self.restart})" if self.restart else ""
        return f"{self.pod}/{self.container}{again}"
