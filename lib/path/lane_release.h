// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lane.h: frames leave.
#include <cstring>

#include "path/lane.h"
#include "path/lane_impl.h"

namespace lw::path {

/// Only with room for all on the way out.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::let_out(std::span<const Entry> entries) noexcept {
  while (!entries.empty()) {
    // Both rings are as long, and have as much inside.
    const std::span<Handle> handles = egress_.places(entries.size());
    const std::span<Leaving> leaving = leaving_.places(handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
      handles[i] = entries[i].handle;
      std::memcpy(&leaving[i].transit, &entries[i].transit(), sizeof(Transit));
      leaving[i].due = entries[i].due;
    }
    entries = entries.subspan(handles.size());
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::release(Instant now, std::size_t spare) noexcept {
  const std::size_t room = egress_.room();
  if (room > spare)
    queue_.take_due(now, room - spare,
                    [this](std::span<const Entry> entries) { let_out(entries); });
  if (next_deadline_ <= now) [[unlikely]]
    let_out_held(now, spare);
}

/// Nobody came to overtake them.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::let_out_held(Instant now, std::size_t spare) noexcept {
  for (Held<Entry>& held : held_) {
    for (; !held.empty() && held.deadline() <= now && egress_.room() > spare; held.pop()) {
      Entry entry = held.front();
      entry.due = held.deadline();
      let_out(std::span(&entry, 1));
      --held_frames_;
    }
  }
  find_deadline();
}

/// Frames that a rule let out at one due time are counted together.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::sent(std::size_t count, Instant now) noexcept {
  // As much of it as of egress() lies side by side.
  const auto gone = std::span<const Leaving>(leaving_.contiguous()).first(count);
  Amount all;
  for (auto left = gone.begin(); left != gone.end();) {
    const Leaving& first = *left;
    Amount amount;
    bool logged = false;
    do {
      amount += {1, left->transit.bytes};
      logged |= left->transit.logged;
    } while (++left != gone.end() && leaves_with(first, *left));
    if (logged) [[unlikely]]
      close_ledger({&first, static_cast<std::size_t>(amount.frames)}, now);
    (first.transit.queued ? release_error_ : pass_latency_)
        .add((now - first.due).count(), amount.frames);
    add(of(first.transit.rule).sent, amount);
    all += amount;
  }
  add(direction_.sent, all);
  egress_.pop(count);
  egress_.rewind();
  leaving_.pop(count);
  leaving_.rewind();
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::close_ledger(std::span<const Leaving> gone, Instant now) noexcept {
  for (const Leaving& frame : gone)
    if (frame.transit.logged) ledger_.close(slot_of(frame.transit), now);
}

}  // namespace lw::path
