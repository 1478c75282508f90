// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/tx_burst.h"

#include <algorithm>
#include <sched.h>

#include <rte_mbuf.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(200);

}  // namespace

TxBurst::~TxBurst() {
  for (std::size_t i = 0; i < count_; ++i) rte_pktmbuf_free(buffers_[i]);
}

wire::MutableBytes TxBurst::add(std::size_t size) noexcept {
  rte_mbuf* buffer = rte_pktmbuf_alloc(pool_.get());
  if (buffer == nullptr) return {};
  auto* room = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(size));
  if (room == nullptr) {
    rte_pktmbuf_free(buffer);
    return {};
  }
  buffers_[count_++] = buffer;
  return {reinterpret_cast<std::byte*>(room), size};
}

bool TxBurst::add(wire::Bytes frame) noexcept {
  const wire::MutableBytes room = add(frame.size());
  if (room.empty()) return false;
  std::ranges::copy(frame, room.begin());
  return true;
}

std::size_t TxBurst::send() noexcept {
  const Instant give_up = stuck_ ? Instant{} : nic::now() + kPatience;
  const auto burst = std::span(buffers_).first(count_);
  std::size_t sent = port_.send(burst);
  while (sent < count_ && nic::now() < give_up) {
    sched_yield();  // on a small machine the reader may be waiting for this very core
    sent += port_.send(burst.subspan(sent));
  }
  stuck_ = count_ > 0 && sent == 0;
  for (rte_mbuf* left : burst.subspan(sent)) rte_pktmbuf_free(left);
  count_ = 0;
  return sent;
}

}  // namespace lw::gen
