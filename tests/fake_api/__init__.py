"""A server that speaks as much of the Kubernetes API as dlf uses, with faults on demand.

    store         objects, history, watches     selectors     which objects match
    logs          container logs                faults        what goes wrong
    http_server   sockets                       request_info  which object and verb a request is for
    objects       answers of one document       streams       answers that go on
    resources     discovery                     api           all of it together

It knows nothing of dlf.
"""

from fake_api.api import FakeApi as FakeApi
from fake_api.faults import Fault as Fault
from fake_api.logs import Cut as Cut
