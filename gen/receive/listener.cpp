// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/listener.h"

#include <algorithm>

#include <rte_mbuf.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

wire::Bytes bytes_of(const rte_mbuf* buffer) noexcept {
  return {rte_pktmbuf_mtod(buffer, const std::byte*), rte_pktmbuf_data_len(buffer)};
}

}  // namespace

Result<std::size_t> Listener::poll(nic::Port& port, ResponderPort* station) {
  const std::size_t count = port.receive(buffers_);
  if (count == 0) return count;
  const Instant now = nic::now();
  if (frames_ == 0) first_ = now;
  last_ = now;
  const std::size_t wanted = std::min<std::uint64_t>(count, most_ - frames_);
  // A file's frames left some other time: they have no latency here.
  const bool send_clock = !port.finite();
  for (const rte_mbuf* buffer : std::span(buffers_).first(wanted)) {
    measurement_.take(bytes_of(buffer), now, send_clock);
    if (station != nullptr) station->answer(bytes_of(buffer));
  }
  if (station != nullptr) station->send_answers();
  frames_ += wanted;
  const auto kept = keep_copies(wanted);
  rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(count));
  if (!kept) return std::unexpected(kept.error());
  return count;
}

Result<void> Listener::keep_copies(std::size_t count) {
  if (copy_ == nullptr) return {};
  const Instant stamp = instant_from_ns(nic::wall_clock_ns());
  for (const rte_mbuf* buffer : std::span(buffers_).first(count)) {
    const wire::Bytes bytes = bytes_of(buffer);
    auto written = copy_->write(stamp, bytes, static_cast<std::uint32_t>(bytes.size()));
    if (!written) return written;
  }
  return {};
}

}  // namespace lw::gen
