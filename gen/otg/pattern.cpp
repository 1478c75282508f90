// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/pattern.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <fmt/format.h>

namespace lw::gen::otg {
namespace {

using std::string_view;
using Type = Field::Type;
using More = PatternField::More;

constexpr string_view kComputed = "absent or auto: computed";

// Bits of `at` count from the header's first byte. Ethernet's type comes after the VLAN tags, and
// a tag begins with its type: see packet_frame.cpp.
constexpr PatternField kEthernet[] = {
    {"dst", "Ethernet.Dst", 0, 48, "00:00:00:00:00:00", More::computed,
     "absent or auto: of a device's flow, that of the next hop", Type::mac, "00:00:00:00:00:01"},
    {"src", "Ethernet.Src", 48, 48, "00:00:00:00:00:00", More::none,
     "absent in a device's flow: that of its interface", Type::mac, "00:00:00:00:00:01"},
    {"ether_type", "Ethernet.EtherType", 0, 16, "65535", More::computed, kComputed}};
constexpr PatternField kVlan[] = {{"priority", "Vlan.Priority", 16, 3, "0"},
                                  {"cfi", "Vlan.Cfi", 19, 1, "0"},
                                  {"id", "Vlan.Id", 20, 12, "0"},
                                  {"tpid", "Vlan.Tpid", 0, 16, "65535", More::none,
                                   "absent: 0x8100", Type::integer, "1", 0, true}};
constexpr PatternField kIpv4[] = {
    {"version", "Ipv4.Version", 0, 4, "4"},
    {"header_length", "Ipv4.HeaderLength", 4, 4, "5", More::computed, kComputed},
    {"total_length", "Ipv4.TotalLength", 16, 16, "46", More::computed, kComputed},
    {"identification", "Ipv4.Identification", 32, 16, "0"},
    {"reserved", "Ipv4.Reserved", 48, 1, "0"},
    {"dont_fragment", "Ipv4.DontFragment", 49, 1, "0"},
    {"more_fragments", "Ipv4.MoreFragments", 50, 1, "0"},
    {"fragment_offset", "Ipv4.FragmentOffset", 51, 13, "0", More::none, "in 8 bytes", Type::integer,
     "1", 31},
    {"time_to_live", "Ipv4.TimeToLive", 64, 8, "64"},
    {"protocol", "Ipv4.Protocol", 72, 8, "61", More::computed, kComputed},
    {"src", "Ipv4.Src", 96, 32, "0.0.0.0", More::dhcp_and_random,
     "absent in a device's flow: its address", Type::ipv4, "0.0.0.1"},
    {"dst", "Ipv4.Dst", 128, 32, "0.0.0.0", More::dhcp_and_random,
     "absent in a device's flow: the address of the device that receives", Type::ipv4, "0.0.0.1"}};
constexpr PatternField kRaw[] = {{"raw", "Ipv4.Priority.Raw", 8, 8, "0"}};
constexpr PatternField kTos[] = {{"precedence", "Ipv4.Tos.Precedence", 8, 3, "0"},
                                 {"delay", "Ipv4.Tos.Delay", 11, 1, "0"},
                                 {"throughput", "Ipv4.Tos.Throughput", 12, 1, "0"},
                                 {"reliability", "Ipv4.Tos.Reliability", 13, 1, "0"},
                                 {"monetary", "Ipv4.Tos.Monetary", 14, 1, "0"},
                                 {"unused", "Ipv4.Tos.Unused", 15, 1, "0"}};
constexpr PatternField kDscp[] = {{"phb", "Ipv4.Dscp.Phb", 8, 6, "0"},
                                  {"ecn", "Ipv4.Dscp.Ecn", 14, 2, "0"}};
constexpr PatternField kIpv6[] = {
    {"version", "Ipv6.Version", 0, 4, "6"},
    {"traffic_class", "Ipv6.TrafficClass", 4, 8, "0"},
    {"flow_label", "Ipv6.FlowLabel", 12, 20, "0", More::random},
    {"payload_length", "Ipv6.PayloadLength", 32, 16, "0", More::computed, kComputed},
    {"next_header", "Ipv6.NextHeader", 48, 8, "59", More::computed, kComputed},
    {"hop_limit", "Ipv6.HopLimit", 56, 8, "64"},
    {"src", "Ipv6.Src", 64, 128, "::0", More::dhcp, "absent in a device's flow: its address",
     Type::ipv6, "::1"},
    {"dst", "Ipv6.Dst", 192, 128, "::0", More::dhcp,
     "absent in a device's flow: the address of the device that receives", Type::ipv6, "::1"}};
constexpr PatternField kUdp[] = {
    {"src_port", "Udp.SrcPort", 0, 16, "0", More::random},
    {"dst_port", "Udp.DstPort", 16, 16, "0", More::random,
     "4791 with a BTH in `custom` after it: the frame ends with its ICRC"},
    {"length", "Udp.Length", 32, 16, "0", More::none, "absent: computed", Type::integer, "1", 0,
     true}};

constexpr HeaderTable kTables[] = {{"Flow.Ethernet", kEthernet}, {"Flow.Vlan", kVlan},
                                   {"Flow.Ipv4", kIpv4},         {"Flow.Ipv4.Priority", kRaw},
                                   {"Flow.Ipv4.Tos", kTos},      {"Flow.Ipv4.Dscp", kDscp},
                                   {"Flow.Ipv6", kIpv6},         {"Flow.Udp", kUdp}};

/// The value of a field of a header: a number or an address.
Bits bits_of(const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
  if (const auto* mac = std::get_if<wire::MacAddress>(&value)) return bits_of_bytes(mac->bytes);
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&value)) return bits_of_bytes(v4->bytes);
  return bits_of_bytes(std::get<wire::Ipv6Address>(value).bytes);
}

std::uint64_t most_of(const PatternField& field) noexcept {
  return field.most != 0 ? field.most : (std::uint64_t{1} << field.width) - 1;
}

/// A row of a value of the field: `set` puts it in the struct.
Field value_row(const PatternField& field, string_view name, string_view meaning,
                string_view standard, void (*set)(void*, Value)) {
  Field row{.name = name, .meaning = meaning, .type = field.type, .fallback = standard, .set = set};
  return field.type == Type::integer ? row.from(0, static_cast<double>(most_of(field))) : row;
}

using PatternRow = ModelRowOf<ValuePattern>;
using CounterRow = ModelRowOf<PatternCounter>;

/// The messages of the pattern of one field, and of its counters.
struct PatternMessages {
  PatternMessages(const PatternField& field, MessageFunction counter);
  void add_choice(const PatternField& field);
  void add_values(const PatternField& field);
  void add_counters(MessageFunction counter);
  void add_refused(const PatternField& field);

  std::string name;
  std::vector<string_view> choices;
  std::vector<Field> rows;
  ModelMessage message;
};
struct CounterMessage {
  explicit CounterMessage(const PatternField& field);

  std::string name;
  std::vector<Field> rows;
  ModelMessage message;
};

void place_pattern(void* object, const std::string& path) {
  static_cast<ValuePattern*>(object)->path = path;
}

PatternMessages::PatternMessages(const PatternField& field, MessageFunction counter)
    : name(fmt::format("Pattern.Flow.{}", field.model)) {
  add_choice(field);
  add_values(field);
  add_counters(counter);
  add_refused(field);
  message = {name, rows, place_pattern};
}

void PatternMessages::add_choice(const PatternField& field) {
  const bool computed = field.more == More::computed;
  choices = {"value", "values", "increment", "decrement"};
  if (computed) choices.emplace_back("auto");
  rows.push_back(PatternRow::of<&ValuePattern::choice>("choice", "kind of the pattern")
                     .among(choices)
                     .standard(computed ? "auto" : "value"));
}

void PatternMessages::add_values(const PatternField& field) {
  rows.push_back(value_row(field, "value", "value of all frames", field.standard,
                           [](void* object, Value value) {
                             static_cast<ValuePattern*>(object)->value = bits_of(value);
                           }));
  rows.push_back(value_row(field, "values", "values of the frames, in turn", field.standard,
                           [](void* object, Value value) {
                             static_cast<ValuePattern*>(object)->values.push_back(bits_of(value));
                           }));
  rows.back().list = true;
}

void PatternMessages::add_counters(MessageFunction counter) {
  rows.push_back({.name = "increment",
                  .meaning = "values that rise from frame to frame",
                  .type = Type::object,
                  .message = counter,
                  .open = [](void* object) -> void* {
                    return &static_cast<ValuePattern*>(object)->increment;
                  }});
  rows.push_back({.name = "decrement",
                  .meaning = "values that fall from frame to frame",
                  .type = Type::object,
                  .message = counter,
                  .open = [](void* object) -> void* {
                    return &static_cast<ValuePattern*>(object)->decrement;
                  }});
}

void PatternMessages::add_refused(const PatternField& field) {
  rows.push_back(PatternRow::refused("metric_tags", "a flow is counted as a whole"));
  if (field.more == More::computed)
    rows.push_back(PatternRow::only("auto", field.standard, "the value is computed"));
  if (field.more == More::dhcp || field.more == More::dhcp_and_random)
    rows.push_back(PatternRow::refused("auto", "there is no DHCP"));
  if (field.more == More::random || field.more == More::dhcp_and_random)
    rows.push_back(PatternRow::refused("random", "`values` has a list of any values"));
}

CounterMessage::CounterMessage(const PatternField& field)
    : name(fmt::format("Pattern.Flow.{}.Counter", field.model)) {
  rows.push_back(
      value_row(field, "start", "first value", field.standard, [](void* object, Value value) {
        static_cast<PatternCounter*>(object)->start = bits_of(value);
      }));
  rows.push_back(value_row(field, "step", "difference from frame to frame", field.step,
                           [](void* object, Value value) {
                             static_cast<PatternCounter*>(object)->step = bits_of(value);
                           }));
  Field count = CounterRow::of<&PatternCounter::count>(
                    "count", "values before `start` comes again; 0 counts as 1")
                    .standard("1");
  if (field.type == Type::integer) count = count.from(0, static_cast<double>(most_of(field)) + 1);
  rows.push_back(count);
  message = {name, rows};
}

/// The one object of each field of each header, made by `make` at its first use.
template <class Message, class Make>
const ModelMessage& kept(HeaderKind kind, std::size_t field, Make make) {
  static std::mutex mutex;
  static std::map<std::pair<HeaderKind, std::size_t>, std::unique_ptr<Message>> all;
  const std::scoped_lock lock(mutex);
  auto& found = all[{kind, field}];
  if (!found) found = make(table_of(kind).fields[field]);
  return found->message;
}

}  // namespace

const HeaderTable& table_of(HeaderKind kind) noexcept {
  return kTables[static_cast<std::size_t>(kind)];
}

const ModelMessage& pattern_message(HeaderKind kind, std::size_t field, MessageFunction counter) {
  return kept<PatternMessages>(kind, field, [&](const PatternField& row) {
    return std::make_unique<PatternMessages>(row, counter);
  });
}

const ModelMessage& counter_message(HeaderKind kind, std::size_t field) {
  return kept<CounterMessage>(
      kind, field, [](const PatternField& row) { return std::make_unique<CounterMessage>(row); });
}

Bits standard_of(const PatternField& field) {
  if (field.type == Type::mac) return bits_of(*wire::parse_mac(field.standard));
  if (field.type == Type::integer) return std::stoull(std::string(field.standard));
  return std::visit([](const auto& ip) { return bits_of(ip); }, *wire::parse_ip(field.standard));
}

Bits value_at(const ValuePattern& pattern, std::uint64_t number) noexcept {
  if (pattern.choice == "values" && !pattern.values.empty())
    return pattern.values[number % pattern.values.size()];
  const bool up = pattern.choice == "increment";
  if (!up && pattern.choice != "decrement") return pattern.value;
  const PatternCounter& counter = up ? pattern.increment : pattern.decrement;
  const Bits steps = counter.step * (number % std::max<std::uint64_t>(counter.count, 1));
  return up ? counter.start + steps : counter.start - steps;
}

bool is_constant(const ValuePattern& pattern) noexcept {
  if (pattern.choice == "values") return pattern.values.size() <= 1;
  if (pattern.choice == "increment") return pattern.increment.count <= 1;
  return pattern.choice != "decrement" || pattern.decrement.count <= 1;
}

void put_bits(std::span<std::byte> frame, std::size_t at, std::size_t width, Bits value) noexcept {
  constexpr std::size_t kByte = 8;
  for (std::size_t left = width; left > 0;) {
    const std::size_t last = at + left - 1;  // the lowest bit that is not written yet
    const std::size_t low = kByte - 1 - last % kByte;
    const std::size_t count = std::min(left, kByte - low);
    const auto mask = static_cast<unsigned>(((1U << count) - 1) << low);
    std::byte& byte = frame[last / kByte];
    const auto bits = static_cast<unsigned>(value & 0xff) << low & mask;
    byte = (byte & ~std::byte{static_cast<std::uint8_t>(mask)}) |
           std::byte{static_cast<std::uint8_t>(bits)};
    value >>= count;
    left -= count;
  }
}

}  // namespace lw::gen::otg
