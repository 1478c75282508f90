// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/payload_pool.h"

#include <cassert>

#include "core/chance.h"

namespace lw::gen {
namespace {

constexpr std::size_t kLongest = 4096;  // the largest MTU

/// ITU-T O.150's sequence of 2^31 - 1 bits, first bit sent first (the byte's top bit).
class Prbs31 {
 public:
  explicit Prbs31(std::uint64_t seed)
      : state_(static_cast<std::uint32_t>(Chance(seed, hash_name("prbs31")).bits(0)) & kMask) {
    if (state_ == 0) state_ = 1;  // the one state that would stay for ever
  }

  std::byte next() {
    unsigned byte = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t fresh = (state_ >> 30 ^ state_ >> 27) & 1;
      state_ = (state_ << 1 | fresh) & kMask;
      byte = byte << 1 | fresh;
    }
    return static_cast<std::byte>(byte);
  }

 private:
  static constexpr std::uint32_t kMask = 0x7fffffff;
  std::uint32_t state_;
};

std::vector<std::byte> make(const config::Payload& payload, std::uint64_t seed) {
  std::vector<std::byte> bytes(kLongest);
  Prbs31 prbs(seed);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    switch (payload.pattern) {
      case config::Pattern::zeros:
        break;
      case config::Pattern::counter:
        bytes[i] = static_cast<std::byte>(i & 0xff);
        break;
      case config::Pattern::prbs31:
        bytes[i] = prbs.next();
        break;
      case config::Pattern::text:
      case config::Pattern::file:
        bytes[i] = static_cast<std::byte>(payload.text[i % payload.text.size()]);
        break;
    }
  }
  return bytes;
}

}  // namespace

wire::Bytes PayloadPool::get(const config::Payload& payload, std::size_t length) {
  assert(length <= kLongest);
  auto place = patterns_.find(payload);
  if (place == patterns_.end()) place = patterns_.emplace(payload, make(payload, seed_)).first;
  return wire::Bytes(place->second).first(length);
}

}  // namespace lw::gen
