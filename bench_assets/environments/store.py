"""The cache's folder as a whole: who may use which generation, who builds, and what becomes of a build that fails."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.environments.build import BUILD_LIMIT
from bench_assets.environments.health import take_stamp, why_not_as_built
from bench_assets.environments.locks import Lease, exclusive
from bench_assets.environments.slot import Generation, Marker, Slot
from bench_assets.errors import EnvironmentFailed

CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"
"""By convention the beginning of a `CACHEDIR.TAG`: backups, and digests of sources, leave such a folder out."""


class Store:
    """The slots of a cache, and the leases that this process holds in them."""

    def __init__(self, root: Path, *, timeout_sec: float, say: Callable[[str], None]) -> None:
        """`timeout_sec` bounds waiting for other builders; `say` is called with lines for a person."""
        self.root = root
        self._timeout_sec = timeout_sec
        self._say = say
        self._leases: dict[Path, Lease] = {}

    def slot(self, fingerprint: str) -> Slot:
        """Return the place of a fingerprint. Nothing is created."""
        return Slot(self.root, fingerprint)

    def usable(
        self, slot: Slot, *, variables: Mapping[str, str], lock_digest: str | None = None
    ) -> tuple[Generation, Marker] | None:
        """Return a complete and healthy generation, kept from removal: the one with that lock, or the current one."""
        for generation, marker in slot.complete(lock_digest=lock_digest):
            held = generation.folder in self._leases
            if not held and not self._hold(generation):  # it is being removed
                continue
            reason = self._why_unfit(generation, marker, variables=variables)
            if reason is None:
                return generation, marker
            self._say(f"The cached environment `{generation.folder}` is not used: {reason}")
            if not held:
                self._leases.pop(generation.folder).release()
        return None

    @contextmanager
    def building(self, slot: Slot, *, candidate: str) -> Iterator[None]:
        """Hold the slot: nobody else builds or removes in it. Raises EnvironmentFailed when that takes too long."""
        self._prepare(slot)
        with exclusive(
            slot.lock,
            timeout_sec=self._timeout_sec,
            limit=f"{BUILD_LIMIT} = {self._timeout_sec:g}",
            what=f"the environment of `{candidate}`",
            on_wait=lambda: self._say(f"Another process builds the environment of `{candidate}`; waiting for it."),
        ):
            yield

    @contextmanager
    def new_generation(self, slot: Slot) -> Iterator[Generation]:
        """Give a folder to build in, and take it away again unless the block ends well. Only inside `building`."""
        slot.sweep()
        try:
            generation = slot.new_generation()
            try:
                yield generation
            except BaseException:
                slot.discard(generation)
                raise
        except OSError as error:
            raise EnvironmentFailed(
                f"The cache folder `{self.root}` could not be written: {error.strerror or error}. Make room, or set "
                "`BENCH_CACHE_DIR` to another folder."
            ) from error

    def publish(self, slot: Slot, generation: Generation, record: EnvironmentRecord, *, current: bool) -> Marker:
        """Let others see a finished build; `current` gives it to all new users. Only inside `building`."""
        stamp = take_stamp(generation.python)
        assert stamp is not None, "the build has just run this interpreter"
        marker = Marker(record=record, stamp=stamp)
        generation.write_marker(marker)
        self._hold(generation)
        if current:
            slot.make_current(generation)
        return marker

    def close(self) -> None:
        """Let go of every generation."""
        while self._leases:
            self._leases.popitem()[1].release()

    def _hold(self, generation: Generation) -> bool:
        lease = generation.lease()
        if lease is None:
            return False
        if self._leases.setdefault(generation.folder, lease) is not lease:  # another thread was faster
            lease.release()
        return True

    def _why_unfit(self, generation: Generation, marker: Marker, *, variables: Mapping[str, str]) -> str | None:
        stamp = take_stamp(generation.python)
        if stamp == marker.stamp:
            return None
        if stamp is None:
            return "its Python is gone."
        record = marker.record
        reason = why_not_as_built(generation.python, version=record.python, lock=record.lock, variables=variables)
        if reason is None:
            with contextlib.suppress(OSError):  # a cache that may only be read is checked each time
                generation.write_marker(Marker(record=record, stamp=stamp))
        return reason

    def _prepare(self, slot: Slot) -> None:
        try:
            slot.prepare()
            tag = self.root / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text(CACHE_TAG, encoding="utf-8")
        except OSError as error:
            raise EnvironmentFailed(
                f"The cache folder `{self.root}` cannot be used: {error.strerror}. Set `BENCH_CACHE_DIR` to another."
            ) from error
