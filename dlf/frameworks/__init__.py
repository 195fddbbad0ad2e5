"""The frameworks, by the name of their command. A new one is one file and one name below."""

from dlf.frameworks import (
    colossalai,
    deepspeed,
    horovod,
    megatron,
    mindformers,
    mindspore,
    mpi,
    mxnet,
    paddle,
    pytorch,
    tf,
)
from dlf.frameworks.framework import Framework

BY_NAME: dict[str, Framework] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (
        tf,
        pytorch,
        paddle,
        deepspeed,
        horovod,
        megatron,
        colossalai,
        mindspore,
        mindformers,
        mpi,
        mxnet,
    )
}
