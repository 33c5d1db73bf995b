"""A simulated disk: calls reach real files, and what a loss of power would leave of them is known at any time."""

import dataclasses
import errno
import pathlib
import random
from collections.abc import Callable

from ppo.data.disk import Disk
from tests.simulation.fleet import Crash, World


@dataclasses.dataclass
class Inode:
    """The content of a file: what is durable, and what is there."""

    durable: bytes = b""
    now: bytes = b""


class SimulatedDisk(Disk):
    """The disk of one run directory.

    Args:
        root: directory in which all that happens is simulated; it exists, and is durable.
        world: says what goes wrong.
    """

    def __init__(self, root: pathlib.Path, world: World):
        self.root, self.world = root, world
        self.down = self.power_lost = self.trouble = False
        self._full = self._broken = 0  # operations that will fail yet
        self._names: dict[pathlib.Path, Inode | None] = {}  # None is a directory
        self._durable: dict[pathlib.Path, Inode | None] = {}
        self._undone: list[tuple[pathlib.Path, Callable[[], None]]] = []  # by directory, what was done to its names
        self._open: dict[int, Inode] = {}

    def _begin(self, what: str, name: str) -> None:
        """Begins an operation: the learner may end here, and does nothing more once it has."""
        if self.down:
            raise Crash
        due = self.world.turn(f"{what} {name}")
        if due == "disk full":
            self._full, self.trouble = 3, True
        elif due == "input/output error":
            self._broken, self.trouble = 1, True
        elif due is not None:
            self.down, self.power_lost = True, due == "power loss"
            raise Crash

    def _may_fail(self) -> None:
        if self._full:
            self._full -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        if self._broken:
            self._broken -= 1
            raise OSError(errno.EIO, "Input/output error")

    def create(self, path: pathlib.Path) -> int:
        self._begin("create", path.name)
        self._may_fail()
        file = super().create(path)
        self._open[file] = self._names[path] = Inode()
        self._note(path)
        return file

    def open_to_append(self, path: pathlib.Path) -> int:
        file = super().open_to_append(path)
        inode = self._names[path]
        assert inode is not None
        self._open[file] = inode
        return file

    def write(self, file: int, content: bytes | memoryview) -> int:
        number, lived = self.world.operation, not self.down
        try:
            self._begin("write", f"{len(content)} bytes")
        except Crash:
            if lived:  # in the middle of it
                self._put(file, content[: self.world.random("torn", number).randint(0, len(content))])
            raise
        if not self._full or len(content) < 2:  # else a part of it still finds room
            self._may_fail()
        short = self._full or self.world.random("short", number).random() < 0.1
        return self._put(file, content[: (len(content) + 1) // 2] if short else content)

    def _put(self, file: int, content: bytes | memoryview) -> int:
        written = super().write(file, content)
        self._open[file].now += bytes(content[:written])
        return written

    def sync(self, file: int) -> None:
        self._begin("sync", "file")
        if self._broken:
            self._may_fail()
        inode = self._open[file]
        inode.durable = inode.now

    def close(self, file: int) -> None:
        del self._open[file]
        super().close(file)

    def rename(self, path: pathlib.Path, to: pathlib.Path) -> None:
        self._begin("rename to", to.name)
        self._may_fail()
        super().rename(path, to)
        self._renamed(path, to)

    def rename_new(self, path: pathlib.Path, to: pathlib.Path) -> None:
        self._begin("rename to new", to.name)
        self._may_fail()
        super().rename_new(path, to)
        self._renamed(path, to)

    def _renamed(self, path: pathlib.Path, to: pathlib.Path) -> None:
        self._names[to] = self._names.pop(path)
        inode = self._names[to]

        def again() -> None:
            self._durable.pop(path, None)
            self._durable[to] = inode

        self._undone.append((to.parent, again))

    def remove(self, path: pathlib.Path) -> None:
        self._begin("remove", path.name)
        super().remove(path)
        self._names.pop(path)
        self._undone.append((path.parent, lambda: self._durable.pop(path, None) and None))

    def truncate(self, path: pathlib.Path, length: int) -> None:
        self._begin("truncate", path.name)
        super().truncate(path, length)
        inode = self._names[path]
        assert inode is not None
        inode.now = inode.now[:length]

    def make_directory(self, path: pathlib.Path) -> None:
        self._begin("mkdir", path.name)
        self._may_fail()
        super().make_directory(path)
        self._names[path] = None
        self._note(path)

    def sync_directory(self, path: pathlib.Path) -> None:
        self._begin("sync directory", path.name)
        left = []
        for parent, again in self._undone:
            if parent == path:
                again()
            else:
                left.append((parent, again))
        self._undone = left

    def _note(self, path: pathlib.Path) -> None:
        inode = self._names[path]
        self._undone.append((path.parent, lambda: self._durable.__setitem__(path, inode)))

    def begin_life(self) -> None:
        """Takes the disk into use again, after a loss of power with what that has left."""
        for file in list(self._open):
            self.close(file)
        self._full = self._broken = 0
        if self.power_lost:
            self._lose()
        self.down = self.power_lost = self.trouble = False

    def _lose(self) -> None:
        """Leaves of the files what a loss of power would."""
        rng = self.world.random("power", self.world.operation)
        for _, again in self._undone[: rng.randint(0, len(self._undone))]:
            again()
        self._undone = []
        kept = {path: inode for path, inode in self._durable.items() if self._reachable(path)}
        for path in sorted(self._names, reverse=True):
            if path not in kept:
                path.rmdir() if self._names[path] is None else path.unlink()
        for path, inode in sorted(kept.items()):
            if inode is None:
                path.mkdir(exist_ok=True)
                continue
            inode.now = inode.durable = after_power_loss(inode, rng)
            path.write_bytes(inode.now)
        self._names, self._durable = dict(kept), dict(kept)

    def _reachable(self, path: pathlib.Path) -> bool:
        return path.parent == self.root or (path.parent in self._durable and self._reachable(path.parent))


def after_power_loss(inode: Inode, rng: random.Random) -> bytes:
    """Returns what is left of a file: what was durable, and of what came after a part, or zeros in its place."""
    if not inode.now.startswith(inode.durable):  # it was cut off
        return rng.choice((inode.durable, inode.now))
    kept = inode.now[: rng.choice((len(inode.now), rng.randint(len(inode.durable), len(inode.now))))]
    if rng.random() < 0.5 and len(kept) > len(inode.durable):  # its length was durable before its content
        first = rng.randint(len(inode.durable), len(kept))
        last = rng.choice((len(kept), rng.randint(first, len(kept))))
        kept = kept[:first] + bytes(last - first) + kept[last:]
    return kept
