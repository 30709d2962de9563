"""What travels to and from the workers of a Dask cluster, counted where they read and write."""

from __future__ import annotations

from typing import Any


def count() -> None:
    """On a worker: add up the bytes of all messages from now on."""
    from distributed.comm import tcp

    if not hasattr(tcp, "counted"):
        write, from_frames = tcp.TCP.write, tcp.from_frames

        async def writing(self: Any, *arguments: Any, **more: Any) -> int:
            size = await write(self, *arguments, **more)
            tcp.counted["sent"] += size
            return size

        async def reading(frames: Any, *arguments: Any, **more: Any) -> Any:
            tcp.counted["received"] += sum(len(frame) for frame in frames)
            return await from_frames(frames, *arguments, **more)

        tcp.TCP.write, tcp.from_frames = writing, reading
    tcp.counted = {"received": 0, "sent": 0}


def counted() -> dict[str, int]:
    """On a worker: the bytes that it has received and sent since `count`."""
    from distributed.comm import tcp

    return dict(tcp.counted)


def traffic(client: Any, action: Any, times: int) -> dict[str, dict[str, float]]:
    """{worker: {"received": bytes, "sent": bytes}} for one call of an action, on average."""
    action()  # what happens once is not counted
    client.run(count)
    for _ in range(times):
        action()
    return {worker: {k: v / times for k, v in found.items()} for worker, found in client.run(counted).items()}
