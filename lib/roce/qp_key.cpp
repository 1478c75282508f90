// SPDX-License-Identifier: BSD-3-Clause
#include "roce/qp_key.h"

#include <bit>
#include <cstring>

namespace lw::roce {
namespace {

constexpr std::uint32_t kVersionShift = 24;

std::uint32_t number_of(const wire::Ipv4Address& address) noexcept {
  std::uint32_t value;
  std::memcpy(&value, address.bytes.data(), sizeof value);
  return value;
}

}  // namespace

QpKey qp_key(const Envelope& envelope, std::uint32_t dest_qp) noexcept {
  if (envelope.ipv4) return qp_key(*envelope.ipv4, dest_qp);
  QpKey key;
  std::memcpy(&key.addresses[0], envelope.ipv6->source.bytes.data(), 16);
  std::memcpy(&key.addresses[2], envelope.ipv6->destination.bytes.data(), 16);
  key.dest_qp = dest_qp | 6u << kVersionShift;
  return key;
}

QpKey qp_key(const wire::Ipv4& ipv4, std::uint32_t dest_qp) noexcept {
  QpKey key;
  const std::uint64_t source = number_of(ipv4.source);
  key.addresses[0] = source << 32 | number_of(ipv4.destination);
  key.dest_qp = dest_qp | 4u << kVersionShift;
  return key;
}

QpKey reversed(const QpKey& key, std::uint32_t dest_qp) noexcept {
  const std::uint32_t version = key.dest_qp >> kVersionShift;
  QpKey result{
      .addresses = {key.addresses[2], key.addresses[3], key.addresses[0], key.addresses[1]},
      .dest_qp = dest_qp | version << kVersionShift};
  if (version == 4) {
    result.addresses[0] = std::rotl(key.addresses[0], 32);
    result.addresses[2] = 0;
  }
  return result;
}

}  // namespace lw::roce
