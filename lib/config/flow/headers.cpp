// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/headers.h"

#include <fmt/format.h>

#include "config/flow/message.h"
#include "config/flow/qp_range.h"
#include "config/toml/table.h"
#include "wire/aeth.h"

namespace lw::config {
namespace {

using wire::AethKind;
using wire::NakCode;
using wire::Operation;

constexpr std::uint32_t kMax24 = 0xffffff;

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

constexpr Choice<std::uint8_t> kPlacements[] = {{"global", 1}, {"persistent", 2}, {"both", 3}};
constexpr Choice<std::uint8_t> kSelectivities[] = {{"range", 0}, {"region", 1}};

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

void read_bth(const Table& table, Flow& flow) {
  wire::BthFields& bth = flow.frame.bth;
  const bool cnp = flow.message.operation == Operation::cnp;
  bth.dest_qp = table.get_or("dst_qp", first_of(integer<std::uint32_t>(0, kMax24)), 0x12);
  bth.p_key = table.get_or("p_key", integer<std::uint16_t>(), wire::kDefaultPKey);
  bth.mig_req = table.get_or("mig_req", read_boolean, true);
  bth.fecn = table.get_or("fecn", read_boolean, false);
  bth.becn = table.get_or("becn", read_boolean, cnp);
  const auto src_qp = table.get_or("src_qp", first_of(integer<std::uint32_t>(0, kMax24)), 0x11);
  flow.frame.deth.src_qp = src_qp;
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
  flow.frame.atomicacketh.original = table.get_or("original", u64, 0);
}

/// Messages have consecutive addresses, which restart with each repetition or at the end of a
/// `region`.
void read_memory(const Table& table, Flow& flow) {
  constexpr std::uint64_t kAtomicSize = 8;
  const auto extensions = extensions_of(flow.message);
  const std::uint64_t va = table.get_or("va", first_of(integer<std::uint64_t>()), 0x100000);
  const std::uint32_t rkey = table.get_or("rkey", first_of(integer<std::uint32_t>()), 0x1234);
  flow.frame.reth = {va, rkey, static_cast<std::uint32_t>(flow.message.length)};
  flow.frame.atomiceth.va = va;
  flow.frame.atomiceth.r_key = rkey;
  flow.va_step = extensions.has(wire::Extension::atomiceth) ? kAtomicSize : flow.message.length;
  flow.va_slots = flow.messages;
  const auto region = table.get("region", parse_bytes);
  if (!region || flow.va_step == 0) return;
  flow.va_slots = *region / flow.va_step;
  if (flow.va_slots > 0) return;
  table.refuse("region", fmt::format("expected at least one message of {} bytes, found {}",
                                     flow.va_step, *region));
}

using wire::Encapsulation;
using wire::Extension;
using wire::ExtensionSet;
using wire::Operation;

/// A key that only affects frames with one of these extension headers.
struct HeaderKey {
  std::string_view key;
  ExtensionSet headers;
};

constexpr HeaderKey kHeaderKeys[] = {
    {"va", {Extension::reth, Extension::atomiceth}},
    {"rkey", {Extension::reth, Extension::atomiceth}},
    {"va_step", {Extension::reth, Extension::atomiceth}},
    {"rkey_step", {Extension::reth, Extension::atomiceth}},
    {"region", {Extension::reth, Extension::atomiceth}},
    {"q_key", {Extension::deth}},
    {"ee_context", {Extension::rdeth}},
    {"xrc_srq", {Extension::xrceth}},
    {"placement", {Extension::feth}},
    {"selectivity", {Extension::feth}},
    {"syndrome", {Extension::aeth}},
    {"credits", {Extension::aeth}},
    {"rnr_timer", {Extension::aeth}},
    {"msn", {Extension::aeth}},
    {"original", {Extension::atomicacketh}},
    {"immediate", {Extension::immdt}},
    {"immediate_step", {Extension::immdt}},
    {"invalidate_rkey", {Extension::ieth}},
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
  const auto u32 = integer<std::uint32_t>();
  const auto u24 = integer<std::uint32_t>(0, kMax24);
  read_bth(table, flow);
  frame.rdeth.ee_context = table.get_or("ee_context", u24, 1);
  frame.deth.q_key = table.get_or("q_key", u32, 0x11111111);
  frame.xrceth.xrc_srq = table.get_or("xrc_srq", u24, 1);
  frame.feth.placement = table.get_or("placement", choice(kPlacements), 1);
  frame.feth.selectivity = table.get_or("selectivity", choice(kSelectivities), 0);
  frame.aeth.syndrome = read_syndrome(table);
  frame.aeth.msn = table.get_or("msn", u24, 0);
  frame.immdt.immediate = table.get_or("immediate", u32, 0);
  flow.immediate_step = table.get_or("immediate_step", u32, 0);
  frame.ieth.r_key = table.get_or("invalidate_rkey", u32, 0);
  read_atomics(table, flow);
  read_memory(table, flow);
}

void check_unused_keys(const Table& table, const Flow& flow) {
  const std::uint32_t last = packet_count(flow.message) - 1;
  const UnusedKeys check(table, wire::find_opcode(packet_of(flow.message, last).opcode)->name);
  const Operation operation = flow.message.operation;
  const ExtensionSet extensions = extensions_of(flow.message);
  for (const HeaderKey& entry : kHeaderKeys) {
    check.key(entry.key, intersects(entry.headers, extensions));
  }
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
