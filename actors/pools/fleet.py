"""The seam of the pools: drivers as handles that take messages and give messages, whatever they run on.

A handle may be late, die, answer twice, or answer after another one has taken its place. ``actors.pools.dealing`` deals
with all of that, once, above this seam; processes and the simulator of the tests are below it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

BEGIN_SECONDS = 60.0
"""How long a cluster may take, at the least, until it has a first driver: what nodes need may have to be installed."""


class Handle(Protocol):
    """The learner's end of one driver.

    Attributes:
        clock_ahead: seconds by which the driver's clock is ahead of the fleet's; 0 on one machine.
    """

    @property
    def clock_ahead(self) -> float: ...

    def send(self, message: bytes) -> None:
        """Sends a message.

        Raises:
            OSError: the driver is gone.
        """

    def end(self) -> None:
        """Ends the driver at once, with all that it has started."""


H = TypeVar("H", bound=Handle)


@dataclass(frozen=True)
class Event:
    """What came from a driver.

    Attributes:
        handle: the driver's.
        message: what it sent; None where it is gone.
        left: whether it has gone in order, such as with its machine, so that its task is not to blame.
    """

    handle: Handle
    message: bytes | None
    left: bool = False


class Fleet(Protocol[H]):
    """Where drivers come from, and how the learner waits for them.

    Attributes:
        far: whether messages take long, so that a driver is sent the next task while it runs one.
    """

    far: bool

    @property
    def cores(self) -> int:
        """Number of processor cores that its drivers have."""

    def start(self, index: int) -> H | None:
        """Starts driver number ``index``, which says that it is ready; None where there is no room for it now."""

    def wait(self, timeout: float | None) -> Iterator[Event]:
        """Waits for at most ``timeout`` seconds, None for no limit, and yields what has come.

        It ends, with nothing to yield, when there may be room for a driver that could not be started before.
        """

    def now(self) -> float:
        """Returns the seconds of the clock by which deadlines and durations are told."""

    def share(self, snapshot: bytes) -> tuple[bytes, int]:
        """Makes a snapshot readable for all drivers.

        Returns:
            The block that tells a driver where it lies, and how many snapshots of other bytes there were, this one
            included.
        """

    def rest(self) -> None:
        """Lets go of the snapshot: no driver will ask for it before the next one is shared."""

    def close(self, drivers: Iterable[tuple[H, bool]]) -> None:
        """Ends all drivers, after they had time to close their environments; of each, whether it is busy."""
