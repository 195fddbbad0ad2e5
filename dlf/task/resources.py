"""Resource amounts as the platform writes them: quantities, `MIN~MAX`, GPUs, RDMA devices."""

import json
import re
from decimal import Decimal

import msgspec

_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|)")
_SCALE = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
_BRACKETS = str.maketrans("（）", "()")

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
        vendor: a key of VENDORS, or "".
    """

    count: int = 0
    model: str = ""
    vendor: str = ""


def amount(text: str) -> Amount:
    """`4`, `500m`, `8Gi`, `MIN~MAX`; a type in brackets after it is the platform's own affair."""
    bare = text.translate(_BRACKETS)
    bare = re.sub(r"\s*\([^()]*\)\s*$", "", bare)
    low, tilde, high = (part.strip() for part in bare.partition("~"))
    if not tilde:
        high = low
    if _size(low) > _size(high):
        raise ValueError(f"the request {low} is larger than the limit {high}; write MIN~MAX")
    return Amount(low, high)


def gpu(text: str) -> Gpu:
    """`2`, `1(V100)`, `1(npu)`, `1(vendor,MODEL)`, `-1`; full-width brackets are accepted.

    Raises:
        ValueError: for fractions and `memory,core` pairs (virtual GPUs), and for any other form.
    """
    bare = re.sub(r"\s+", "", text.translate(_BRACKETS))
    form = re.fullmatch(r"(-?[^()]*?)(?:\(([^(),]*)(?:,([^(),]*))?\))?", bare)
    if not form:
        raise ValueError("write a number of cards, such as 2, 1(V100), 1(npu,910B) or -1")
    number, first, second = form[1], form[2] or "", form[3] or ""
    vendor, model = _vendor_and_model(first, second)
    return Gpu(_cards(number), model.upper(), vendor)


def device_count(text: str) -> int:
    """Whole number of RDMA devices, optionally with a type in brackets: `1`, `1(ib)`."""
    bare = re.sub(r"\s*\([^()]*\)\s*$", "", text.translate(_BRACKETS)).strip()
    if not re.fullmatch(r"[0-9]{1,6}", bare):
        raise ValueError("write a whole number of devices, such as 0 or 1")
    return int(bare)


def extra_resources(text: str) -> dict[str, str]:
    """DEFAULT_POD_RESOURCES: a JSON object of resource name to quantity."""
    wanted = 'write a JSON object of quantities, such as {"ephemeral-storage": "10Gi"}'
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(wanted) from None
    if not isinstance(parsed, dict):
        raise ValueError(wanted)
    quantities = {}
    for name, value in parsed.items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise ValueError(wanted)
        resource_name(name)
        quantity = str(value).strip()
        _size(quantity)
        quantities[name] = quantity
    return quantities


def resource_name(text: str) -> str:
    """A Kubernetes resource name such as `nvidia.com/gpu`."""
    part = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    if not re.fullmatch(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{part}", text):
        raise ValueError("write a resource name such as nvidia.com/gpu")
    return text


def _size(quantity: str) -> Decimal:
    form = _QUANTITY.fullmatch(quantity)
    if not form:
        raise ValueError("write a Kubernetes quantity such as 4, 500m, 8Gi, or MIN~MAX")
    return Decimal(form[1]) * _SCALE[form[2]]


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
    raise ValueError("write a number of cards, such as 2, 1(V100), 1(npu,910B) or -1")


def _vendor_and_model(first: str, second: str) -> tuple[str, str]:
    if first.lower() in VENDORS:
        vendor, model = first.lower(), second
    elif second:
        raise ValueError(f"unknown vendor {first!r}; write one of {', '.join(VENDORS)}")
    else:
        vendor, model = "", first
    if model and not re.fullmatch(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", model):
        raise ValueError(f"{model!r} cannot be a node's gpu-type label; write a model such as V100")
    return vendor, model
