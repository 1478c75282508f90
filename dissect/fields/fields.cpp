// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/fields.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "core/names.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

void append_epoch(std::string& out, Instant stamp) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::size_t kDigits = 9;
  const std::int64_t ns = to_ns(stamp);
  if (ns < 0) out += '-';
  const auto size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  const fmt::format_int seconds(size / kSecond), fraction(size % kSecond);
  out.append(seconds.data(), seconds.size());
  out += '.';
  out.append(kDigits - fraction.size(), '0').append(fraction.data(), fraction.size());
}

std::string_view text_of(roce::IcrcVerdict verdict) {
  if (verdict == roce::IcrcVerdict::ok) return "ok";
  return verdict == roce::IcrcVerdict::bad ? "bad" : "unverifiable";
}

void read_interface_name(const Dissection& d, Values& values) {
  const CapturedFrame& captured = d.captured;
  values.add(captured.interface_name.empty() ? std::to_string(captured.record.interface)
                                             : std::string(captured.interface_name));
}

void read_expected_icrc(const Dissection& d, Values& values) {
  if (!d.frame || d.icrc() != roce::IcrcVerdict::bad) return;
  if (const auto place = roce::expected_icrc(d.captured.envelope))
    values.add(std::uint64_t{__builtin_bswap32(place->expected)});
}

void read_problem(const Dissection& d, Values& values) {
  if (!d.is_roce()) return;
  if (!d.frame) values.add(roce::to_string(d.frame.error()));
  if (d.frame && d.frame->defect) values.add(roce::defect_text(*d.frame));
}

void add_text(std::string text, Values& values) {
  if (!text.empty()) values.add(std::move(text));
}

using Row = Field;

/// Fields of the capture's record.
std::vector<Row> record_rows() {
  return {
      {{.name = "frame.number", .help = "number of the frame, from 1"},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) { values.add(d.captured.number); }},
      {{.name = "frame.time_epoch", .help = "time stamp in seconds since 1970"},
       FieldType::time,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) { values.add(d.captured.record.stamp); }},
      {{.name = "frame.time_relative", .help = "seconds since the first frame that is read"},
       FieldType::time,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.first_stamp)
           values.add(instant_from_ns(
               capture::stamp_difference(d.captured.record.stamp, *d.first_stamp).count()));
       }},
      {{.name = "frame.time_delta", .help = "seconds since the frame that was read before"},
       FieldType::time,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.stamp_before)
           values.add(instant_from_ns(
               capture::stamp_difference(d.captured.record.stamp, *d.stamp_before).count()));
       }},
      {{.name = "frame.len", .help = "bytes on the wire"},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         values.add(std::uint64_t{d.captured.record.wire_length});
       }},
      {{.name = "frame.cap_len", .help = "bytes that were captured"},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         values.add(std::uint64_t{d.captured.record.bytes.size()});
       }},
      {{.name = "frame.interface_id", .help = "number of the interface, from 0"},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         values.add(std::uint64_t{d.captured.record.interface});
       }},
      {{.name = "frame.interface_name", .help = "name of the interface; its number without one"},
       FieldType::text,
       true,
       true,
       nullptr,
       read_interface_name},
      {{.name = "frame.comment", .help = "first comment of the frame"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (!d.captured.record.comment.empty()) values.add(std::string(d.captured.record.comment));
       }},
  };
}

/// Fields that longwire computes, of RoCE frames.
std::vector<Row> own_rows() {
  return {
      {{.name = "longwire.opcode", .help = "name of the opcode"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.frame && d.frame->info) values.add(std::string(d.frame->info->name));
       }},
      {{.name = "longwire.payload_length", .help = "bytes of payload, without pad"},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.frame) values.add(std::uint64_t{d.frame->payload_length});
       }},
      {{.name = "longwire.icrc", .help = "ok, bad or unverifiable"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.is_roce()) values.add(std::string(text_of(d.icrc())));
       }},
      {{.name = "longwire.icrc_expected",
        .help = "right ICRC of a frame with a bad one",
        .base = wire::Base::hex,
        .digits = 8,
        .bits = 32},
       FieldType::number,
       true,
       true,
       nullptr,
       read_expected_icrc},
      {{.name = "longwire.problem", .help = "where and why the frame is not understood"},
       FieldType::text,
       true,
       true,
       nullptr,
       read_problem},
      {{.name = kPsnGapName,
        .help = "PSNs that the frame skips in its stream; only where it is asked for"},
       FieldType::number,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.psn_gap) values.add(*d.psn_gap);
       }},
  };
}

/// Fields about the tunnels around a frame.
std::vector<Row> tunnel_rows() {
  return {
      {{.name = "longwire.tunnels", .help = "tunnels around the frame, outermost first"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.captured.tunnels) add_text(d.captured.tunnels->names(), values);
       }},
      {{.name = "longwire.tunnel_id",
        .help = "VNI, VSID, session, GRE key or MPLS label of the innermost tunnel",
        .bits = 32},
       FieldType::number,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (!d.captured.tunnels) return;
         const auto layers = d.captured.tunnels->layers();
         if (!layers.empty() && layers.back().numbered)
           values.add(std::uint64_t{layers.back().number});
       }},
      {{.name = "longwire.outer_source", .help = "source address of the outermost IP header"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.captured.tunnels) add_text(d.captured.tunnels->source(), values);
       }},
      {{.name = "longwire.outer_destination", .help = "destination address of that header"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.captured.tunnels) add_text(d.captured.tunnels->destination(), values);
       }},
      {{.name = "longwire.unopened_tunnel", .help = "tunnel that cannot be opened"},
       FieldType::text,
       true,
       true,
       nullptr,
       [](const Dissection& d, Values& values) {
         if (d.captured.tunnels) add_text(std::string(d.captured.tunnels->unopened()), values);
       }},
  };
}

template <class Header>
void add_pair(const Header* header, auto Header::* first, auto Header::* second, Values& values) {
  if (!header) return;
  values.add(header->*first);
  values.add(header->*second);
}

/// Fields with both ends, as Wireshark has them.
std::vector<Row> pair_rows() {
  return {
      {{.name = "eth.addr", .help = "either MAC address"},
       FieldType::mac,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         add_pair(d.captured.envelope.ethernet, &wire::Ethernet::source,
                  &wire::Ethernet::destination, values);
       }},
      {{.name = "ip.addr", .help = "either IPv4 address"},
       FieldType::ipv4,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         add_pair(d.captured.envelope.ipv4, &wire::Ipv4::source, &wire::Ipv4::destination, values);
       }},
      {{.name = "ipv6.addr", .help = "either IPv6 address"},
       FieldType::ipv6,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         add_pair(d.captured.envelope.ipv6, &wire::Ipv6::source, &wire::Ipv6::destination, values);
       }},
      {{.name = "udp.port", .help = "either UDP port", .bits = 16},
       FieldType::number,
       false,
       false,
       nullptr,
       [](const Dissection& d, Values& values) {
         const wire::Udp* udp = d.captured.envelope.udp;
         if (!udp) return;
         values.add(std::uint64_t{udp->source_port.get()});
         values.add(std::uint64_t{udp->destination_port.get()});
       }},
  };
}

FieldType type_of(const roce::HeaderField& field) {
  if (std::holds_alternative<std::uint64_t>(field.sample)) return FieldType::number;
  if (std::holds_alternative<wire::MacAddress>(field.sample)) return FieldType::mac;
  if (std::holds_alternative<wire::Ipv4Address>(field.sample)) return FieldType::ipv4;
  if (field.base == wire::Base::mapped_ipv4) return FieldType::ipv4;
  return field.base == wire::Base::bytes ? FieldType::text : FieldType::ipv6;
}

constexpr std::string_view kMadColumns[] = {"infiniband.mad.mgmtclass", "infiniband.mad.method",
                                            "infiniband.mad.transactionid",
                                            "infiniband.mad.attributeid"};

bool is_column(const roce::HeaderField& field) {
  if (field.of_connection) return false;
  return !field.name.starts_with("infiniband.mad.") ||
         std::ranges::find(kMadColumns, field.name) != std::end(kMadColumns);
}

std::vector<Row> make_table() {
  std::vector<Row> table = record_rows();
  for (const roce::HeaderField& header : roce::header_fields())
    table.push_back({header, type_of(header), is_column(header), true, &header, nullptr});
  std::ranges::move(own_rows(), std::back_inserter(table));
  std::ranges::move(tunnel_rows(), std::back_inserter(table));
  std::ranges::move(pair_rows(), std::back_inserter(table));
  return table;
}

constexpr std::string_view kPrefixes[] = {"infiniband.", "longwire.", "frame."};

/// All names of fields. If several fields have a name, it means the first.
const std::unordered_map<std::string_view, const Field*>& names() {
  static const auto kNames = [] {
    std::unordered_map<std::string_view, const Field*> names;
    for (const Field& field : field_table()) names.emplace(field.name, &field);
    for (const std::string_view prefix : kPrefixes)
      for (const Field& field : field_table())
        if (field.name.starts_with(prefix)) names.emplace(field.name.substr(prefix.size()), &field);
    for (const Field& field : field_table())
      if (!field.key.empty()) names.emplace(field.key, &field);
    return names;
  }();
  return kNames;
}

/// Converts a header field's value.
Value value_of(const Field& field, const wire::FieldValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
  if (const auto* ipv4 = std::get_if<wire::Ipv4Address>(&value)) return *ipv4;
  if (const auto* mac = std::get_if<wire::MacAddress>(&value)) return *mac;
  const auto& ipv6 = std::get<wire::Ipv6Address>(value);
  if (field.type == FieldType::ipv6) return ipv6;
  if (field.type == FieldType::ipv4) {
    wire::Ipv4Address ipv4;
    std::copy_n(ipv6.bytes.begin() + 12, 4, ipv4.bytes.begin());
    return ipv4;
  }
  std::string text;
  roce::append_value(text, field, value);
  return text;
}

void append_one(std::string& out, const Field& field, const Value& value) {
  switch (static_cast<FieldType>(value.index())) {
    case FieldType::number:
      return roce::append_value(out, field, std::get<std::uint64_t>(value));
    case FieldType::mac:
      return roce::append_value(out, field, std::get<wire::MacAddress>(value));
    case FieldType::ipv4:
      return roce::append_value(out, field, std::get<wire::Ipv4Address>(value));
    case FieldType::ipv6:
      return roce::append_value(out, field, std::get<wire::Ipv6Address>(value));
    case FieldType::time:
      return append_epoch(out, std::get<Instant>(value));
    case FieldType::text:
      out += std::get<std::string>(value);
  }
}

}  // namespace

std::string_view name_of(FieldType type) {
  constexpr std::string_view kTypes[] = {"number",       "MAC address", "IPv4 address",
                                         "IPv6 address", "time",        "text"};
  return kTypes[static_cast<std::size_t>(type)];
}

std::span<const Field> field_table() {
  static const std::vector<Field> kTable = make_table();
  return kTable;
}

Parsed<const Field*> find_field(std::string_view name) {
  const auto found = names().find(name);
  if (found != names().end()) return found->second;
  std::vector<std::string_view> all;
  for (const auto& [known, field] : names()) all.push_back(known);
  std::ranges::sort(all);
  const std::string_view near = nearest(name, all);
  const std::string hint = near.empty() ? "; \"roce-dissect fields\" lists all"
                                        : fmt::format(": did you mean \"{}\"?", near);
  return std::unexpected(fmt::format("no field \"{}\"{}", name, hint));
}

std::vector<const Field*> fields_of_protocol(std::string_view protocol) {
  std::vector<const Field*> fields;
  for (const std::string_view prefix : {"", "infiniband."}) {
    const std::string start = fmt::format("{}{}.", prefix, protocol);
    for (const Field& field : field_table())
      if (field.name.starts_with(start)) fields.push_back(&field);
    if (!fields.empty()) break;
  }
  return fields;
}

void read_field(const Field& field, const Dissection& dissection, Values& values) {
  values.clear();
  if (!field.header) return field.read(dissection, values);
  const roce::Frame* frame = dissection.frame ? &*dissection.frame : nullptr;
  const roce::FieldValues found = field.header->read(dissection.captured.envelope, frame);
  for (std::size_t i = 0; i < found.count; ++i) values.add(value_of(field, found.values[i]));
}

void append_values(std::string& out, const Field& field, const Values& values) {
  const char* separator = "";
  for (const Value& value : values) {
    out += separator;
    separator = ",";
    append_one(out, field, value);
  }
}

std::size_t append_field(std::string& out, const Field& field, const Dissection& dissection) {
  if (field.header) {
    const roce::Frame* frame = dissection.frame ? &*dissection.frame : nullptr;
    const roce::FieldValues found = field.header->read(dissection.captured.envelope, frame);
    for (std::size_t i = 0; i < found.count; ++i) {
      if (i > 0) out += ',';
      roce::append_value(out, field, found.values[i]);
    }
    return found.count;
  }
  Values values;
  field.read(dissection, values);
  append_values(out, field, values);
  return values.size();
}

}  // namespace lw::dissect
