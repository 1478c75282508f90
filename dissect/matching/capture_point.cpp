// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/capture_point.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "dissect/fields/fields.h"
#include "dissect/points/capture_points.h"
#include "roce/traffic_class.h"
#include "wire/bth.h"

namespace lw::dissect {
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
    dest_qps_.push_back(key.dest_qp & 0xffffff);
  }
  last_ = {key, index.value};
  return index.value;
}

std::vector<roce::FlowKey> FlowNames::keys() const {
  std::vector<roce::FlowKey> keys(forgotten_.size());
  for (const auto& [key, index] : indices_) keys[index.value] = key;
  return keys;
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

namespace {

/// "VLAN 7", "VXLAN 5001, VLAN 7", or that there is none.
std::string carrier_text(const CapturedFrame& captured) {
  std::string text = captured.tunnels ? captured.tunnels->text() : std::string();
  for (int i = 0; i < captured.envelope.vlan_count; ++i)
    text += fmt::format("{}VLAN {}", text.empty() ? "" : ", ", captured.envelope.vlans[i]->id());
  return text.empty() ? "frames without VLAN and tunnel" : text;
}

/// A hash of the tunnels around a frame; 0: there are none.
std::uint32_t tunnel_hash(const roce::TunnelStack* tunnels) noexcept {
  if (!tunnels) return 0;
  std::uint32_t hash = 0;
  for (const roce::TunnelLayer& layer : tunnels->layers())
    hash = (hash ^ layer.number ^ std::uint32_t{static_cast<unsigned char>(layer.name[0])} << 24) *
           0x9e3779b1;
  return hash;
}

}  // namespace

/// |0 MACs 12|12 VLANs 8|20 IPv6's first word 4, or IPv4's ToS|24 TTL|25 BTH byte 4|26 tunnels 4|
HeaderForms::Bytes HeaderForms::bytes_of(const CapturedFrame& captured,
                                         const roce::Frame& frame) noexcept {
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
  const std::uint32_t tunnels = tunnel_hash(captured.tunnels);
  std::memcpy(bytes.data() + 26, &tunnels, sizeof tunnels);
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

std::uint16_t HeaderForms::index_of(const CapturedFrame& captured, const roce::Frame& frame) {
  const Bytes bytes = bytes_of(captured, frame);
  if (last_.second != 0 && last_.first == bytes) return last_.second;
  const auto at = indices_.find(bytes);
  if (at == indices_.end() && indices_.size() == kMost) return 0;
  last_ = {bytes, at == indices_.end() ? static_cast<std::uint16_t>(fields_.size()) : at->second};
  if (at != indices_.end()) return last_.second;
  indices_.emplace(last_);
  FieldTexts all = header_texts(captured);
  std::erase_if(all, [](const auto& field) {
    return std::ranges::find(kRewritten, field.first) == std::end(kRewritten);
  });
  fields_.push_back(std::move(all));
  const std::string carrier = carrier_text(captured);
  const auto known = std::ranges::find(carrier_names_, carrier);
  carriers_.push_back(static_cast<std::uint16_t>(known - carrier_names_.begin()));
  if (known == carrier_names_.end()) carrier_names_.push_back(carrier);
  return last_.second;
}

namespace {

/// Bytes behind the BTH that distinguish frames, in addition to their identity.
constexpr std::size_t kSample = 64;

/// Updates the counts that rule_for() needs.
void note_identity(CapturePoint& point, const roce::Frame& frame, roce::IcrcVerdict verdict) {
  if (verdict == roce::IcrcVerdict::bad) ++point.bad_icrcs;
  if (frame.envelope.fragment || !is_cut(frame)) return;
  ++point.cut;
  if (frame.defect->layer != "payload" && frame.defect->layer != "icrc")
    point.least_body = std::min(point.least_body, captured_body_of(frame));
  else if (frame.payload.size() < frame.payload_length || frame.defect->layer != "icrc")
    point.least_payload = std::min(point.least_payload, frame.payload.size());
}

}  // namespace

Result<void> add_record(CapturePoint& point, const CapturedFrame& captured, Names& names,
                        const IdentityRule& rule) {
  const roce::Envelope& envelope = captured.envelope;
  const auto verdict = roce::check_icrc(envelope);
  if (verdict == roce::IcrcVerdict::not_roce) return {};
  if (point.records.size() == kMostRecords)
    return fail(
        fmt::format("frame {}: more than {} RoCE frames of one point: compare a part of "
                    "them (--from, --to, --filter)",
                    captured.number, kMostRecords));
  ++point.roce;
  const auto frame = roce::parse(envelope);
  if (frame) note_identity(point, *frame, verdict);
  const auto identity = frame ? identity_of(*frame, rule) : std::nullopt;
  if (!identity) {
    ++point.unidentified;
    return {};
  }
  const std::uint32_t rest = body_hash_of(*frame, std::min({rule.payload, rule.body, kSample}));
  point.records.push_back(
      {.identity = *identity,
       .stamp_ns = to_ns(captured.record.stamp),
       .number = static_cast<std::uint32_t>(captured.number),
       .flow = names.flows.index_of(roce::flow_key(*frame)),
       .psn = frame->bth->psn().value(),
       .rest = static_cast<std::uint16_t>(rest),
       .form = names.forms.index_of(captured, *frame),
       .length = static_cast<std::uint16_t>(envelope.network_end - envelope.bth_offset()),
       .opcode = frame->bth->opcode.get(),
       .bad_icrc = rule.judges_icrcs && verdict == roce::IcrcVerdict::bad,
       .ce = envelope.ecn() == roce::kCongestionExperienced});
  return {};
}

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
  point.records = CaptureRecords(rule.by_icrc);
  auto taps = CapturePoints::decide(*source, points, &point.unknown);
  if (!taps) return std::unexpected(taps.error());
  point.begin = source->begin();
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
    if (auto added = add_record(point, **frame, names, rule); !added)
      return std::unexpected(added.error());
  }
}

Instant CapturePoint::first_stamp() const {
  if (records.empty()) return begin.value_or(Instant{});
  return instant_from_ns(span_of(records).first);
}

std::int64_t resolution_of(Records records) {
  constexpr std::size_t kEnough = 4096;
  const std::size_t stride = std::max<std::size_t>(1, records.size() / kEnough);
  for (std::int64_t unit = 1'000'000; unit > 1; unit /= 10) {
    std::size_t all = 0, divided = 0;
    for (std::size_t i = 0; i < records.size(); i += stride) {
      ++all;
      divided += records.stamp_ns(i) % unit == 0;
    }
    if (all > 0 && 50 * divided >= 49 * all) return unit;
  }
  return 1;
}

namespace {

/// Adds what a point's frames lack.
void restrict(IdentityRule& rule, const CapturePoint& point) noexcept {
  const bool bad = 2 * point.bad_icrcs > point.roce;
  rule.by_icrc = rule.by_icrc && point.cut == 0 && !bad;
  rule.judges_icrcs = rule.judges_icrcs && !bad;
  rule.payload = std::min(rule.payload, point.least_payload);
  rule.body = std::min(rule.body, point.least_body);
}

}  // namespace

IdentityRule rule_for(std::span<const CapturePoint> points) noexcept {
  IdentityRule rule;
  for (const CapturePoint& point : points) restrict(rule, point);
  return rule;
}

IdentityRule rule_for(const CapturePoint& near, const CapturePoint& far) noexcept {
  IdentityRule rule;
  restrict(rule, near);
  restrict(rule, far);
  return rule;
}

}  // namespace lw::dissect
