// SPDX-License-Identifier: BSD-3-Clause
#include "roce/class_settings.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "wire/udp.h"

namespace lw::roce {
namespace {

using Marks = ClassOfTraffic::Marks;
using Mark = std::optional<std::uint8_t> Marks::*;

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 4> kEcnNames = {
    {{"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}}};

/// Reads a whole number, decimal or hexadecimal.
Parsed<std::uint32_t> read_number(std::string_view text, std::uint32_t low, std::uint32_t high) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  std::uint32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [read_to, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
  if (error != std::errc{} || read_to != end || value < low || value > high)
    return std::unexpected(
        fmt::format("expected a number from {} to {}, found \"{}\"", low, high, text));
  return value;
}

Parsed<std::uint8_t> read_ecn(std::string_view text) {
  for (const auto& [name, value] : kEcnNames)
    if (name == text) return value;
  const auto number = read_number(text, 0, 3);
  if (!number)
    return std::unexpected(
        fmt::format("expected not-ect, ect1, ect0, ce or 0 to 3, found \"{}\"", text));
  return static_cast<std::uint8_t>(*number);
}

template <std::uint8_t high>
Parsed<std::uint8_t> read_bits(std::string_view text) {
  const auto number = read_number(text, 0, high);
  if (!number) return std::unexpected(number.error());
  return static_cast<std::uint8_t>(*number);
}

/// Sets a mark of a kind, or of data, ACKs and NAKs: those of CNPs are settings of their own in
/// NICs.
Parsed<void> set_of_kind(ClassOfTraffic& target, std::string_view kind, Mark mark,
                         std::uint8_t value) {
  for (std::size_t i = 0; i < kClassKinds; ++i) {
    const bool named = kind == kClassKindNames[i];
    const bool common = kind.empty() && static_cast<ClassKind>(i) != ClassKind::cnp;
    if (named || common) target.kinds[i].*mark = value;
    if (named) return {};
  }
  if (kind.empty()) return {};
  return std::unexpected(
      fmt::format("expected data, ack, nak or cnp before =, found \"{}\"", kind));
}

/// Reads "26" or "data=26,cnp=48".
template <Mark mark, Parsed<std::uint8_t> (*read)(std::string_view)>
Parsed<void> set_mark(ClassOfTraffic& target, std::string_view text) {
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    const bool of_kind = equals != std::string_view::npos;
    const auto value = read(of_kind ? part.substr(equals + 1) : part);
    if (!value) return std::unexpected(value.error());
    if (of_kind && equals == 0)
      return std::unexpected("expected data, ack, nak or cnp before =, found nothing");
    const auto set = set_of_kind(target, of_kind ? part.substr(0, equals) : "", mark, *value);
    if (!set || comma == std::string_view::npos) return set;
    text.remove_prefix(comma + 1);
  }
}

Parsed<void> set_tos(ClassOfTraffic& target, std::string_view text) {
  const auto byte = read_number(text, 0, 255);
  if (!byte) return std::unexpected(byte.error());
  (void)set_of_kind(target, "", &Marks::dscp, static_cast<std::uint8_t>(*byte >> 2));
  return set_of_kind(target, "", &Marks::ecn, static_cast<std::uint8_t>(*byte & 3));
}

template <auto member, std::uint32_t low, std::uint32_t high>
Parsed<void> set_number(ClassOfTraffic& target, std::string_view text) {
  const auto number = read_number(text, low, high);
  if (!number) return std::unexpected(number.error());
  using Value = typename std::remove_reference_t<decltype(target.*member)>::value_type;
  target.*member = static_cast<Value>(*number);
  return {};
}

Parsed<void> set_source_port(ClassOfTraffic& target, std::string_view text) {
  using By = SourcePort::By;
  if (text == "qp" || text == "message") {
    target.source_port = SourcePort{.by = text == "qp" ? By::qp : By::message};
    return {};
  }
  const auto number = read_number(text, 1, 65535);
  if (!number)
    return std::unexpected(
        fmt::format("expected a number from 1 to 65535, qp or message, found \"{}\"", text));
  target.source_port = SourcePort{.by = By::number, .number = static_cast<std::uint16_t>(*number)};
  return {};
}

constexpr std::uint32_t kMostVlan = 4094, kMostLabel = 0xfffff;

constexpr std::array kSettings = {
    ClassSetting{"-T,--tos,--tclass", "tos", "BYTE",
                 "DSCP and ECN of data, ACKs and NAKs as one byte: 4 x DSCP + ECN; 106 is DSCP 26 "
                 "with ECT(0)",
                 false, &set_tos},
    ClassSetting{"--dscp", "dscp", "N|KIND=N,...",
                 "DSCP, 0 to 63: N of data, ACKs and NAKs, or of the kinds data, ack, nak, cnp. "
                 "CNPs have 48",
                 true, &set_mark<&Marks::dscp, read_bits<63>>},
    ClassSetting{"--ecn", "ecn", "N|KIND=N,...",
                 "ECN as --dscp: not-ect, ect1, ect0 (the usual), ce, or 0 to 3", true,
                 &set_mark<&Marks::ecn, read_ecn>},
    ClassSetting{"--vlan", "vlan", "ID",
                 "VLAN tag of all frames, 0 to 4094; frames of another VLAN are not taken", false,
                 &set_number<&ClassOfTraffic::vlan, 0, kMostVlan>},
    ClassSetting{"-S,--sl,--priority", "priority", "N|KIND=N,...",
                 "priority of the VLAN tag, 0 to 7, as --dscp: a NIC's service level. CNPs have 6",
                 true, &set_mark<&Marks::priority, read_bits<7>>},
    ClassSetting{"--hop-limit", "hop_limit", "N", "hop limit, or TTL, 1 to 255; the usual is 64",
                 false, &set_number<&ClassOfTraffic::hop_limit, 1, 255>},
    ClassSetting{"--flow-label,--flow_label", "flow_label", "N",
                 "flow label of IPv6, 0 to 0xfffff; it sets the UDP source port as Linux does",
                 false, &set_number<&ClassOfTraffic::flow_label, 0, kMostLabel>},
    ClassSetting{"--source-port", "source_port", "N|qp|message",
                 "UDP source port: a number, by the numbers of the QPs (the usual), or another one "
                 "for each message",
                 false, &set_source_port},
    ClassSetting{"--p-key", "p_key", "KEY",
                 "partition key, 1 to 0xffff (the usual); packets of another partition are not "
                 "taken",
                 false, &set_number<&ClassOfTraffic::p_key, 1, 0xffff>},
};

template <class T>
std::optional<T> first(const std::optional<T>& own, const std::optional<T>& other) noexcept {
  return own ? own : other;
}

}  // namespace

std::span<const ClassSetting> class_settings() noexcept { return kSettings; }

ClassOfTraffic ClassOfTraffic::over(const ClassOfTraffic& other) const noexcept {
  ClassOfTraffic both = *this;
  for (std::size_t i = 0; i < kClassKinds; ++i) {
    both.kinds[i] = {.dscp = first(kinds[i].dscp, other.kinds[i].dscp),
                     .ecn = first(kinds[i].ecn, other.kinds[i].ecn),
                     .priority = first(kinds[i].priority, other.kinds[i].priority)};
  }
  both.vlan = first(vlan, other.vlan);
  both.hop_limit = first(hop_limit, other.hop_limit);
  both.flow_label = first(flow_label, other.flow_label);
  both.source_port = first(source_port, other.source_port);
  both.p_key = first(p_key, other.p_key);
  return both;
}

MarksOfKinds ClassOfTraffic::marks() const noexcept {
  MarksOfKinds marks = kUsualMarks;
  for (std::size_t i = 0; i < kClassKinds; ++i) {
    marks[i] = {.dscp = kinds[i].dscp.value_or(marks[i].dscp),
                .ecn = kinds[i].ecn.value_or(marks[i].ecn),
                .priority = kinds[i].priority.value_or(marks[i].priority)};
  }
  return marks;
}

void set_class(const ClassOfTraffic& traffic, FrameFields& fields) {
  fields.vlans.clear();
  if (traffic.vlan) fields.vlans.push_back({.id = *traffic.vlan});
  if (traffic.hop_limit) fields.ipv4.ttl = fields.ipv6.hop_limit = *traffic.hop_limit;
  if (traffic.p_key) fields.bth.p_key = *traffic.p_key;
  if (traffic.flow_label) {
    fields.ipv6.flow_label = *traffic.flow_label;
    fields.source_port = wire::flow_label_to_source_port(*traffic.flow_label);
  }
  if (traffic.source_port && traffic.source_port->by == SourcePort::By::number)
    fields.source_port = traffic.source_port->number;
}

namespace {

/// The marks of a kind, as a report has them.
struct KindMarks {
  ClassKind kind{};
  ClassMarks marks;

  static const FigureTable& figures() {
    using Row = FigureOf<KindMarks>;
    static constexpr Figure kRows[] = {
        Row::of<&KindMarks::kind>("kind", "data, ack, nak or cnp.").among(kClassKindNames),
        Row::of<through<&KindMarks::marks, &ClassMarks::dscp>>("dscp", "DSCP, 0 to 63."),
        Row::of<through<&KindMarks::marks, &ClassMarks::ecn>>("ecn", kEcnMeaning),
        Row::of<through<&KindMarks::marks, &ClassMarks::priority>>(
            "priority", "Priority of the VLAN tag, if there is one.")};
    static constexpr FigureTable kTable{"What a kind of packets is sent with.", kRows};
    return kTable;
  }
};

std::array<KindMarks, kClassKinds> kinds_of(const ClassOfTraffic& traffic) {
  std::array<KindMarks, kClassKinds> kinds;
  const MarksOfKinds marks = traffic.marks();
  for (std::size_t i = 0; i < kClassKinds; ++i) kinds[i] = {static_cast<ClassKind>(i), marks[i]};
  return kinds;
}

std::string source_port_text(const ClassOfTraffic& traffic) {
  using By = SourcePort::By;
  const SourcePort port = traffic.source_port.value_or(SourcePort{});
  if (!traffic.source_port && traffic.flow_label) return "flow label";
  if (port.by == By::number) return std::to_string(port.number);
  return port.by == By::qp ? "qp" : "message";
}

}  // namespace

const FigureTable& ClassOfTraffic::figures() {
  using Row = FigureOf<ClassOfTraffic>;
  static constexpr Figure kRows[] = {
      Row::of<[](const ClassOfTraffic& t) { return kinds_of(t); }>("kinds",
                                                                   "Each kind of packets."),
      Row::of<&ClassOfTraffic::vlan>("vlan", "VLAN of the frames; absent without a tag."),
      Row::of<[](const ClassOfTraffic& t) -> std::uint32_t { return t.hop_limit.value_or(64); }>(
          "hop_limit", "Hop limit, or TTL."),
      Row::of<&ClassOfTraffic::flow_label>("flow_label", "Flow label; absent unless it was set."),
      Row::of<[](const ClassOfTraffic& t) { return source_port_text(t); }>(
          "source_port", "UDP source port: a number, or qp, message or flow label."),
      Row::of<[](const ClassOfTraffic& t) -> std::uint32_t {
        return t.p_key.value_or(wire::kDefaultPKey);
      }>("p_key", "Partition key.")};
  static constexpr FigureTable kTable{kClassMeaning, kRows};
  return kTable;
}

}  // namespace lw::roce
