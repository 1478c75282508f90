// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include <rapidcheck.h>

#include "roce/compose.h"

namespace lw::test {

template <std::size_t N>
std::array<std::byte, N> random_bytes() {
  std::array<std::byte, N> bytes{};
  for (auto& b : bytes) b = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  return bytes;
}

/// A value of the whole range of a field; rapidcheck alone prefers small values.
template <class T>
T wide(T bits_mask = static_cast<T>(~T{0})) {
  return static_cast<T>(*rc::gen::resize(100, rc::gen::arbitrary<T>()) & bits_mask);
}

inline std::vector<std::byte> random_payload(std::size_t longest) {
  const auto length = *rc::gen::inRange<std::size_t>(0, longest + 1);
  const auto seed = wide<std::uint32_t>();
  std::vector<std::byte> payload(length);
  std::uint32_t state = seed | 1;
  for (auto& b : payload) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return payload;
}

inline std::uint8_t random_opcode() {
  const auto all = wire::all_opcodes();
  return all[*rc::gen::inRange<std::size_t>(0, all.size())].opcode;
}

inline wire::BthFields random_bth(std::uint8_t opcode) {
  wire::BthFields bth;
  bth.opcode = opcode;
  bth.solicited_event = *rc::gen::arbitrary<bool>();
  bth.mig_req = *rc::gen::arbitrary<bool>();
  bth.version = wide<std::uint8_t>(15);
  bth.p_key = wide<std::uint16_t>();
  bth.fecn = *rc::gen::arbitrary<bool>();
  bth.becn = *rc::gen::arbitrary<bool>();
  bth.reserved6 = wide<std::uint8_t>(0x3f);
  bth.dest_qp = wide<std::uint32_t>(0xffffff);
  bth.ack_req = *rc::gen::arbitrary<bool>();
  bth.reserved7 = wide<std::uint8_t>(0x7f);
  bth.psn = wire::Psn{wide<std::uint32_t>()};
  return bth;
}

inline void randomise_extensions(roce::FrameFields& f) {
  wire::for_each_extension(
      []<class Header>(wire::Extension, typename Header::Fields& values) {
        std::array<std::byte, sizeof(Header)> bytes{};
        for (auto& b : bytes) b = static_cast<std::byte>(wide<std::uint8_t>());
        values = wire::view<Header>(wire::Bytes{bytes})->fields();
      },
      f);
}

inline void randomise_network(roce::FrameFields& f) {
  f.encapsulation = *rc::gen::element(wire::Encapsulation::ipv4, wire::Encapsulation::ipv6,
                                      wire::Encapsulation::grh);
  f.ipv4.dscp = wide<std::uint8_t>(63);
  f.ipv4.ecn = wide<std::uint8_t>(3);
  f.ipv4.id = wide<std::uint16_t>();
  f.ipv4.dont_fragment = *rc::gen::arbitrary<bool>();
  f.ipv4.ttl = wide<std::uint8_t>();
  f.ipv4.source.bytes = random_bytes<4>();
  f.ipv4.destination.bytes = random_bytes<4>();
  f.ipv6.traffic_class = wide<std::uint8_t>();
  f.ipv6.flow_label = wide<std::uint32_t>(0xfffff);
  f.ipv6.hop_limit = wide<std::uint8_t>();
  f.ipv6.source.bytes = random_bytes<16>();
  f.ipv6.destination.bytes = random_bytes<16>();
  f.source_port = wide<std::uint16_t>();
}

/// Returns a frame of any opcode with random fields, over IPv4, IPv6 or RoCEv1, with 0..2 tags.
inline roce::FrameFields random_frame() {
  roce::FrameFields f;
  f.source_mac.bytes = random_bytes<6>();
  f.destination_mac.bytes = random_bytes<6>();
  for (int tags = *rc::gen::inRange(0, 3); tags > 0; --tags) {
    f.vlans.push_back({.priority = wide<std::uint8_t>(7),
                       .drop_eligible = *rc::gen::arbitrary<bool>(),
                       .id = wide<std::uint16_t>(0xfff)});
  }
  randomise_network(f);
  f.bth = random_bth(random_opcode());
  randomise_extensions(f);
  return f;
}

}  // namespace lw::test
