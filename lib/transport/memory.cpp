// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory.h"

#include <cstring>
#include <limits>

namespace lw::transport {

Memory::Memory(Kind kind, std::uint64_t va, std::uint64_t size, std::uint32_t r_key)
    : range_(va, size), r_key_(r_key), has_bytes_(kind == Kind::real && size > 0) {
  if (has_bytes_) bytes_.resize(size);
}

Memory::Memory(MemoryContent& content, std::uint64_t va, std::uint64_t size, std::uint32_t r_key)
    : range_(va, size), r_key_(r_key), has_bytes_(size > 0), content_(&content) {}

void Memory::read(std::uint64_t va, std::span<std::byte> out) noexcept {
  if (out.empty()) return;
  const auto from = bytes(va, out.size());
  if (!from.empty()) {
    std::memcpy(out.data(), from.data(), out.size());
  } else if (content_ != nullptr && holds(va, out.size())) {
    content_->read(va, out);
  } else {
    std::memset(out.data(), 0, out.size());
  }
}

PayloadSlot Memory::copy_out(std::uint64_t va, std::uint32_t length, PayloadStore& store) {
  const PayloadSlot slot = store.allocate();
  read(va, store.bytes(slot, length));
  return slot;
}

void Memory::copy_in(std::uint64_t va, PayloadSlot slot, std::uint32_t length,
                     PayloadStore& store) {
  const wire::Bytes from = store.content(slot, length);
  const auto to = bytes(va, length);
  if (!to.empty()) {
    std::memcpy(to.data(), from.data(), to.size());
  } else if (content_ != nullptr && holds(va, length)) {
    content_->write(va, from);
  }
}

std::uint64_t Memory::load(std::uint64_t va) noexcept {
  std::uint64_t value = 0;
  const auto from = bytes(va, sizeof value);
  if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
  return value;
}

void Memory::store(std::uint64_t va, std::uint64_t value) noexcept {
  const auto to = bytes(va, sizeof value);
  if (!to.empty()) std::memcpy(to.data(), &value, sizeof value);
}

using wire::Operation;

namespace {

/// A UD receive starts with space for the sender's GRH. (IBTA vol. 1, 11.4.1.2)
constexpr std::uint32_t kGrhRoom = 40;

}  // namespace

/// Starts a SEND: it is stored in the next receive's buffer.
Refusal MessageSink::begin_send() {
  if (lacks_receive()) return Refusal::no_receive;
  const bool somewhere = !config_.endless_receives;
  va_ = somewhere ? receives_.front().va : 0;
  room_ = somewhere ? receives_.front().length : std::numeric_limits<std::uint64_t>::max();
  if (config_.transport == wire::Transport::ud && somewhere) {
    if (room_ < kGrhRoom) return Refusal::invalid_request;
    va_ += kGrhRoom;
    room_ -= kGrhRoom;
  }
  return Refusal::none;
}

/// Reports a complete message.
void MessageSink::report(const Packet& packet, const OpcodeMeaning& meaning, Instant now) {
  const bool takes_receive = meaning.operation == Operation::send || meaning.immediate;
  Completion arrival{.at = now,
                     .length = static_cast<std::uint32_t>(got_),
                     .word = packet.word,
                     .operation = meaning.operation,
                     .arrival = true,
                     .immediate = meaning.immediate};
  if (takes_receive && !config_.endless_receives) {
    arrival.id = receives_.front().id;
    receives_.pop();
  }
  arrivals_.push(arrival);
}

void MessageSink::abandon() { open_ = false; }

}  // namespace lw::transport
