"""What was probably meant by a flag that a command does not have.

A suggestion is a flag of the same meaning, or of nearly the same spelling; never a mere neighbour.
"""

from collections.abc import Mapping

from dlf.errors import nearest
from dlf.task.flag import Setting

# What other tools call it -> what dlf calls it; the first one that the command has is suggested.
_SYNONYMS = {
    "workers": ("num_worker", "cluster"),
    "num_worker": ("cluster",),
    "num_workers": ("num_worker", "cluster"),
    "worker_num": ("num_worker", "cluster"),
    "worker": ("num_worker", "cluster"),
    "replicas": ("num_worker", "cluster"),
    "nnodes": ("num_worker", "cluster"),
    "nodes": ("num_worker", "cluster"),
    "num_nodes": ("num_worker", "cluster"),
    "cluster": ("num_worker",),
    "role": ("cluster",),
    "ps": ("num_ps",),
    "num_server": ("num_ps",),
    "gpus": ("gpu",),
    "gpu_num": ("gpu",),
    "nproc_per_node": ("gpu",),
    "cpus": ("cpu",),
    "mem": ("memory",),
    "image": ("work_images", "image"),
    "work_images": ("image",),
    "work_image": ("work_images", "image"),
    "workdir": ("working_dir",),
    "cmd": ("command",),
    "script": ("command",),
    "data": ("volume",),
    "volumes": ("volume",),
    "volume_mounts": ("volume",),
    "mount": ("volume",),
    "selector": ("node_selector",),
    "tolerations": ("toleration",),
    "envs": ("env",),
    "priority": ("priority_class",),
    "serviceaccount": ("service_account",),
    "retries": ("max_retry",),
    "backoff_limit": ("max_retry",),
    "wait": ("timeout",),
    "pods": ("log_ranks",),
    "lines": ("tail",),
    "format": ("output", "log_format"),
    "json": ("output", "log_format"),
    "ttl_seconds_after_finished": ("ttl",),
    "clean_task_policy": ("clean_pod_policy",),
}


def flag_hint(flag: str, known: Mapping[str, Setting]) -> str:
    """A hint for a flag that is not known.

    Args:
        flag: as written, such as `--gpus`.
        known: the command's flags by their keys, such as `num_worker`.
    """
    name = flag.lstrip("-").replace("-", "_").lower()
    for meant in _SYNONYMS.get(name, ()):
        if meant in known:
            return f"did you mean {known[meant].option}?"
    return nearest(f"--{name}" if name else flag, [each.option for each in known.values()])
