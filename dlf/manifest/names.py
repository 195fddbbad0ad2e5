"""Names that Kubernetes accepts, made from names that people chose."""

import re
from collections.abc import Mapping

NAME_LIMIT = 63  # RFC 1035 label: pods become host names, Services and label values


def job_name(prefix: str, pipeline: str, suffix: str, longest: str) -> str:
    """`<prefix>-<pipeline>-<suffix>` as a DNS-1035 label; the suffix always survives.

    Args:
        prefix: starts with a lower-case letter, such as `pytorchjob`.
        pipeline: any text; what a label cannot hold becomes `-`, and it is cut to fit.
        suffix: the random part, hexadecimal.
        longest: the longest thing an operator appends to the name, such as `-worker-999`.
    """
    room = NAME_LIMIT - len(longest) - len(prefix) - len(suffix) - 2
    middle = _dashed(pipeline)[:room].strip("-")
    return "-".join(part for part in (prefix, middle, suffix) if part)


def volume_name(source: str) -> str:
    """The name of the volume for a source, at most 60 characters of its end; "" if none is left."""
    return _dashed(source)[-60:].strip("-")


def label_value(text: str) -> str:
    """The nearest valid label value: `[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?`, at most 63."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:NAME_LIMIT].strip("-_.")


def label_values(labels: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Labels made valid, and the annotations `dlf/<key>` that keep each text that had to change."""
    valid = {key: label_value(text) for key, text in labels.items()}
    return valid, {f"dlf/{key}": text for key, text in labels.items() if text != valid[key]}


def task_title(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The task's name as it was given, or else its id; "" where a job's metadata has neither."""
    for key in ("task-name", "task-id"):
        if text := annotations.get(f"dlf/{key}") or labels.get(key):
            return text
    return ""


def _dashed(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower(), flags=re.ASCII).strip("-")
