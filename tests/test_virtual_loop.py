"""The clock that the other tests rely on."""

import asyncio
import sys
import time

from virtual_loop import run


def test_time_jumps_to_the_next_timer() -> None:
    """A day of waiting takes no time, and is a day to the second."""

    async def act() -> tuple[float, list[int]]:
        order: list[int] = []

        async def wait(hours: int) -> None:
            await asyncio.sleep(hours * 3600.0)
            order.append(hours)

        await asyncio.gather(*(wait(hours) for hours in (24, 1, 12)))
        return asyncio.get_running_loop().time(), order

    began = time.monotonic()
    assert (86_400.0, [1, 12, 24]) == run(act())
    assert time.monotonic() - began < 60.0


def test_time_stands_still_for_sockets() -> None:
    """What is on its way between two sockets arrives before a timer fires."""

    async def act() -> bytes:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, asyncio.timeout(0.001):
            address = server.sockets[0].getsockname()
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"hello\n")
            answer = await reader.read()
            writer.close()
            return answer

    assert b"hello\n" == run(act())


def test_time_stands_still_for_threads_and_processes() -> None:
    """A job outside the loop is waited for in real time; timers wait with it."""

    async def act() -> tuple[float, bytes]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(0.001):
            await asyncio.to_thread(time.sleep, 0.05)
        async with asyncio.timeout(0.001):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "print('done')", stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
        return loop.time(), output

    assert (0.0, b"done\n") == run(act())
