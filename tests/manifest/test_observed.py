"""What dlf reads: operators write `null` for absent, and fields that dlf does not know."""

import msgspec
import pytest

from dlf.manifest.observed import Condition, Event, Job, Pod, Status, WatchEvent


def test_pod_is_read_with_nulls_and_unknown_fields() -> None:
    """Only what dlf uses is looked at."""
    body = b"""{
      "metadata": {"name": "a", "labels": null, "deletionTimestamp": null, "managedFields": [{}]},
      "spec": {"nodeName": null, "containers": [{"name": "tensorflow", "image": "x"}]},
      "status": {
        "phase": "Running", "conditions": null, "qosClass": "Burstable",
        "containerStatuses": [{
          "name": "tensorflow", "containerID": "containerd://0a", "restartCount": 1,
          "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "containerID": "c"}}
        }]
      }
    }"""
    pod = msgspec.json.decode(body, type=Pod)
    assert pod.status.container_statuses
    (status,) = pod.status.container_statuses
    terminated = status.state.terminated
    assert ("a", None, "Running") == (pod.metadata.name, pod.metadata.labels, pod.status.phase)
    assert ("containerd://0a", 1) == (status.container_id, status.restart_count)
    assert terminated
    assert (137, "OOMKilled") == (terminated.exit_code, terminated.reason)


@pytest.mark.parametrize("status", ["", ', "status": null', ', "status": {}'])
def test_job_without_status_is_read(status: str) -> None:
    """No operator has seen it yet."""
    body = f'{{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {{}}{status}}}'
    job = msgspec.json.decode(body, type=Job)
    assert ("kubeflow.org/v1", "TFJob") == (job.api_version, job.kind)
    assert job.status is None or job.status.conditions is None


def test_job_is_read_with_conditions_and_counts() -> None:
    """Each kind has a key of its own for its roles."""
    body = b"""{
      "metadata": {"name": "a"},
      "spec": {"tfReplicaSpecs": {"Worker": {"replicas": 3, "template": {}}}},
      "status": {"conditions": [{"type": "Created", "status": "True", "reason": null}]}
    }"""
    job = msgspec.json.decode(body, type=Job)
    assert job.status
    assert [Condition(type="Created", status="True")] == job.status.conditions
    assert {"worker": 3} == job.replicas


def test_watch_event_leaves_its_object_to_whoever_knows_the_type() -> None:
    """An ERROR event holds a Status, a BOOKMARK little more than a version."""
    body = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}'
    event = msgspec.json.decode(body, type=WatchEvent)
    status = msgspec.json.decode(event.object, type=Status)
    assert ("ERROR", 410, "Expired") == (event.type, status.code, status.reason)


def test_event_is_read_in_either_form() -> None:
    """Old clients count, new ones write a series and no timestamps."""
    body = b'{"series": {"count": 3}, "count": null, "firstTimestamp": null, "message": "m"}'
    event = msgspec.json.decode(body, type=Event)
    assert event.series
    assert (3, None, "m") == (event.series.count, event.count, event.message)
