// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/headers.h"

#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "config/flow/message.h"
#include "config/flow/qp_range.h"
#include "config/toml/table.h"
#include "wire/aeth.h"

namespace lw::config {
namespace {

using wire::AethKind;
using wire::Encapsulation;
using wire::Extension;
using wire::ExtensionSet;
using wire::NakCode;
using wire::Operation;

constexpr std::uint8_t nak(NakCode code) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(AethKind::nak) << wire::Aeth::kKindShift |
                                   static_cast<unsigned>(code));
}

/// Kinds of AETH syndromes. Credits or the RNR timer are the lower five bits.
constexpr Choice<std::uint8_t> kSyndromes[] = {
    {"ack", 0x00},
    {"rnr", 0x20},
    {"psn_sequence_error", nak(NakCode::psn_sequence_error)},
    {"invalid_request", nak(NakCode::invalid_request)},
    {"remote_access_error", nak(NakCode::remote_access_error)},
    {"remote_operational_error", nak(NakCode::remote_operational_error)},
    {"invalid_rd_request", nak(NakCode::invalid_rd_request)},
};

/// Reads a syndrome by name, with credits or the timer, or as a number of eight bits.
std::uint8_t read_syndrome(const Table& table) {
  const auto credits = table.get_or("credits", integer<std::uint8_t>(0, 31), 31);
  const auto timer = table.get_or("rnr_timer", integer<std::uint8_t>(0, 31), 1);
  const auto by_name_or_number = [&](const Value& value) -> Parsed<std::uint8_t> {
    if (!std::holds_alternative<std::string>(value.data)) return integer<std::uint8_t>()(value);
    const auto kind = choice(kSyndromes)(value);
    if (kind == kSyndromes[0].value) return credits;
    if (kind == kSyndromes[1].value) return static_cast<std::uint8_t>(*kind | timer);
    return kind;
  };
  return table.get_or("syndrome", by_name_or_number, credits);
}

/// Reader of a field that a profile gives by one of its names.
auto choice_of(std::span<const wire::NamedValue> choices) {
  return [choices](const Value& value) -> Parsed<std::uint64_t> {
    std::vector<std::string_view> names;
    for (const wire::NamedValue& c : choices) names.push_back(c.name);
    const auto index = read_choice(value, names);
    if (!index) return std::unexpected(index.error());
    return choices[*index].value;
  };
}

/// Reads a field by its key; an absent key leaves it as it is.
template <class Fields>
void read_field(const Table& table, const wire::FieldOf<Fields>& field, Fields& values) {
  const auto present = std::get<std::uint64_t>(field.get(values));
  const auto number = integer<std::uint64_t>(0, field.largest());
  std::uint64_t value = 0;
  if (!field.choices.empty()) {
    value = table.get_or(field.key, choice_of(field.choices), present);
  } else if (field.bits == 1) {
    value = table.get_or(field.key, read_boolean, present != 0);
  } else if (field.per_qp) {
    value = table.get_or(field.key, first_of(number), present);
  } else {
    value = table.get_or(field.key, number, present);
  }
  field.set(values, value);
}

/// Reads all fields of a header that have a key.
template <class Header>
void read_header(const Table& table, typename Header::Fields& values) {
  for (const auto& field : Header::kFields) {
    if (!field.key.empty()) read_field(table, field, values);
  }
}

/// Defaults of a profile that differ from those of the headers.
void set_defaults(Flow& flow) {
  roce::FrameFields& frame = flow.frame;
  frame.bth.dest_qp = 0x12;
  frame.bth.becn = flow.message.operation == Operation::cnp;
  frame.rdeth.ee_context = 1;
  frame.deth.q_key = 0x11111111;
  frame.xrceth.xrc_srq = 1;
  frame.feth.placement = 1;
  frame.reth.va = frame.atomiceth.va = 0x100000;
  frame.reth.r_key = frame.atomiceth.r_key = 0x1234;
}

void read_ports(const Table& table, Flow& flow) {
  const auto qp = first_of(integer<std::uint32_t>(0, kMax24));
  flow.frame.deth.src_qp = table.get_or("src_qp", qp, 0x11);
  flow.frame.source_port = linux_source_port(flow.frame);
  if (const auto ports = table.get("source_port", read_source_ports); ports && !ports->empty()) {
    flow.frame.source_port = ports->front();
  }
}

void read_atomics(const Table& table, Flow& flow) {
  const auto u64 = integer<std::uint64_t>();
  const std::uint64_t swap = table.get_or("swap", u64, 0);
  const std::uint64_t add = table.get_or("add", u64, 1);
  const std::uint64_t compare = table.get_or("compare", u64, 0);
  const bool is_swap = flow.message.operation == Operation::cmp_swap;
  flow.frame.atomiceth.swap_or_add = is_swap ? swap : add;
  flow.frame.atomiceth.compare = is_swap ? compare : 0;
}

/// Sets the fields of the messages' memory by their length: messages have consecutive addresses,
/// which restart with each repetition or at the end of the region. Returns false if the region has
/// no room for a message.
bool set_memory(Flow& flow) {
  constexpr std::uint64_t kAtomicSize = 8;
  const auto extensions = extensions_of(flow.message);
  flow.frame.reth.dma_length = static_cast<std::uint32_t>(flow.message.length);
  flow.va_step = extensions.has(wire::Extension::atomiceth) ? kAtomicSize : flow.message.length;
  flow.va_slots = flow.messages;
  if (!flow.region || flow.va_step == 0) return true;
  flow.va_slots = *flow.region / flow.va_step;
  return flow.va_slots > 0;
}

void read_memory(const Table& table, Flow& flow) {
  flow.region = table.get("region", parse_bytes);
  if (set_memory(flow)) return;
  table.refuse("region", fmt::format("expected at least one message of {} bytes, found {}",
                                     flow.va_step, *flow.region));
}

/// A key that only affects frames with one of these extension headers.
struct HeaderKey {
  std::string_view key;
  ExtensionSet headers;
};

/// Keys of a flow, not of a header field, that only affect frames with these headers.
constexpr HeaderKey kFlowKeys[] = {
    {"region", {Extension::reth, Extension::atomiceth}},
    {"syndrome", {Extension::aeth}},
    {"credits", {Extension::aeth}},
    {"rnr_timer", {Extension::aeth}},
    {"immediate_step", {Extension::immdt}},
};

bool intersects(ExtensionSet a, ExtensionSet b) {
  for (int bit = 0; bit < wire::kExtensions; ++bit) {
    if (a.has_bit(bit) && b.has_bit(bit)) return true;
  }
  return false;
}

class UnusedKeys {
 public:
  UnusedKeys(const Table& table, std::string_view opcode) : table_(table), opcode_(opcode) {}

  /// Refuses a key of the flow itself; [defaults] may hold keys that only other flows use.
  void key(std::string_view name, bool used) const {
    if (used || !table_.has_own(name)) return;
    table_.refuse(name, fmt::format("expected no such key, as {} has no such field", opcode_));
  }

 private:
  const Table& table_;
  std::string_view opcode_;
};

/// The extension headers that have a field with this key.
ExtensionSet headers_with(std::string_view key) {
  ExtensionSet headers;
  wire::for_each_extension([&]<class Header>(Extension extension) {
    for (const auto& field : Header::kFields) {
      if (field.key == key) headers = headers.with(extension);
    }
  });
  return headers;
}

/// Refuses keys of fields that are only in headers which the flow's frames don't have.
void check_header_keys(const UnusedKeys& check, ExtensionSet extensions) {
  std::set<std::string_view> done;  // two headers have `va`
  wire::for_each_extension([&]<class Header>(Extension) {
    for (const auto& field : Header::kFields) {
      if (field.key.empty() || !done.insert(field.key).second) continue;
      const bool used = intersects(headers_with(field.key), extensions);
      check.key(field.key, used);
      if (field.per_qp) check.key(fmt::format("{}_step", field.key), used);
    }
  });
  for (const HeaderKey& entry : kFlowKeys)
    check.key(entry.key, intersects(entry.headers, extensions));
}

bool length_is_free(Operation operation) {
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_request || operation == Operation::read_response ||
         operation == Operation::flush;
}

bool has_payload(Operation operation) {
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_response || operation == Operation::atomic_write;
}

void check_network(const UnusedKeys& check, Encapsulation encapsulation) {
  const bool v4 = encapsulation == Encapsulation::ipv4;
  check.key("source_port", encapsulation != Encapsulation::grh);
  check.key("source_port_step", encapsulation != Encapsulation::grh);
  check.key("flow_label", !v4);
  check.key("ip_id", v4);
  check.key("dont_fragment", v4);
}

}  // namespace

void read_headers(const Table& table, Flow& flow) {
  roce::FrameFields& frame = flow.frame;
  set_defaults(flow);
  read_header<wire::Bth>(table, frame.bth);
  wire::for_each_extension(
      [&]<class Header>(Extension, typename Header::Fields& values) {
        read_header<Header>(table, values);
      },
      frame);
  read_ports(table, flow);
  frame.aeth.syndrome = read_syndrome(table);
  flow.immediate_step = table.get_or("immediate_step", integer<std::uint32_t>(), 0);
  read_atomics(table, flow);
  read_memory(table, flow);
}

Parsed<void> set_message_size(Flow& flow, std::uint64_t size) {
  if (!length_is_free(flow.message.operation))
    return std::unexpected(
        fmt::format("{} has no size to choose", wire::name_of(flow.message.operation)));
  flow.message.length = size;
  if (auto refusal = roce::refusal_of(flow.message); !refusal.empty())
    return std::unexpected(std::move(refusal));
  if (!set_memory(flow)) return std::unexpected(fmt::format("its region has {} B", *flow.region));
  flow.sizes = MessageSizes::fixed(size);
  flow.means = means_of(flow);
  return {};
}

void check_unused_keys(const Table& table, const Flow& flow) {
  const std::uint32_t last = packet_count(flow.message) - 1;
  const UnusedKeys check(table, wire::find_opcode(packet_of(flow.message, last).opcode)->name);
  const Operation operation = flow.message.operation;
  check_header_keys(check, extensions_of(flow.message));
  check.key("swap", operation == Operation::cmp_swap);
  check.key("compare", operation == Operation::cmp_swap);
  check.key("add", operation == Operation::fetch_add);
  check.key("transport", operation != Operation::cnp);
  check.key("first_psn", operation != Operation::cnp);
  check.key("first_psn_step", operation != Operation::cnp);
  check.key("message_size", length_is_free(operation));
  check.key("payload", has_payload(operation));
  check.key("signature", has_payload(operation) && operation != Operation::atomic_write);
  check.key("payload_file", flow.payload.pattern == Pattern::file);
  check.key("payload_text", flow.payload.pattern == Pattern::text);
  check_network(check, flow.frame.encapsulation);
}

}  // namespace lw::config
