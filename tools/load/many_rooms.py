"""Many rooms at once: how soon followers get their presenter's place, and whether any gets another room's."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import requests

from tests.support.live_server import LiveServer
from tools.load.room import SAVED, Arrivals, Follower, address_now, spread


async def _attend(
    server: LiveServer, path: str, rooms: int, followers: int, actions: int, between_s: float
) -> Arrivals:
    """Opens the rooms, and lets their presenters act in turn, `actions` times each, all within `between_s`."""
    arrivals, opened = Arrivals(), []
    for number in range(rooms):
        # As from a device each: one visitor may open only a few rooms.
        headers = {"X-KVScope-Client": f"presenter-{number:02}-of-a-room"}
        body = {"address": address_now(path, (0, 0, 0))}
        opened.append(requests.post(f"{server.url}api/rooms", json=body, headers=headers, timeout=60).json())
    followed = [[Follower(server.url, room["code"], arrivals) for _ in range(followers)] for room in opened]
    for follower in itertools.chain(*followed):
        await follower.join()
    with requests.Session() as presenters:

        def act(room: dict[str, Any], action: int) -> str:
            address = address_now(path, (1 + action % 9, action % 30, action % 9))
            place, secret = f"{server.url}api/rooms/{room['code']}/place", {"Authorization": f"Bearer {room['secret']}"}
            presenters.put(place, json={"address": address}, headers=secret, timeout=30).raise_for_status()
            return address

        last = {}
        for action, room in itertools.product(range(actions), opened):
            last[room["code"]] = await asyncio.to_thread(act, room, action)
            await asyncio.sleep(between_s / rooms)
    await asyncio.sleep(1)
    for room, group in zip(opened, followed, strict=True):
        arrivals.wrong += sum(follower.address != last[room["code"]] for follower in group)
    for follower in itertools.chain(*followed):
        await follower.leave()
    return arrivals


def many_rooms(server: LiveServer, rooms: int, followers: int, actions: int, between_s: float) -> Iterator[str]:
    """Yields the figures of `rooms` rooms with `followers` each.

    `between_s`: seconds between two actions of one presenter.
    """
    path = f"/s/{SAVED.findall(server.get('gallery').text)[0]}"
    arrivals = asyncio.run(_attend(server, path, rooms, followers, actions, between_s))
    yield f"  {rooms} rooms, {rooms * followers} followers, {arrivals.wrong} at a wrong place"
    yield f"  {spread(sorted(arrivals.delays))}, of {rooms * followers * actions:,}"
