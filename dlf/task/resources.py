"""Resource amounts as the platform writes them: quantities, `MIN~MAX`, GPUs, RDMA devices."""

import json
import re
from decimal import Decimal

import msgspec

from dlf.task.syntax import is_label_value, is_qualified_name

# k8s.io/apimachinery's resource.Quantity without a sign: a number, then a unit or an exponent.
_QUANTITY = re.compile(
    r"([0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([-+]?[0-9]{1,2}))?"
)
_SCALE = {
    **{unit: Decimal(1000) ** power for power, unit in enumerate("num", -3)},
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
_STANDARD = {"cpu", "memory", "ephemeral-storage"}
_BRACKETS = str.maketrans("（）", "()")
_CARDS = "write a number of cards, such as 2, 1(V100), 1(npu,910B) or -1"
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


class Gpu(msgspec.Struct, frozen=True):
    """Accelerators of one pod.

    Attributes:
        count: cards; 0 is none; -1 shares every card of the node and claims none.
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
    if size(low) > size(high):
        raise ValueError(f"the request {low} is larger than the limit {high}; write MIN~MAX")
    return Amount(low, high)


def cpu(text: str) -> Amount:
    """An amount, after which the platform allows a type of CPU in brackets: `8(intel)`.

    The type is dropped: which nodes may be used is said by the node selector, and no label of
    nodes is agreed upon for types of CPU.
    """
    return amount(_TYPE.sub("", text.translate(_BRACKETS)))


def gpu(text: str) -> Gpu:
    """`2`, `1(V100)`, `1(npu)`, `1(vendor,MODEL)`, `-1`; full-width brackets are accepted.

    Raises:
        ValueError: for fractions and `memory,core` pairs (virtual GPUs), and for any other form.
    """
    bare = text.translate(_BRACKETS).strip()
    form = re.fullmatch(r"([^()]*)(?:\(([^(),]*)(,[^(),]*)?\))?", bare)
    if not form:
        raise ValueError(_CARDS)
    number, first, second = form[1].strip(), (form[2] or "").strip(), form[3]
    if second is not None:
        vendor, model = first.lower(), second[1:].strip()
    elif first.lower() in VENDORS:
        vendor, model = first.lower(), ""
    else:
        vendor, model = "", first
    if not is_label_value(model):
        raise ValueError(f"{model!r} cannot be a node's gpu-type label; write a model such as V100")
    return Gpu(_cards(number), model.upper(), vendor)


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
        size(value)
        quantities[resource_name(name)] = value
    return quantities


def resource_name(text: str) -> str:
    """A resource that a container can claim: `cpu`, `hugepages-2Mi`, `nvidia.com/gpu`.

    Outside of Kubernetes' own few, a name has a domain.
    """
    own = text in _STANDARD or text.startswith("hugepages-")
    if not is_qualified_name(text) or not (own or "/" in text):
        raise ValueError(f"{text!r} is no resource; write its full name, such as nvidia.com/gpu")
    return text


def size(quantity: str) -> Decimal:
    """What a quantity stands for: `500m` is 0.5, `1Ki` is 1024.

    Raises:
        ValueError: it is none.
    """
    form = _QUANTITY.fullmatch(quantity)
    if not form:
        raise ValueError(f"{quantity!r} is no quantity; write one such as 4, 500m, 8G or 8Gi")
    number, unit, exponent = form.groups()
    scale = _SCALE[unit] if unit else Decimal(10) ** int(exponent or 0)
    return Decimal(number) * scale


def _cards(number: str) -> int:
    if re.fullmatch(r"-1|[0-9]{1,6}", number):
        return int(number)
    if whole := re.fullmatch(r"([0-9]{1,6})\.0+", number):
        return int(whole[1])
    if re.fullmatch(r"[0-9]*\.[0-9]+", number) or "," in number:
        raise ValueError(
            "parts of a card (virtual GPUs) are not supported here; write whole cards, and claim"
            " a vendor's virtual resource by GPU_RESOURCE_NAME or DEFAULT_POD_RESOURCES"
        )
    raise ValueError(_CARDS)
