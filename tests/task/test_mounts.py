"""KFJ_TASK_VOLUME_MOUNT."""

import pytest

from dlf.task.mounts import Mount, mounts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data(pvc):/mnt", Mount("pvc", "data", "/mnt")),
        ("data(pvc-share):/mnt", Mount("pvc-share", "data", "/mnt")),
        ("data(storage):/mnt", Mount("pvc-share", "data", "/mnt")),
        ("10.0.0.1/a/b(nfs):/mnt", Mount("nfs", "10.0.0.1/a/b", "/mnt")),
        ("10.0.0.1:/x(nfs):/y", Mount("nfs", "10.0.0.1/x", "/y")),
        ("fd00::1/x(nfs):/y", Mount("nfs", "fd00::1/x", "/y")),
        ("nas-1.example.com/(nfs):/mnt", Mount("nfs", "nas-1.example.com/", "/mnt")),
        ("/data/x(hostpath):/mnt", Mount("hostpath", "/data/x", "/mnt")),
        ("settings(configmap):/etc/app", Mount("configmap", "settings", "/etc/app")),
        ("key(secret):/etc/key", Mount("secret", "key", "/etc/key")),
        ("4Gi(memory):/dev/shm", Mount("memory", "4Gi", "/dev/shm")),
        ("4(memory):/dev/shm", Mount("memory", "4Gi", "/dev/shm")),
        ("4g(memory):/dev/shm", Mount("memory", "4Gi", "/dev/shm")),
        ("4G(memory):/dev/shm", Mount("memory", "4Gi", "/dev/shm")),
        ("data（pvc）:/mnt", Mount("pvc", "data", "/mnt")),
        (" data ( pvc ) : /mnt/ ", Mount("pvc", "data", "/mnt")),
    ],
)
def test_mounts_reads_every_kind(text: str, expected: Mount) -> None:
    """One entry of each form of the platform."""
    assert (expected,) == mounts(text)


def test_mounts_are_separated_by_comma_semicolon_or_line() -> None:
    """Empty entries are dropped, the order is kept."""
    assert (
        Mount("pvc", "a", "/a"),
        Mount("pvc", "b", "/b"),
        Mount("pvc", "c", "/c"),
    ) == mounts("a(pvc):/a, b(pvc):/b;;\nc(pvc):/c,")


def test_mounts_skips_a_source_or_path_seen_before() -> None:
    """The first one has it, as users know it from the platform."""
    text = "a(pvc):/a,a(configmap):/b,b(pvc):/a,b(pvc):/a/,c(secret):/c"
    assert (Mount("pvc", "a", "/a"), Mount("secret", "c", "/c")) == mounts(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data:/mnt", "write SOURCE(kind):/path with kind pvc"),
        ("data(pvc)", "write SOURCE(kind):/path with kind pvc"),
        ("data(disk):/mnt", "has an unknown kind 'disk'; write SOURCE(kind):/path"),
        ("data(pvc):mnt", "write a mount path that starts with /"),
        ("data(pvc):/a:b", "write a mount path that starts with /"),
        ("Data(pvc):/mnt", "write the name of a pvc, of a-z"),
        ("a..b(secret):/mnt", "write the name of a secret, of a-z"),
        ("(pvc):/mnt", "write the name of a pvc, of a-z"),
        ("10.0.0.1(nfs):/mnt", "write SERVER/PATH(nfs):/path"),
        ("/a(nfs):/mnt", "write SERVER/PATH(nfs):/path"),
        ("data(hostpath):/mnt", "write /absolute/path(hostpath):/path"),
        ("/a/../b(hostpath):/m", "write /absolute/path(hostpath):/path"),
        ("0(memory):/dev/shm", "write a size in Gi, such as 4Gi(memory)"),
        ("4Ti(memory):/dev/shm", "write a size in Gi, such as 4Gi"),
    ],
)
def test_mounts_names_the_entry_that_is_wrong(text: str, message: str) -> None:
    """Of several entries the message quotes the wrong one; alone it is the whole value anyway."""
    with pytest.raises(ValueError, match="write") as caught:
        mounts(f"ok(pvc):/ok,{text}")
    assert str(caught.value).startswith(f"contains {text!r}, which ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="write") as caught:
        mounts(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["/a\0(hostpath):/m", "/a\udcff(hostpath):/m"])
def test_mounts_refuses_what_is_not_text(text: str) -> None:
    """The API server and the operating system could not carry it."""
    with pytest.raises(ValueError, match=r"^write text without NUL bytes, in UTF-8"):
        mounts(text)
