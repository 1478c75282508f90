// SPDX-License-Identifier: BSD-3-Clause
#include "roce/flow_key.h"

#include <algorithm>
#include <cstring>

namespace lw::roce {
namespace {

std::array<std::byte, 16> mapped(const wire::Ipv4Address& address) noexcept {
  std::array<std::byte, 16> result{};
  result[10] = result[11] = std::byte{0xff};
  std::ranges::copy(address.bytes, result.begin() + 12);
  return result;
}

std::uint64_t load(const std::array<std::byte, 16>& bytes, std::size_t offset) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// One step of a multiplicative hash; the constant is 2^64 over the golden ratio.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

FlowKey flow_key(const Frame& frame) noexcept {
  FlowKey key;
  const Envelope& envelope = frame.envelope;
  if (envelope.ipv4) {
    key.source = mapped(envelope.ipv4->source);
    key.destination = mapped(envelope.ipv4->destination);
  } else {
    const wire::Ipv6* ip = envelope.ipv6 ? envelope.ipv6 : envelope.grh;
    key.source = ip->source.bytes;
    key.destination = ip->destination.bytes;
  }
  key.dest_qp = frame.bth->dest_qp.get();
  key.role = frame.info ? frame.info->role : wire::Role::request;
  return key;
}

std::size_t FlowKeyHash::operator()(const FlowKey& key) const noexcept {
  std::uint64_t hash = mix(std::uint64_t{key.dest_qp} << 8, static_cast<std::uint64_t>(key.role));
  for (const std::size_t offset : {std::size_t{0}, std::size_t{8}}) {
    hash = mix(mix(hash, load(key.source, offset)), load(key.destination, offset));
  }
  return hash;
}

}  // namespace lw::roce
