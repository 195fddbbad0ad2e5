"""Resource amounts as the platform writes them: quantities, `MIN~MAX`, GPUs, RDMA devices."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from dlf.task.syntax import is_label_value, is_qualified_name

# k8s.io/apimachinery's resource.Quantity without a sign: a number, then a unit or an exponent.
_QUANTITY = re.compile(
    r"([0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([-+]?[0-9]{1,2}))?"
)
_LIKE_BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpP])i?[bB]?")  # 20g, 20GB, 20 Gi
_SCALE = {
    **{unit: Decimal(1000) ** power for power, unit in enumerate("num", -3)},
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
_STANDARD = {"cpu", "memory", "ephemeral-storage"}
_BRACKETS = str.maketrans("（）", "()")
_COUNT = "write a number of GPUs or other accelerators, such as 2, 1(V100), 1(npu,910B) or -1"
_TYPE = re.compile(r"\s*\([^()]*\)\s*$")

# The vendor words that the platform writes in brackets, and the resource that each vendor's
# device plugin offers. GPU_RESOURCE_NAME, when set, names the resource instead.
VENDORS = {
    "gpu": "nvidia.com/gpu",
    "nvidia": "nvidia.com/gpu",
    "npu": "huawei.com/Ascend910",
    "dcu": "hygon.com/dcu",
    "mlu": "cambricon.com/mlu",
    "amd": "amd.com/gpu",
}


class Amount(msgspec.Struct, frozen=True):
    """A Kubernetes quantity, or two: what is requested and what is the limit."""

    request: str
    limit: str


class RoleResources(msgspec.Struct, frozen=True):
    """Amounts of one role's pods.

    Attributes:
        role: its name.
        amounts: pairs of `cpu` or `memory` and the amount.
        gpu: number of GPUs, of the vendor and model that `--gpu` names; None for as many as it
            says.
    """

    role: str
    amounts: tuple[tuple[str, Amount], ...]
    gpu: int | None = None


class Gpu(msgspec.Struct, frozen=True):
    """Accelerators of one pod.

    Attributes:
        count: accelerators; 0 is none; -1 shares every one of the node and claims none.
        model: upper-case model that the node must carry as `gpu-type`, or "".
        vendor: a word in lower case, a key of VENDORS or one that only the platform knows, or "".
    """

    count: int = 0
    model: str = ""
    vendor: str = ""


def amount(text: str) -> Amount:
    """`8Gi`, `500m`, or `MIN~MAX`: request MIN, limit MAX."""
    low, tilde, high = (part.strip() for part in text.partition("~"))
    if not tilde:
        high = low
    if _size_of_part(low, text) > _size_of_part(high, text):
        raise ValueError("has a request above its limit; write MIN~MAX, the smaller one first")
    return Amount(low, high)


def quantity(text: str) -> str:
    """One quantity, such as `8Gi`."""
    size(text)
    return text


def cpu(text: str) -> Amount:
    """An amount, after which the platform allows a type of CPU in brackets: `8(intel)`.

    The type is dropped: the node selector decides which nodes may be used, and there is no common
    node label for types of CPU.
    """
    return amount(_TYPE.sub("", text.translate(_BRACKETS)))


def role_resources(text: str) -> RoleResources:
    """`ROLE:cpu=AMOUNT,memory=AMOUNT,gpu=N`, one of them or more."""
    role, colon, rest = text.partition(":")
    parsers: dict[str, Callable[[str], Any]] = {"cpu": cpu, "memory": amount, "gpu": _gpu_count}
    amounts: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in rest.split(","))):
        key, _, value = (part.strip() for part in entry.partition("="))
        if key not in parsers:
            raise ValueError(
                f"sets {key!r}, which cannot differ between roles; write cpu=AMOUNT,"
                " memory=AMOUNT or gpu=N"
            )
        try:
            amounts[key] = parsers[key](value)
        except ValueError as error:
            raise ValueError(f"contains {value!r}, which {error}") from None
    if not colon or not role.strip() or not amounts:
        raise ValueError("write ROLE:KEY=AMOUNT, such as worker:memory=8Gi")
    gpus = amounts.pop("gpu", None)
    return RoleResources(role.strip(), tuple(amounts.items()), gpus)


def _gpu_count(text: str) -> int:
    """A number of GPUs; what they are is the same in all roles."""
    if not re.fullmatch("[0-9]{1,6}", text):
        raise ValueError("is not a number of GPUs; write 0 or more, and what they are in --gpu")
    return int(text)


def gpu(text: str) -> Gpu:
    """`2`, `1(V100)`, `1(npu)`, `1(vendor,MODEL)`, `-1`; full-width brackets are accepted.

    Raises:
        ValueError: for fractions and `memory,core` pairs (virtual GPUs), and for any other form.
    """
    bare = text.translate(_BRACKETS).strip()
    form = re.fullmatch(r"([^()]*)(?:\(([^(),]*)(,[^(),]*)?\))?", bare)
    if not form:
        raise ValueError(_COUNT)
    number, first, second = form[1].strip(), (form[2] or "").strip(), form[3]
    if second is not None:
        vendor, model = first.lower(), second[1:].strip()
    elif first.lower() in VENDORS:
        vendor, model = first.lower(), ""
    else:
        vendor, model = "", first
    if not is_label_value(model):
        raise ValueError(
            f"has the model {model!r}, which cannot be a node label; write a model such as V100"
        )
    return Gpu(_count(number), model.upper(), vendor)


def device_count(text: str) -> int:
    """Whole number of RDMA devices, optionally with a type in brackets: `1`, `1(ib)`."""
    bare = _TYPE.sub("", text.translate(_BRACKETS)).strip()
    if not re.fullmatch(r"[0-9]{1,6}", bare):
        raise ValueError("write a whole number of devices, such as 0 or 1")
    return int(bare)


def extra_resources(text: str) -> dict[str, str]:
    """DEFAULT_POD_RESOURCES: a JSON object of resource name to quantity."""
    wanted = 'write a JSON object of quantities, such as {"ephemeral-storage": "10Gi"}'
    try:
        parsed = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        raise ValueError(wanted) from None
    if not isinstance(parsed, dict):
        raise ValueError(wanted)
    quantities = {}
    for name, value in parsed.items():
        if not isinstance(value, str):
            raise ValueError(wanted)
        _size_of_part(value, text)
        quantities[_resource(name)] = value
    return quantities


def _resource(name: str) -> str:
    try:
        return resource_name(name)
    except ValueError as error:
        raise ValueError(f"contains {name!r}, which {error}") from None


def resource_name(text: str) -> str:
    """A resource that a container can claim: `cpu`, `hugepages-2Mi`, `nvidia.com/gpu`.

    Outside of Kubernetes' own few, a name has a domain.
    """
    own = text in _STANDARD or text.startswith("hugepages-")
    if not is_qualified_name(text) or not (own or "/" in text):
        raise ValueError("is not a resource; write its full name, such as nvidia.com/gpu")
    return text


def size(quantity: str) -> Decimal:
    """What a quantity stands for: `500m` is 0.5, `1Ki` is 1024.

    Raises:
        ValueError: it is not a quantity; the message proposes one.
    """
    form = _QUANTITY.fullmatch(quantity)
    if not form:
        alike = _LIKE_BYTES.fullmatch(quantity)
        meant = f"{alike[1]}{alike[2].upper()}i" if alike else ""
        advice = f"did you mean {meant}?" if meant else "write one such as 4, 500m, 8G or 8Gi"
        raise ValueError(f"is not a valid quantity; {advice}")
    number, unit, exponent = form.groups()
    scale = _SCALE[unit] if unit else Decimal(10) ** int(exponent or 0)
    return Decimal(number) * scale


def _size_of_part(part: str, whole: str) -> Decimal:
    """`size` of a quantity that stands in a longer text; the error names the part."""
    try:
        return size(part)
    except ValueError as error:
        if part == whole:
            raise
        problem, _, advice = str(error).partition("; ")
        raise ValueError(f"contains {part!r}, which {problem}; {advice}") from None


def _count(number: str) -> int:
    if re.fullmatch(r"-1|[0-9]{1,6}", number):
        return int(number)
    if whole := re.fullmatch(r"([0-9]{1,6})\.0+", number):
        return int(whole[1])
    if re.fullmatch(r"[0-9]*\.[0-9]+", number) or "," in number:
        raise ValueError(
            "asks for a part of a GPU, which is not supported here; write a whole number, and claim"
            " a vendor's virtual GPUs by GPU_RESOURCE_NAME or DEFAULT_POD_RESOURCES"
        )
    raise ValueError(_COUNT)
