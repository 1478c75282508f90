// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/way.h"

#include <algorithm>
#include <cstring>

namespace lw::impair {

bool Way::turn(bool receiving) noexcept {
  std::size_t moved = 0;
  if (receiving) {
    // What could not leave again is not taken in: a blocked way out shows at the device's ring.
    std::size_t room = std::min(kBurst, link_.egress_room());
    // A file waits, unlike a wire.
    if (from_->finite()) room = std::min(room, link_.queue_room());
    moved = room ? from_->receive(std::span(burst_).first(room)) : 0;
    // By the time they are looked at, what is due has left.
    for (rte_mbuf* frame : std::span(burst_).first(moved))
      rte_prefetch0(rte_pktmbuf_mtod(frame, const void*));
  }
  if (!moved) {
    exhausted_.store(from_->exhausted(), std::memory_order_relaxed);
    link_.fetch_next();
  }
  const Instant now = clock_();
  looked_ = now;
  link_.release(now, moved);
  if (moved) {
    last_received_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    if (way_in_) [[likely]] {
      admit(std::span(burst_).first(moved), now);
    } else {
      turn_away(std::span(burst_).first(moved), now);
    }
  }
  if (pauses_)
    exchange_pauses(*pauses_, link_, now,
                    [&](const wire::PfcFields& fields) { send_pause(fields, now); });
  const bool busy = moved == kBurst;
  moved += send();
  if (!busy) moved += send_on_time();
  if (moved) link_.flush_ledger();
  return moved != 0;
}

/// What fell due meanwhile, or is about to, needn't wait until both ways have been looked at; where
/// that is nothing new under load, larger bursts are worth more.
std::size_t Way::send_on_time() noexcept {
  const Instant next = link_.next_release();
  if (next > looked_ + kAboutToBeDue) return 0;
  // A clock that doesn't run mustn't hold the loop.
  for (int looks = 0; next > looked_ && looks < kMostLooks; ++looks) looked_ = clock_();
  link_.release(looked_);
  return send();
}

void Way::admit(std::span<rte_mbuf*> frames, Instant now) noexcept {
  std::array<rte_mbuf*, kBurst> dropped;
  if (link_.pipeline().takes_pauses() && pauses_) [[unlikely]]
    frames = take_pauses(frames, now);
  const std::size_t ours = make_own(frames);
  std::size_t drops = recorder_ ? 0 : link_.admit(frames.first(ours), now, dropped);
  for (rte_mbuf* frame : frames.subspan(recorder_ ? 0 : ours))
    if (!admit_by_itself(frame, now)) dropped[drops++] = frame;
  if (drops) rte_pktmbuf_free_bulk(dropped.data(), static_cast<unsigned>(drops));
}

/// They are told to the other direction, and go no further; what is left is returned.
std::span<rte_mbuf*> Way::take_pauses(std::span<rte_mbuf*> frames, Instant now) noexcept {
  std::size_t left = 0;
  for (rte_mbuf* frame : frames) {
    const auto asked = wire::pfc_of(bytes_of(frame));
    if (!asked) {
      frames[left++] = frame;
      continue;
    }
    emulator::LedgerRecord told;
    take_pause(*pauses_, link_, *asked, envelope_of(frame), now, &told);
    if (recorder_) record_as_lost(frame, now, told);
    rte_pktmbuf_free(frame);
  }
  return frames.first(left);
}

void Way::record_as_lost(rte_mbuf* frame, Instant now,
                         const emulator::LedgerRecord& told) noexcept {
  recorder_->stage(bytes_of(frame), rte_pktmbuf_pkt_len(frame));
  recorder_->say(0, now, false, told);
  recorder_->publish(1, false);
}

/// Where there is no buffer for it it is as if lost on its way.
void Way::send_pause(const wire::PfcFields& fields, Instant now) noexcept {
  const auto bytes = wire::pfc_frame({to_->mac_address()}, fields);
  rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
  if (!frame) return;
  std::memcpy(rte_pktmbuf_append(frame, bytes.size()), bytes.data(), bytes.size());
  if (!link_.create(frame, bytes.size(), now)) rte_pktmbuf_free(frame);
}

/// The record has the frame as it came.
bool Way::admit_by_itself(rte_mbuf* frame, Instant now) noexcept {
  const roce::Envelope envelope = envelope_of(frame);
  emulator::LedgerRecord told;
  if (recorder_) recorder_->stage(bytes_of(frame), rte_pktmbuf_pkt_len(frame));
  const bool kept = is_held_by_others(frame) ? link_.admit_without_buffer(envelope, now, &told)
                                             : link_.admit(frame, envelope, now, &told);
  if (!recorder_) return kept;
  recorder_->say(0, now, false, told);
  recorder_->publish(1, false);
  return kept;
}

void Way::turn_away(std::span<rte_mbuf*> frames, Instant now) noexcept {
  for (rte_mbuf* frame : frames) {
    emulator::LedgerRecord told;
    link_.turn_away(envelope_of(frame), now, &told);
    if (recorder_) record_as_lost(frame, now, told);
  }
  rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
}

/// A frame carries what is known of it while it is inside, so nobody else may hold it; and the
/// bytes of frames that stages may change are nobody else's. Where there is no buffer for a copy
/// the frame stays as it is, and is dropped for want of one. Returns how many there are before the
/// first such frame.
std::size_t Way::make_own(std::span<rte_mbuf*> frames) noexcept {
  const bool edits = link_.pipeline().edits();
  const auto foreign = [edits](const rte_mbuf* frame) {
    return is_held_by_others(frame) || (edits && is_shared(frame));
  };
  if (std::ranges::none_of(frames, foreign)) [[likely]]
    return frames.size();
  for (rte_mbuf*& frame : frames) {
    if (!foreign(frame)) continue;
    if (const auto own = MbufAccess::clone(frame)) {
      rte_pktmbuf_free(frame);
      frame = *own;
    }
  }
  return static_cast<std::size_t>(std::ranges::find_if(frames, is_held_by_others) - frames.begin());
}

std::size_t Way::send() noexcept {
  std::size_t total = 0;
  if (!way_out_) [[unlikely]] {
    total = link_.egress_size();
    link_.lose_egress([](rte_mbuf* frame) { return envelope_of(frame); },
                      [](rte_mbuf* frame) { rte_pktmbuf_free(frame); });
    return total;
  }
  while (true) {
    auto out = link_.egress();
    out = out.first(std::min(out.size(), kSendBurst));
    if (out.empty()) return total;
    if (recorder_) [[unlikely]]
      for (const rte_mbuf* frame : out) recorder_->stage(bytes_of(frame), frame->pkt_len);
    const std::size_t count = to_->send(out);
    const Instant now = count || recorder_ ? looked_ = clock_() : Instant{};
    if (recorder_) [[unlikely]] {
      for (std::size_t i = 0; i < count; ++i)
        recorder_->say(
            i, now, true,
            record_of(link_.egress_transit(i), link_.egress_number(i), recorder_->direction()));
      recorder_->publish(count, true);
    }
    if (count) link_.sent(count, now);
    total += count;
    if (count < out.size()) return total;
  }
}

void Way::abandon() noexcept {
  link_.abandon([](rte_mbuf* frame) { return envelope_of(frame); },
                [](rte_mbuf* frame) { rte_pktmbuf_free(frame); });
  link_.flush_ledger();
}

}  // namespace lw::impair
