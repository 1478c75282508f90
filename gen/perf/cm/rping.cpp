// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/rping.h"

#include <algorithm>

#include <fmt/format.h>

#include "nic/clock.h"
#include "wire/view.h"

namespace lw::gen {

using transport::Completion;
using wire::Operation;

namespace {

struct PingBufferBytes {
  wire::Be64 va;
  wire::Be32 r_key, size;
};
static_assert(sizeof(PingBufferBytes) == kPingBufferSize);

}  // namespace

void put_ping_buffer(const PingBuffer& buffer, std::span<std::byte> bytes) noexcept {
  auto* out = wire::view<PingBufferBytes>(wire::MutableBytes(bytes));
  out->va.set(buffer.va);
  out->r_key.set(buffer.r_key);
  out->size.set(buffer.size);
}

std::optional<PingBuffer> read_ping_buffer(wire::Bytes bytes) noexcept {
  const auto* in = wire::view<PingBufferBytes>(bytes);
  if (in == nullptr) return std::nullopt;
  return PingBuffer{.va = in->va.get(), .r_key = in->r_key.get(), .size = in->size.get()};
}

SessionParams ping_params(std::uint32_t size) noexcept {
  constexpr std::uint32_t kSlots = 2, kDepth = 4;  // two SENDs and a READ or WRITE at most
  return {.operation = Operation::send,
          .size = std::max<std::uint32_t>(size, kPingBufferSize),
          .slots = kSlots,
          .depth = kDepth};
}

void put_ping_text(std::uint64_t number, std::span<std::byte> bytes) noexcept {
  constexpr char kFirst = 'A', kLetters = 'z' - 'A' + 1;
  char prefix[40];
  const auto end = fmt::format_to_n(prefix, sizeof prefix, "rdma-ping-{}: ", number).out;
  const auto length = std::min(static_cast<std::size_t>(end - prefix), bytes.size());
  std::ranges::copy(std::as_bytes(std::span(prefix, length)), bytes.begin());
  for (std::size_t i = length; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(kFirst + static_cast<char>((number + i - length) % kLetters));
  }
  if (!bytes.empty()) bytes.back() = std::byte{0};
}

PingServer::PingServer(Connection& connection)
    : connection_(connection), layout_(connection.qpn(), ping_params(kLongest)) {
  // The client announces nothing before the answer, but it may begin the next ping early.
  for (int i = 0; i < 2; ++i) post_receive();
  connection.run(*this);
}

void PingServer::on_completion(transport::QpSet& /*qps*/, std::uint32_t /*qp*/,
                               const Completion& done, Instant now) {
  if (done.status != transport::Status::success) return;
  if (done.arrival) {
    if (done.operation == Operation::send) handle_announcement(done, now);
    return;
  }
  if (done.operation == Operation::send) return;
  if (done.operation == Operation::write) {
    ++pings_;
    size_ = 0;
  }
  bytes_ += done.length;
  answer(now);
}

/// Handles an announcement: the first of a ping is its source, the second its sink.
void PingServer::handle_announcement(const Completion& arrival, Instant now) {
  const auto buffer =
      read_ping_buffer(connection_.memory().bytes(layout_.inbox(0), arrival.length));
  post_receive();
  const bool source = size_ == 0;
  if (!buffer || buffer->size == 0 || buffer->size > kLongest ||
      (!source && buffer->size < size_)) {
    ++wrong_;
    return;
  }
  if (source) size_ = buffer->size;
  connection_.post({.operation = source ? Operation::read_request : Operation::write,
                    .length = size_,
                    .local_va = layout_.inbox(1),
                    .remote_va = buffer->va,
                    .r_key = buffer->r_key},
                   now);
}

void PingServer::answer(Instant now) {
  connection_.post(
      {.operation = Operation::send, .length = kPingBufferSize, .local_va = layout_.outbox(0)},
      now);
}

}  // namespace lw::gen
