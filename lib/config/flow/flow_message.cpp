// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "config/flow/flow_sections.h"

namespace lw::config {
namespace {

using wire::Operation;
using wire::Transport;

/// An operation as people name it: immediates and invalidates are words of their own.
struct NamedOperation {
  Operation operation;
  bool immediate = false, invalidate = false;
};

constexpr Choice<NamedOperation> kOperations[] = {
    {"send", {Operation::send}},
    {"send_imm", {Operation::send, true}},
    {"send_inv", {Operation::send, false, true}},
    {"write", {Operation::write}},
    {"write_imm", {Operation::write, true}},
    {"read_request", {Operation::read_request}},
    {"read_response", {Operation::read_response}},
    {"ack", {Operation::ack}},
    {"atomic_ack", {Operation::atomic_ack}},
    {"cmp_swap", {Operation::cmp_swap}},
    {"fetch_add", {Operation::fetch_add}},
    {"resync", {Operation::resync}},
    {"flush", {Operation::flush}},
    {"atomic_write", {Operation::atomic_write}},
    {"cnp", {Operation::cnp}},
};

constexpr Choice<Transport> kTransports[] = {{"rc", Transport::rc},
                                             {"uc", Transport::uc},
                                             {"rd", Transport::rd},
                                             {"ud", Transport::ud},
                                             {"xrc", Transport::xrc}};

constexpr std::uint64_t kAtomicSize = 8;

Parsed<std::uint32_t> read_mtu(const Value& value) {
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    if (read_unsigned(value, mtu, mtu)) return mtu;
  }
  return std::unexpected("expected 256, 512, 1024, 2048 or 4096, found " + describe(value));
}

/// What a message has by the operation's nature; nothing where the profile may choose.
std::optional<std::uint64_t> fixed_length(Operation operation) {
  switch (operation) {
    case Operation::send:
    case Operation::write:
    case Operation::read_request:
    case Operation::read_response:
    case Operation::flush:
      return std::nullopt;
    case Operation::atomic_write:
      return kAtomicSize;
    default:
      return 0;
  }
}

/// A table's key, or null: sizes such as { min = 64, max = "9KiB" }.
const Value* member(const Entries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Parsed<std::uint64_t> read_size(const Value& value) { return parse_bytes(text_of(value)); }

Parsed<MessageSizes> read_size_table(const Value& value, const std::string& profile) {
  const auto& entries = std::get<Entries>(value.data);
  const Value* file = member(entries, "file");
  if (file != nullptr && entries.size() == 1) {
    return load_size_distribution(beside(profile, text_of(*file)));
  }
  const Value *min = member(entries, "min"), *max = member(entries, "max");
  if (min == nullptr || max == nullptr || entries.size() != 2) {
    return std::unexpected("expected { min = ..., max = ... } or { file = \"...\" }");
  }
  const auto first = read_size(*min), last = read_size(*max);
  if (!first) return std::unexpected(first.error());
  if (!last) return std::unexpected(last.error());
  if (*first > *last) {
    return std::unexpected(fmt::format("expected min <= max, found {} and {}", *first, *last));
  }
  return MessageSizes::uniform(*first, *last);
}

/// One size, several in turn, a range, or a distribution's file.
Parsed<MessageSizes> read_sizes(const Value& value, const std::string& profile) {
  if (std::holds_alternative<Entries>(value.data)) return read_size_table(value, profile);
  if (!std::holds_alternative<Array>(value.data)) {
    const std::string text = text_of(value);
    if (text.empty()) return std::unexpected("expected text, found " + describe(value));
    const auto size = parse_bytes(text);
    if (!size) return std::unexpected(size.error());
    return MessageSizes::fixed(*size);
  }
  const auto sizes = some_of(read_size)(value);
  if (!sizes) return std::unexpected(sizes.error());
  return MessageSizes::listed(*sizes);
}

void read_length(const Table& table, const FlowContext& context, Flow& flow) {
  roce::Message& message = flow.message;
  const auto read = [&](const Value& value) { return read_sizes(value, context.profile); };
  flow.sizes = table.get_or("message_size", read, MessageSizes::fixed(message.mtu));
  if (const auto fixed = fixed_length(message.operation)) flow.sizes = MessageSizes::fixed(*fixed);
  message.length = flow.sizes.largest();
}

}  // namespace

bool read_message(const Table& table, const FlowContext& context, Flow& flow) {
  roce::Message& message = flow.message;
  const NamedOperation named = table.get_or("operation", choice(kOperations), {Operation::send});
  message.transport = table.get_or("transport", choice(kTransports), Transport::rc);
  if (named.operation == Operation::cnp) message.transport = Transport::cnp;
  message.operation = named.operation;
  message.immediate = named.immediate;
  message.invalidate = named.invalidate;
  message.mtu = table.get_or("mtu", read_mtu, 1024);
  message.first_psn =
      wire::Psn{table.get_or("first_psn", first_of(integer<std::uint32_t>(0, 0xffffff)), 0)};
  // A CNP stands outside the PSN stream, whatever [defaults] say. (IBTA vol. 1, annex A17.9)
  if (message.operation == Operation::cnp) message.first_psn = wire::Psn{0};
  message.solicited_event = table.get_or("se", read_boolean, false);
  message.ack_every = table.get_or("ack_every", integer<std::uint32_t>(), 0);
  read_length(table, context, flow);
  const std::string refusal = refusal_of(message);
  if (refusal.empty()) return true;
  const bool no_such_packet =
      !wire::opcode_of(message.transport, message.operation, wire::Position::only,
                       message.immediate, message.invalidate);
  table.refuse(no_such_packet ? "operation" : "message_size", refusal);
  return false;
}

wire::ExtensionSet extensions_of(const roce::Message& message) {
  wire::ExtensionSet all;
  const std::uint32_t count = packet_count(message);
  // FIRST, MIDDLE, LAST: packets in between are like the second.
  for (const std::uint32_t index : {0u, std::min(1u, count - 1), count - 1}) {
    const auto set = wire::find_opcode(packet_of(message, index).opcode)->extensions;
    for (int bit = 0; bit < wire::kExtensions; ++bit) {
      if (set.has_bit(bit)) all = all.with(static_cast<wire::Extension>(1 << bit));
    }
  }
  return all;
}

}  // namespace lw::config
