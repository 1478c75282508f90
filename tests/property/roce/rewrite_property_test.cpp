// SPDX-License-Identifier: BSD-3-Clause
#include "roce/compose.h"
#include "support/property.h"
#include "support/random_frame.h"
#include "support/rewritten_fields.h"

namespace lw {
namespace {

template <class T, class Make>
std::optional<T> sometimes(Make make) {
  if (*rc::gen::arbitrary<bool>()) return T{make()};
  return std::nullopt;
}

wire::IpAddress random_ip() {
  if (*rc::gen::arbitrary<bool>()) return wire::Ipv4Address{test::random_bytes<4>()};
  return wire::Ipv6Address{test::random_bytes<16>()};
}

/// Half of what it could change is in the frame, so that maps hit and miss.
std::uint32_t key_for(std::uint32_t in_frame) {
  return *rc::gen::arbitrary<bool>() ? in_frame : in_frame ^ 1;
}

/// Up to two changes: from the frame's address, from another one, or from all.
std::vector<roce::AddressChange> random_changes(const wire::IpAddress& in_frame) {
  std::vector<roce::AddressChange> changes;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const auto from = sometimes<wire::IpAddress>(
        [&] { return *rc::gen::arbitrary<bool>() ? in_frame : random_ip(); });
    changes.push_back({from, random_ip()});
  }
  return changes;
}

roce::FrameChanges random_rewrite(const roce::FrameFields& f) {
  roce::FrameChanges what;
  const auto mac = [] { return wire::MacAddress{test::random_bytes<6>()}; };
  what.source_mac = sometimes<wire::MacAddress>(mac);
  what.destination_mac = sometimes<wire::MacAddress>(mac);
  const bool v4 = f.encapsulation == wire::Encapsulation::ipv4;
  what.sources = random_changes(v4 ? wire::IpAddress{f.ipv4.source} : f.ipv6.source);
  what.destinations = random_changes(v4 ? wire::IpAddress{f.ipv4.destination} : f.ipv6.destination);
  what.qps[key_for(f.bth.dest_qp)] = test::wide<std::uint32_t>(0xffffff);
  what.qps[key_for(f.deth.src_qp)] = test::wide<std::uint32_t>(0xffffff);
  what.psn_offset = test::wide<std::uint32_t>(0xffffff);
  what.psn_offset_of_qp[key_for(f.bth.dest_qp)] = test::wide<std::uint32_t>(0xffffff);
  for (const auto r_key : {f.reth.r_key, f.atomiceth.r_key, f.ieth.r_key}) {
    what.r_keys[key_for(r_key)] = test::wide<std::uint32_t>();
  }
  return what;
}

RC_GTEST_PROP(Rewrite, EqualsChangingTheFieldsAndComposingWhole, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(1024);
  const auto what = random_rewrite(fields);
  auto frame = roce::compose(fields, payload);
  auto expected = roce::compose(test::rewritten(what, fields), payload);
  if (*rc::gen::arbitrary<bool>()) {
    test::fill_udp_checksum(frame);
    test::fill_udp_checksum(expected);
  }
  RC_ASSERT(roce::rewrite(what, frame) == roce::Rewritten::yes);
  RC_ASSERT(frame == expected);
}

RC_GTEST_PROP(Rewrite, AWrongIcrcStaysWrongByTheSameDifference, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(256);
  const auto what = random_rewrite(fields);
  const auto damage = test::wide<std::uint32_t>();
  auto frame = roce::compose(fields, payload);
  auto expected = roce::compose(test::rewritten(what, fields), payload);
  for (auto* bytes : {&frame, &expected}) {
    const auto place = std::span(*bytes).last(wire::kIcrcSize);
    wire::store_icrc(place, wire::load_icrc(place) ^ damage);
  }
  roce::rewrite(what, frame);
  RC_ASSERT(frame == expected);
}

RC_GTEST_PROP(Rewrite, TakesAnyBytes, ()) {
  auto frame = roce::compose(test::random_frame(), test::random_payload(64));
  const auto what = random_rewrite(test::random_frame());
  // Damage near the front makes other protocols, lengths and chains of it; then it is cut.
  for (int hits = *rc::gen::inRange(0, 4); hits > 0; --hits) {
    frame[*rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(frame.size(), 64))] =
        static_cast<std::byte>(test::wide<std::uint8_t>());
  }
  frame.resize(*rc::gen::inRange<std::size_t>(0, frame.size() + 1));
  const auto before = frame;
  const auto outcome = roce::rewrite(what, frame);
  RC_ASSERT(frame.size() == before.size());
  RC_ASSERT(outcome == roce::Rewritten::yes || frame == before);
}

}  // namespace
}  // namespace lw
