# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams and events of torch.lazy, as library code uses torch.cuda's."""

import time

import pytest
import torch


def busy():
    x = torch.full((256, 256), 1e-3, device="lazy")
    for _ in range(20):
        x = x @ x
    return x


def test_events_mark_places_in_the_queue():
    start, end = (torch.lazy.Event(enable_timing=True) for _ in range(2))
    busy().sum().item()  # compiled before it is timed
    begin = time.perf_counter()
    start.record()
    x = busy()
    end.record()
    end.synchronize()
    passed = (time.perf_counter() - begin) * 1e3
    assert end.query() and start.query()
    assert 0 < start.elapsed_time(end) <= passed
    assert x.isfinite().all()


def test_recording_ends_the_step(counts):
    counts.restart()
    x = busy()
    torch.lazy.Event().record()
    assert counts["execute.launches"] == 1
    assert x[0, 0].item() == 0


def test_elapsed_time_wants_timed_and_recorded_events():
    timed, untimed = torch.lazy.Event(enable_timing=True), torch.lazy.Event()
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        timed.elapsed_time(untimed)
    with pytest.raises(RuntimeError, match="were recorded"):
        timed.elapsed_time(timed)
    assert untimed.query()  # as torch.cuda says of an event that was never recorded
    untimed.synchronize()


def test_streams_are_the_devices_queue():
    stream = torch.lazy.Stream()
    assert stream == torch.lazy.current_stream() == torch.lazy.default_stream()
    assert stream.device == torch.device("lazy:0")
    with torch.lazy.stream(stream) as inside:
        assert inside is stream
        x = busy()
        event = stream.record_event()
    stream.wait_event(event)
    stream.wait_stream(torch.lazy.current_stream())
    stream.synchronize()
    assert stream.query() and event.query()
    assert x.isfinite().all()
    with torch.lazy.stream(None):
        pass


def test_what_libraries_ask_of_a_device_module():
    free, total = torch.lazy.mem_get_info()
    assert 0 < free < total
    properties = torch.lazy.get_device_properties(0)
    assert properties.name == torch.lazy.get_device_name() == "ltc cpu:0"
    assert properties.total_memory == total
    assert torch.lazy.is_bf16_supported()
    assert not torch.lazy._is_in_bad_fork()
    torch.lazy.empty_cache()
    with torch.lazy.device(0):
        assert torch.lazy.current_device() == 0
    with pytest.raises(RuntimeError, match="no device lazy:9"):
        torch.lazy.mem_get_info(9)
