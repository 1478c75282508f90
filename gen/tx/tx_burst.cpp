// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/tx_burst.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <rte_errno.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kTimeout = std::chrono::milliseconds(200);

}  // namespace

static_assert(SendBuffers::kPayloadAt >= FrameTemplate::kHeadroom);
static_assert(SendBuffers::kPayloadAt + FrameTemplate::kTailroom <=
              RTE_PKTMBUF_HEADROOM + SendBuffers::kUsual.frame_size);

Result<SendBuffers> SendBuffers::create(const std::string& name, const nic::PoolConfig& config) {
  constexpr rte_mbuf_dynfield kTag = {.name = "longwire_buffer_tag",
                                      .size = sizeof(BufferTag),
                                      .align = alignof(BufferTag),
                                      .flags = 0};
  const int offset = rte_mbuf_dynfield_register(&kTag);
  if (offset < 0) {
    return fail(fmt::format("no space for a field in DPDK's buffers: {}", rte_strerror(rte_errno)),
                ExitCode::environment);
  }
  auto pool = nic::Pool::create(name, config);
  if (!pool) return std::unexpected(pool.error());
  return SendBuffers(std::move(*pool), offset);
}

/// rte_pktmbuf_alloc() would reset fields that are valid already: a freed buffer has one reference,
/// one segment and no next one.
std::size_t SendBuffers::allocate(std::span<rte_mbuf*> out) noexcept {
  auto** objects = reinterpret_cast<void**>(out.data());
  if (rte_mempool_get_bulk(pool_.get(), objects, static_cast<unsigned>(out.size())) == 0) {
    return out.size();
  }
  std::size_t taken = 0;
  while (taken < out.size() && rte_mempool_get(pool_.get(), objects + taken) == 0) ++taken;
  return taken;
}

TxBurst::TxBurst(TxBurst&& other) noexcept
    : port_(other.port_),
      pool_(other.pool_),
      queue_(other.queue_),
      idle_(other.idle_),
      stuck_(other.stuck_),
      size_(std::exchange(other.size_, 0)),
      have_(std::exchange(other.have_, 0)),
      buffers_(other.buffers_) {}

TxBurst::~TxBurst() { rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(have_)); }

wire::MutableBytes TxBurst::add(std::size_t size) noexcept {
  rte_mbuf* buffer = rte_pktmbuf_alloc(pool_->get());
  if (buffer == nullptr) return {};
  auto* bytes = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(size));
  if (bytes == nullptr) {
    rte_pktmbuf_free(buffer);
    return {};
  }
  buffers_[size_++] = buffer;
  have_ = size_;
  return {reinterpret_cast<std::byte*>(bytes), size};
}

bool TxBurst::add(wire::Bytes frame) noexcept {
  const wire::MutableBytes bytes = add(frame.size());
  if (bytes.empty()) return false;
  std::ranges::copy(frame, bytes.begin());
  return true;
}

std::size_t TxBurst::send(Instant now) noexcept {
  if (size_ == 0) return 0;
  std::size_t sent = port_->send(std::span(buffers_).first(size_), queue_);
  if (sent < size_ && !stuck_) sent = retry(sent, now + kTimeout);
  stuck_ = sent == 0;
  // The port owns the frames it took; the spare buffers stay here.
  rte_pktmbuf_free_bulk(buffers_.data() + sent, static_cast<unsigned>(size_ - sent));
  std::copy(buffers_.begin() + static_cast<std::ptrdiff_t>(size_),
            buffers_.begin() + static_cast<std::ptrdiff_t>(have_), buffers_.begin());
  have_ -= size_;
  size_ = 0;
  return sent;
}

std::size_t TxBurst::retry(std::size_t sent, Instant deadline) noexcept {
  constexpr Duration kNap = std::chrono::microseconds(100);  // a ring holds more than that
  const auto burst = std::span(buffers_).first(size_);
  while (sent < size_ && nic::now() < deadline) {
    idle_.nap(kNap);  // on a small machine the reader may need this core
    sent += port_->send(burst.subspan(sent), queue_);
  }
  return sent;
}

namespace {

wire::Bytes bytes_of(const rte_mbuf* buffer) noexcept {
  return {rte_pktmbuf_mtod(buffer, const std::byte*), buffer->data_len};
}

}  // namespace

void FlowBurst::make_copies() {
  const auto frames = burst_.frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const wire::Bytes frame = bytes_of(frames[i]);
    copies_[i].assign(frame.begin(), frame.end());
  }
}

FlowBurst::Outcome FlowBurst::send(Instant start) noexcept {
  if (count_ == 0) return {};
  Outcome outcome{.groups = std::span(groups_).first(group_count_), .flows = flows_};
  if (const auto frames = burst_.frames(); !frames.empty()) {
    if (!copies_.empty()) {
      make_copies();
      outcome.wall_clock_ns = nic::wall_clock_ns();
    }
    audit_->look_at(frames.size(), [&](std::size_t i) { return bytes_of(frames[i]); });
    const Instant now = nic::now();
    // A timed port gets its frames early.
    const Duration late = now - (start + first_due_);
    audit_->pacing_error.add(std::max(late, Duration{0}).count());
    if (late > SendAudit::kLate) audit_->late_frames += frames.size();
    outcome.sent = burst_.send(now);
    outcome.clock = outcome.sent == frames.size() ? now : nic::now();  // it may have retried
  }
  outcome.complete = outcome.sent == count_;
  count_ = group_count_ = 0;
  return outcome;
}

}  // namespace lw::gen
