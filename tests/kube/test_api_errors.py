"""What a refusal says, and what to do about it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlf.errors import Rejected
from dlf.kube.api_errors import Action, ObjectNotFound, Unavailable, error_of

CREATE = Action("create", "pytorchjobs.kubeflow.org", "ml")
GET = Action("get", "pods", "ml", "p")


def said(status: int, message: str, action: Action = CREATE) -> Rejected:
    error = error_of(action, status, json.dumps({"message": message, "reason": "Why"}).encode())
    assert isinstance(error, Rejected)
    return error


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        pytest.param(400, "no", "`--dry-run` prints what is sent", id="400"),
        pytest.param(401, "no", "log in again", id="401"),
        pytest.param(403, "no", "ask for a Role that allows `create` on `pytorchjobs", id="403"),
        pytest.param(
            403, 'webhook "w" denied the request: x', "an admission rule", id="403 of a webhook"
        ),
        pytest.param(403, "exceeded quota: gpu", "an admission rule", id="403 of a quota"),
        pytest.param(404, "no", "is `pytorchjobs.kubeflow.org` installed", id="404"),
        pytest.param(409, "no", "an object of this name exists already", id="409"),
        pytest.param(422, "no", "`--dry-run=server` lets this cluster validate it", id="422"),
    ],
)
def test_api_error_says_what_to_do(status: int, message: str, hint: str) -> None:
    """By its status, and for 403 by who said it."""
    error = said(status, message)
    assert hint in error.hint
    assert f"cannot create pytorchjobs.kubeflow.org in namespace ml: {message}" in error.message
    assert (status, "Why") == (error.status, error.reason)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"details": {"name": "p", "kind": "pods"}}, ObjectNotFound, id="object"),
        pytest.param({"details": {}}, Rejected, id="kind"),
        pytest.param({"details": {"name": "ml", "kind": "namespaces"}}, Rejected, id="namespace"),
        pytest.param({}, Rejected, id="unknown"),
    ],
)
def test_api_error_tells_what_is_missing(body: dict[str, object], expected: type[Rejected]) -> None:
    """404 may mean the object, its kind or its namespace."""
    assert expected is type(error_of(GET, 404, json.dumps(body).encode()))


@given(
    status=st.integers(300, 999),
    body=st.binary(max_size=64)
    | st.text(max_size=64).map(lambda text: json.dumps({"message": text}).encode()),
)
def test_api_error_of_anything_is_one_line(status: int, body: bytes) -> None:
    """Whatever stands between us and the server, its words become one line."""
    error = error_of(GET, status, body)
    if isinstance(error, Unavailable):
        assert status == 429 or status >= 500
    assert 1 == len(str(error).splitlines())
