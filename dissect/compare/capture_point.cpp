// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/capture_point.h"

#include <algorithm>
#include <cstring>

#include "dissect/fields/fields.h"
#include "dissect/points/capture_points.h"
#include "roce/traffic_class.h"
#include "wire/bth.h"

namespace lw::dissect {
namespace {

/// Two independent hashes by multiply and fold over 64-bit words. Not safe against frames that were
/// made to collide.
class Hasher {
 public:
  void add(std::uint64_t word) noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      halves_[i] = (halves_[i] ^ word) * kMultipliers[i];
      halves_[i] ^= halves_[i] >> 29;
    }
  }
  template <class Address>
  void add_address(const Address& address) noexcept {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof(Address) <= sizeof words);
    std::memcpy(words.data(), &address, sizeof address);
    add(words[0]);
    add(words[1]);
  }
  void add_bytes(wire::Bytes bytes) noexcept {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) add(word_of(bytes.first(8)));
    if (!bytes.empty()) add(word_of(bytes));
  }
  [[nodiscard]] Identity identity() const noexcept { return halves_; }

 private:
  static std::uint64_t word_of(wire::Bytes bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }
  static constexpr std::array<std::uint64_t, 2> kMultipliers = {0x9e3779b97f4a7c15,
                                                                0xc2b2ae3d27d4eb4f};
  Identity halves_ = {0x6c6f6e6777697265, 0x1903500};
};

void add_addresses(Hasher& hasher, const roce::Envelope& envelope) noexcept {
  if (envelope.ipv4) {
    hasher.add_address(envelope.ipv4->source);
    hasher.add_address(envelope.ipv4->destination);
    return;
  }
  const wire::Ipv6& ip = envelope.ipv6 ? *envelope.ipv6 : *envelope.grh;
  hasher.add_address(ip.source);
  hasher.add_address(ip.destination);
}

/// Bytes after the BTH that distinguish frames, in addition to their identity.
constexpr std::size_t kSample = 64;

/// The extension headers as captured: from the BTH's end to the payload.
wire::Bytes extensions_of(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const std::size_t begin = envelope.bth_offset() + sizeof(wire::Bth);
  std::size_t size = 0;
  wire::for_each_extension(
      [&]<class Header>(wire::Extension, const Header* header) {
        if (header) size += sizeof(Header);
      },
      frame);
  return envelope.bytes.subspan(begin, size);
}

/// Hash of what follows the BTH, with at most `payload` bytes of the payload.
void add_rest(Hasher& hasher, const roce::Frame& frame, std::size_t payload) noexcept {
  hasher.add_bytes(extensions_of(frame));
  hasher.add(frame.payload_length);
  hasher.add_bytes(frame.payload.first(std::min(payload, frame.payload.size())));
}

/// The BTH without the byte that routers may change.
void add_bth(Hasher& hasher, const wire::Bth& bth) noexcept {
  hasher.add(std::uint64_t{bth.opcode.get()} << 32 | std::uint64_t{bth.flags.get()} << 16 |
             bth.p_key.get());
  hasher.add(std::uint64_t{bth.dest_qp.get()} << 32 | std::uint64_t{bth.acknowledge.get()} << 24 |
             bth.psn().value());
}

Identity content_identity(const roce::Frame& frame, std::size_t payload) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hasher, envelope);
  const std::uint64_t id = envelope.ipv4 ? envelope.ipv4->id.get() : 0;
  hasher.add(id << 16 | (envelope.udp ? envelope.udp->source_port.get() : 0));
  add_bth(hasher, *frame.bth);
  add_rest(hasher, frame, payload);
  return hasher.identity();
}

Identity icrc_identity(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const wire::Bth& bth = *frame.bth;
  const auto offset = static_cast<std::size_t>(frame.icrc.data() - envelope.bytes.data());
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hasher, envelope);
  hasher.add(std::uint64_t{bth.dest_qp.get()} << 32 | bth.psn().value() << 8 | bth.opcode.get());
  hasher.add(std::uint64_t{wire::load_icrc(frame.icrc)} << 32 | (offset - envelope.network_offset));
  return hasher.identity();
}

/// Hash of at most `most` bytes between BTH and ICRC, whatever the opcode says they are.
std::uint64_t rest_of(const roce::Frame& frame, std::size_t most) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const std::size_t begin = envelope.bth_offset() + sizeof(wire::Bth),
                    end = std::min(envelope.network_end - wire::kIcrcSize, envelope.bytes.size());
  Hasher hasher;
  if (begin < end) hasher.add_bytes(envelope.bytes.subspan(begin, std::min(most, end - begin)));
  return hasher.identity()[0];
}

bool is_cut(const roce::Frame& frame) noexcept {
  return frame.defect && frame.defect->problem == roce::Problem::cut;
}

}  // namespace

std::optional<Identity> identity_of(const roce::Frame& frame, const IdentityRule& rule) noexcept {
  if (rule.by_icrc) {
    if (frame.icrc.empty() || !roce::icrc_offset(frame.envelope)) return std::nullopt;
    return icrc_identity(frame);
  }
  const std::size_t needed = std::min(rule.payload, frame.payload_length);
  const bool cut =
      is_cut(frame) && (frame.defect->layer == "payload" || frame.defect->layer == "icrc");
  if (frame.envelope.fragment || (frame.defect && !cut) || frame.payload.size() < needed)
    return std::nullopt;
  return content_identity(frame, needed);
}

std::uint32_t FlowNames::index_of(roce::FlowKey key) {
  key.role = {};
  if (last_ && last_->first == key) return last_->second;
  const std::size_t before = indices_.size();
  bool full = false;
  Index& index = indices_.use(key, [&](const Index& gone) {
    forgotten_[gone.value] = true;
    full = true;
  });
  if (full || indices_.size() > before) {
    index.value = static_cast<std::uint32_t>(forgotten_.size());
    forgotten_.push_back(false);
  }
  last_ = {key, index.value};
  return index.value;
}

namespace {

/// The fields that equipment of a path rewrites without a new ICRC.
constexpr std::string_view kRewritten[] = {"eth.dst",
                                           "eth.src",
                                           "vlan.id",
                                           "vlan.priority",
                                           "ip.dsfield.dscp",
                                           "ip.dsfield.ecn",
                                           "ip.ttl",
                                           "ipv6.tclass.dscp",
                                           "ipv6.tclass.ecn",
                                           "ipv6.flow",
                                           "ipv6.hlim",
                                           "infiniband.grh.tclass",
                                           "infiniband.grh.flowlabel",
                                           "infiniband.grh.hoplmt",
                                           "infiniband.bth.fecn",
                                           "infiniband.bth.becn",
                                           "infiniband.bth.reserved6"};

}  // namespace

/// |0 MACs 12|12 VLANs 8|20 IPv6's first word 4, or IPv4's ToS|24 TTL|25 BTH byte 4|
HeaderForms::Bytes HeaderForms::bytes_of(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  Bytes bytes{};
  if (envelope.ethernet) std::memcpy(bytes.data(), envelope.ethernet, 12);
  for (std::size_t i = 0; i < static_cast<std::size_t>(envelope.vlan_count); ++i)
    std::memcpy(bytes.data() + 12 + 4 * i, envelope.vlans[i], sizeof(wire::Vlan));
  const wire::Ipv6* ip = envelope.ipv6 ? envelope.ipv6 : envelope.grh;
  if (ip) std::memcpy(bytes.data() + 20, ip, 4);
  if (!ip) bytes[20] = static_cast<std::uint8_t>(envelope.dscp() << 2 | envelope.ecn());
  bytes[24] = envelope.hop_limit();
  bytes[25] = frame.bth->congestion.get();
  return bytes;
}

FieldTexts header_texts(const CapturedFrame& captured) {
  const Dissection dissection(captured);
  FieldTexts texts;
  Values values;
  for (const Field& field : field_table()) {
    if (!field.header || !field.in_json) continue;
    read_field(field, dissection, values);
    if (values.empty()) continue;
    texts.emplace_back(field.name, std::string());
    append_values(texts.back().second, field, values);
  }
  return texts;
}

std::uint32_t HeaderForms::index_of(const CapturedFrame& captured, const roce::Frame& frame) {
  const Bytes bytes = bytes_of(frame);
  if (last_.second != 0 && last_.first == bytes) return last_.second;
  const auto at = indices_.find(bytes);
  if (at == indices_.end() && indices_.size() == kMost) return 0;
  last_ = {bytes, at == indices_.end() ? static_cast<std::uint32_t>(fields_.size()) : at->second};
  if (at != indices_.end()) return last_.second;
  indices_.emplace(last_);
  FieldTexts all = header_texts(captured);
  std::erase_if(all, [](const auto& field) {
    return std::ranges::find(kRewritten, field.first) == std::end(kRewritten);
  });
  fields_.push_back(std::move(all));
  return last_.second;
}

namespace {

/// Updates the counts that rule_for() needs.
void note_identity(CapturePoint& point, const roce::Frame& frame, roce::IcrcVerdict verdict) {
  if (verdict == roce::IcrcVerdict::bad) ++point.bad_icrcs;
  if (frame.envelope.fragment || !is_cut(frame)) return;
  ++point.cut;
  if (frame.payload.size() < frame.payload_length || frame.defect->layer != "icrc")
    point.least_payload = std::min(point.least_payload, frame.payload.size());
}

void add_frame(CapturePoint& point, const CapturedFrame& captured, Names& names,
               const IdentityRule& rule) {
  const roce::Envelope& envelope = captured.envelope;
  const auto verdict = roce::check_icrc(envelope);
  if (verdict == roce::IcrcVerdict::not_roce) return;
  ++point.roce;
  const auto frame = roce::parse(envelope);
  if (frame) note_identity(point, *frame, verdict);
  const auto identity = frame ? identity_of(*frame, rule) : std::nullopt;
  if (!identity) {
    ++point.unidentified;
    return;
  }
  const std::uint64_t rest = rest_of(*frame, std::min(rule.payload, kSample));
  const roce::FlowKey key = roce::flow_key(*frame);
  point.records.push_back(
      {.identity = *identity,
       .rest = rest,
       .stamp_ns = to_ns(captured.record.stamp),
       .order = static_cast<std::uint32_t>(point.records.size()),
       .number = static_cast<std::uint32_t>(captured.number),
       .flow = names.flows.index_of(key),
       .form = names.forms.index_of(captured, *frame),
       .dest_qp = key.dest_qp,
       .psn = frame->bth->psn().value(),
       .icrc = frame->icrc.empty() ? 0 : wire::load_icrc(frame->icrc),
       .length = static_cast<std::uint16_t>(envelope.network_end - envelope.bth_offset()),
       .opcode = frame->bth->opcode.get(),
       .bad_icrc = rule.judges_icrcs && verdict == roce::IcrcVerdict::bad,
       .ce = envelope.ecn() == roce::kCongestionExperienced});
}

}  // namespace

namespace {

bool is_further_view(CapturePoints& taps, const CapturedFrame& captured,
                     const FrameSource& source) {
  if (!taps.has_repeated_views()) return false;
  const auto frame = roce::parse(captured.envelope);
  return frame && taps.is_further_view(taps.of(captured, source), *frame, captured.record.stamp);
}

}  // namespace

Result<CapturePoint> read_point(const std::string& place, const std::string& filter, Names& names,
                                const IdentityRule& rule, const FrameReading& reading,
                                const std::string& points) {
  auto source = FrameSource::open(place, filter, reading);
  if (!source) return std::unexpected(source.error());
  CapturePoint point;
  auto taps = CapturePoints::decide(*source, points, &point.unknown);
  if (!taps) return std::unexpected(taps.error());
  point.file = place;
  point.points = taps->points();
  for (;;) {
    const auto frame = source->next();
    if (!frame && frame.error().exit == ExitCode::usage) return std::unexpected(frame.error());
    if (!frame) point.damage = frame.error();
    if (!frame || !*frame) return point;
    ++point.frames;
    if (is_further_view(*taps, **frame, *source)) {
      ++point.roce;
      ++point.further_views;
      continue;
    }
    add_frame(point, **frame, names, rule);
  }
}

IdentityRule rule_for(const CapturePoint& near, const CapturePoint& far) noexcept {
  const auto lacks_icrcs = [](const CapturePoint& point) {
    return 2 * point.bad_icrcs > point.roce;
  };
  const bool cut = near.cut + far.cut > 0, bad = lacks_icrcs(near) || lacks_icrcs(far);
  return {.by_icrc = !cut && !bad,
          .judges_icrcs = !bad,
          .payload = std::min(near.least_payload, far.least_payload)};
}

}  // namespace lw::dissect
