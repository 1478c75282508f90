// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "config/flow/flow_sections.h"

namespace lw::config {
namespace {

using wire::Encapsulation;
using wire::Extension;
using wire::ExtensionSet;
using wire::Operation;

/// A key that only frames with one of these extension headers can use.
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

class PlaceCheck {
 public:
  PlaceCheck(const Table& table, std::string_view opcode) : table_(table), opcode_(opcode) {}

  /// What [defaults] say for all flows may well not fit this one.
  void key(std::string_view name, bool has_place) const {
    if (has_place || !table_.has_itself(name)) return;
    table_.refuse(name, fmt::format("expected no such key, as {} has no place for it", opcode_));
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

void check_network(const PlaceCheck& check, Encapsulation encapsulation) {
  const bool v4 = encapsulation == Encapsulation::ipv4;
  check.key("source_port", encapsulation != Encapsulation::grh);
  check.key("source_port_step", encapsulation != Encapsulation::grh);
  check.key("flow_label", !v4);
  check.key("ip_id", v4);
  check.key("dont_fragment", v4);
}

}  // namespace

void check_places(const Table& table, const Flow& flow) {
  const std::uint32_t last = packet_count(flow.message) - 1;
  const PlaceCheck check(table, wire::find_opcode(packet_of(flow.message, last).opcode)->name);
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
