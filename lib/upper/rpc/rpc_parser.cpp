// SPDX-License-Identifier: BSD-3-Clause
#include "upper/rpc/rpc_parser.h"

#include <algorithm>
#include <numeric>

#include "upper/limits.h"

namespace lw::upper::rpc {
namespace {

constexpr std::uint64_t kCallback = std::uint64_t{1} << 32;  // in the key of a server's call

std::uint64_t length_of(const std::vector<DataRegion>& regions) noexcept {
  std::uint64_t sum = 0;
  for (const DataRegion& region : regions) sum += region.length;
  return sum;
}

/// The NFS status at the begin of a reply's results.
void note_status(Reply& reply, const RpcHeader& header, Bytes rpc) noexcept {
  if (!header.accept_status) return;
  const bool accepted = !header.denied && *header.accept_status == 0;
  if (!accepted) {
    reply.status = header.accept_status;
    reply.failed = true;
    reply.kind =
        static_cast<std::uint8_t>(header.denied ? StatusKind::rpc_denied : StatusKind::rpc_accept);
    return;
  }
  reply.status = big<std::uint32_t>(rpc, *header.body);
  reply.failed = reply.status.value_or(0) != 0;
}

}  // namespace

std::uint64_t RpcParser::key_of(std::uint8_t caller, std::uint32_t xid) const noexcept {
  return client_ && caller != *client_ ? kCallback | xid : xid;
}

void RpcParser::handle(const UpperMessage& message) {
  if (message.operation == wire::Operation::send) return handle_send(message);
  handle_data(message);
}

void RpcParser::handle_send(const UpperMessage& message) {
  const auto header = read_transport(message.data);
  if (!header) {
    ++facts_.unreadable;
    return;
  }
  if (header->kind == Kind::done) return;
  if (header->kind == Kind::error) return handle_reply(message, *header);
  const Bytes rpc = message.data.subspan(header->length);
  const auto parsed = header->whole && header->kind != Kind::nomsg ? read_rpc(rpc) : std::nullopt;
  if (parsed) {
    if (!parsed->is_call) return handle_reply(message, *header);
    const Bytes arguments = parsed->body ? rpc.subspan(*parsed->body) : Bytes{};
    return handle_call(message, *header, *parsed, arguments);
  }
  // No header of RPC in sight: a long call has its own read chunk; otherwise, a reply has an open
  // call.
  const auto answers = static_cast<std::uint8_t>(1 - message.direction);
  const bool is_reply = header->call_bytes == 0 && table_.find(key_of(answers, header->xid));
  if (is_reply) return handle_reply(message, *header);
  handle_call(message, *header, {}, {});
}

void RpcParser::handle_call(const UpperMessage& message, const TransportHeader& header,
                            const RpcHeader& call, Bytes arguments) {
  if (!client_) client_ = facts_.client = message.direction;
  const RpcOperation operation = operation_of(call, arguments);
  const bool is_callback = message.direction != *client_;
  StorageCommand command{.direction = message.direction,
                         .operation = operation.name,
                         .id = key_of(message.direction, header.xid),
                         .bytes = operation.bytes};
  const std::uint64_t to_read = length_of(header.reads) - header.call_bytes;
  const std::uint64_t to_write = length_of(header.writes);
  if (!command.bytes && to_read + to_write > 0) command.bytes = std::max(to_read, to_write);
  std::vector<DataRegion> regions = header.reads;
  regions.insert(regions.end(), header.writes.begin(), header.writes.end());
  regions.insert(regions.end(), header.reply.begin(), header.reply.end());
  const Leg leg{.passage = message.request};
  // The credits are those of the client's calls.
  const auto limit = is_callback ? std::exchange(facts_.limit, std::nullopt) : facts_.limit;
  table_.begin(command, regions, {&leg, 1});
  facts_.limit = limit;
}

void RpcParser::handle_reply(const UpperMessage& message, const TransportHeader& header) {
  const auto caller = static_cast<std::uint8_t>(1 - message.direction);
  if (!client_) client_ = facts_.client = caller;
  Reply reply{.id = key_of(caller, header.xid), .passage = message.request};
  if (caller == *client_ && header.credits != 0) facts_.limit = header.credits;
  if (header.kind == Kind::error) {
    reply.status = big<std::uint32_t>(message.data, 16);
    reply.failed = true;
    reply.kind = static_cast<std::uint8_t>(StatusKind::transport);
    return table_.end(reply);
  }
  const Bytes rpc = message.data.subspan(header.length);
  const auto parsed = header.whole && header.kind != Kind::nomsg ? read_rpc(rpc) : std::nullopt;
  if (parsed) note_status(reply, *parsed, rpc);
  if (const auto known = long_status_.find(reply.id); known != long_status_.end()) {
    reply.status = known->second;
    reply.failed = known->second != 0;
    long_status_.erase(known);
  }
  table_.end(reply);
}

/// The data of chunks. A long call or reply begins with its own header.
void RpcParser::handle_data(const UpperMessage& message) {
  OpenCommand* const open = table_.data(message);
  if (open == nullptr || message.data.empty()) return;
  const bool holds_message = std::ranges::any_of(open->regions, [&](const DataRegion& region) {
    return region.holds_message && region.has(message);
  });
  if (!holds_message) return;
  const auto parsed = read_rpc(message.data);
  if (!parsed || parsed->xid != static_cast<std::uint32_t>(open->command.id)) return;
  if (message.operation == wire::Operation::read_request && parsed->is_call)
    return handle_long_call(*open, message.data);
  if (message.operation != wire::Operation::write || parsed->is_call || !parsed->body) return;
  const auto status = big<std::uint32_t>(message.data, *parsed->body);
  if (status && long_status_.size() < kMostUnsettled) long_status_[open->command.id] = *status;
}

void RpcParser::handle_long_call(OpenCommand& open, Bytes data) {
  const auto parsed = read_rpc(data);
  const RpcOperation operation =
      operation_of(*parsed, parsed->body ? data.subspan(*parsed->body) : Bytes{});
  open.command.operation = operation.name;
  if (operation.bytes) open.command.bytes = operation.bytes;
}

}  // namespace lw::upper::rpc
