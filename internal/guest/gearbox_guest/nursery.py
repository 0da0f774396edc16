"""The fork server's view of its nursery, which makes the reapers.

The nursery left the fork server's process before there was an interpreter in it: it is a part of the host's own program.
It is sent one byte for each reaper that it is to make, and sends each by two descriptors.
"""

from __future__ import annotations

import array
import socket
from typing import NamedTuple

_CHANNEL = 5
_MORE = b"."


class EndedError(Exception):
    """The nursery has ended. Without it there is no child any more, so that the fork server has to end too."""


class Reaper(NamedTuple):
    """Process 1 of a fresh pid namespace, sealed, by two descriptors."""

    process: int
    namespace: int


class Nursery:
    """Reapers that wait for a child."""

    def __init__(self) -> None:
        self._channel = socket.socket(fileno=_CHANNEL)
        self._channel.set_inheritable(False)

    def take(self) -> Reaper:
        """Order a reaper, and take one that is made, or wait for it. The descriptors are the caller's."""
        try:
            self._channel.send(_MORE)
            _, ancillary, _, _ = self._channel.recvmsg(len(_MORE), socket.CMSG_SPACE(2 * 4))
        except OSError as error:
            raise EndedError(f"the nursery has ended: {error}") from error
        descriptors = array.array("i")
        for _, _, payload in ancillary:
            descriptors.frombytes(payload)
        if len(descriptors) != 2:
            raise EndedError("the nursery has ended")
        return Reaper(*descriptors)
