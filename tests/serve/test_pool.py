"""Threads of a server: order, errors, one teaching at a time."""

from __future__ import annotations

import asyncio
import time

import pytest

from memoryless.serve.pool import Pool


def test_results_are_in_order():
    async def run():
        pool = Pool(4)

        def slowly(x):
            time.sleep(0.02 * (3 - x))
            return x

        try:
            return await pool.map(slowly, range(4))
        finally:
            pool.close()

    assert asyncio.run(run()) == [0, 1, 2, 3]


def test_an_error_drops_what_has_not_begun():
    begun = []

    def work(x):
        begun.append(x)
        time.sleep(0.02)
        raise ValueError(x)

    async def run():
        pool = Pool(1)
        try:
            with pytest.raises(ValueError, match="0"):
                await pool.map(work, range(50))
        finally:
            pool.close()

    asyncio.run(run())
    assert len(begun) < 5


def test_teaching_is_one_after_another_beside_photos():
    inside, most = [0], [0]

    def teach():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)
        inside[0] -= 1

    async def run():
        pool = Pool(2)
        teaching = [asyncio.ensure_future(pool.teach(teach)) for _ in range(4)]
        assert await pool.run(str, 1) == "1"
        assert not teaching[-1].done()
        await asyncio.gather(*teaching)
        pool.close()

    asyncio.run(run())
    assert most == [1]
