"""CPU, memory, GPU and RDMA as the platform writes them."""

import pytest

from dlf.task import resources
from dlf.task.resources import Amount, Gpu


@pytest.mark.parametrize(
    ("text", "request_", "limit"),
    [
        pytest.param("4", "4", "4", id="a number"),
        pytest.param("500m", "500m", "500m", id="thousandths"),
        pytest.param("0.5", "0.5", "0.5", id="a fraction"),
        pytest.param(".5", ".5", ".5", id="no digit before the point"),
        pytest.param("8G", "8G", "8G", id="decimal unit"),
        pytest.param("8Gi", "8Gi", "8Gi", id="binary unit"),
        pytest.param("1e3", "1e3", "1e3", id="exponent"),
        pytest.param("1E", "1E", "1E", id="exa, not an exponent"),
        pytest.param("2~4", "2", "4", id="request and limit"),
        pytest.param(" 2G ~ 8Gi ", "2G", "8Gi", id="blanks"),
        pytest.param("1000Mi~1Gi", "1000Mi", "1Gi", id="units that differ"),
    ],
)
def test_amount_reads_quantities_and_ranges(text: str, request_: str, limit: str) -> None:
    """The texts are passed on as they are: the API server writes them its own way."""
    assert Amount(request_, limit) == resources.amount(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4g", "is not a valid quantity; did you mean 4Gi?"),
        ("1.5 GB", "is not a valid quantity; did you mean 1.5Gi?"),
        ("512mb", "is not a valid quantity; did you mean 512Mi?"),
        ("2~4g", "contains '4g', which is not a valid quantity; did you mean 4Gi?"),
        ("four", "is not a valid quantity; write one such as 4, 500m, 8G or 8Gi"),
        ("-1", "is not a valid quantity; write one such as 4, 500m, 8G or 8Gi"),
        ("~4", "contains '', which is not a valid quantity; write one"),
        ("4~", "contains '', which is not a valid quantity; write one"),
        (
            "1~2~3",
            "contains '2~3', which is not a valid quantity; write one",
        ),
        ("8G(ddr4)", "is not a valid quantity; write one such as 4, 500m, 8G or 8Gi"),
        ("4~2", "has a request above its limit; write MIN~MAX, the smaller one first"),
        ("1Gi~1G", "has a request above its limit; write MIN~MAX, the smaller one first"),
    ],
)
def test_amount_refuses_what_the_api_server_would(text: str, message: str) -> None:
    """A typing error shows before a job is created, and so does a request above its limit."""
    with pytest.raises(ValueError, match=r"quantity; |MIN~MAX") as caught:
        resources.amount(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["8", "8(intel)", "8（intel）", " 8 (intel) "])
def test_cpu_type_in_brackets_does_not_matter(text: str) -> None:
    """The platform allows a type of CPU; nodes are chosen by the node selector alone."""
    assert Amount("8", "8") == resources.cpu(text)


def test_cpu_type_follows_a_range() -> None:
    """The brackets stand after the whole amount."""
    assert Amount("2", "4") == resources.cpu("2~4(amd)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", Gpu(), id="none"),
        pytest.param("2", Gpu(2), id="GPUs"),
        pytest.param("2.0", Gpu(2), id="a whole number with a point"),
        pytest.param("-1", Gpu(-1), id="all GPUs, shared"),
        pytest.param("1(V100)", Gpu(1, "V100"), id="model"),
        pytest.param("1（v100）", Gpu(1, "V100"), id="full-width brackets, lower case"),
        pytest.param("1(A100-SXM4-80GB)", Gpu(1, "A100-SXM4-80GB"), id="model with dashes"),
        pytest.param("1(npu)", Gpu(1, "", "npu"), id="vendor"),
        pytest.param("1(NPU)", Gpu(1, "", "npu"), id="vendor in upper case"),
        pytest.param("1(npu,910b)", Gpu(1, "910B", "npu"), id="vendor and model"),
        pytest.param("8 ( npu , 910B )", Gpu(8, "910B", "npu"), id="blanks"),
        pytest.param("1(xpu,R200)", Gpu(1, "R200", "xpu"), id="vendor of the platform's own"),
        pytest.param("1(,V100)", Gpu(1, "V100"), id="vendor left out"),
        pytest.param("1(npu,)", Gpu(1, "", "npu"), id="model left out"),
        pytest.param("1()", Gpu(1), id="empty brackets"),
        pytest.param("-1(V100)", Gpu(-1, "V100"), id="all GPUs of a model"),
    ],
)
def test_gpu_reads_every_form(text: str, expected: Gpu) -> None:
    """A word in brackets is a model unless it is a vendor's."""
    assert expected == resources.gpu(text)


@pytest.mark.parametrize("text", ["0.5", "1.5", ".5", "8G,0.3", "0.5(V100)"])
def test_gpu_says_that_parts_of_a_card_are_not_supported(text: str) -> None:
    """Virtual GPUs are named as such, with the way to claim a vendor's own resource."""
    with pytest.raises(ValueError, match=r"^asks for a part of a GPU, which is not supported"):
        resources.gpu(text)


@pytest.mark.parametrize(
    "text", ["two", "-2", "1 0", "1(V100", "1)V100(", "(V100)", "1(a)(b)", "1(a,b,c)", "1000000"]
)
def test_gpu_refuses_other_forms(text: str) -> None:
    """The message shows the forms that there are."""
    with pytest.raises(ValueError, match=r"^write a number of GPUs or other accelerators, such as"):
        resources.gpu(text)


def test_gpu_refuses_a_model_that_no_node_can_carry() -> None:
    """The model becomes a label of nodes."""
    with pytest.raises(ValueError, match=r"^has the model 'V 100', which cannot be a node"):
        resources.gpu("1(V 100)")


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("1", 1), ("2(ib)", 2), ("1（ib）", 1)])
def test_device_count_ignores_the_type(text: str, expected: int) -> None:
    """The type of an RDMA device is in the name of its resource."""
    assert expected == resources.device_count(text)


@pytest.mark.parametrize("text", ["one", "0.5", "-1", "(ib)", "1(ib"])
def test_device_count_refuses_other_forms(text: str) -> None:
    """Devices are whole."""
    with pytest.raises(ValueError, match=r"^write a whole number of devices"):
        resources.device_count(text)


def test_extra_resources_reads_quantities_and_numbers() -> None:
    """JSON numbers keep the text that they were written with."""
    text = '{"ephemeral-storage": "10Gi", "a.io/foo": 2, "cpu": 0.10, "hugepages-2Mi": "4Mi"}'
    assert {
        "ephemeral-storage": "10Gi",
        "a.io/foo": "2",
        "cpu": "0.10",
        "hugepages-2Mi": "4Mi",
    } == resources.extra_resources(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "write a JSON object of quantities"),
        ("{", "write a JSON object of quantities"),
        ("[" * 100_000, "write a JSON object of quantities"),
        ('{"cpu": true}', "write a JSON object of quantities"),
        ('{"cpu": null}', "write a JSON object of quantities"),
        ('{"cpu": NaN}', "write a JSON object of quantities"),
        ('{"cpu": "many"}', "contains 'many', which is not a valid quantity; write one"),
        ('{"cpu": -1}', "contains '-1', which is not a valid quantity; write one"),
        ('{"gpu": 1}', "contains 'gpu', which is not a resource; write its full name"),
        ('{"a..b/gpu": 1}', "contains 'a..b/gpu', which is not a resource; write its full name"),
    ],
)
def test_extra_resources_refuses_what_cannot_be_claimed(text: str, message: str) -> None:
    """The message says which part is wrong."""
    with pytest.raises(ValueError, match="write") as caught:
        resources.extra_resources(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu", "huawei.com/Ascend910", "rdma/hca_shared", "cpu"]
)
def test_resource_name_accepts_what_plugins_offer(name: str) -> None:
    """A device plugin's resource has a domain."""
    assert name == resources.resource_name(name)


@pytest.mark.parametrize("name", ["gpu", "nvidia.com/", "/gpu", "nvidia com/gpu", "a/b/c", "网/卡"])
def test_resource_name_refuses_what_no_container_can_claim(name: str) -> None:
    """The API server would refuse each pod, after the job was created."""
    with pytest.raises(ValueError, match="is not a resource; write its full name, such as nvidia"):
        resources.resource_name(name)
