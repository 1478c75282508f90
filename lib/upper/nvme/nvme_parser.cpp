// SPDX-License-Identifier: BSD-3-Clause
#include "upper/nvme/nvme_parser.h"

namespace lw::upper::nvme {
namespace {

constexpr std::uint8_t kAbort = 0x08, kAsyncEvent = 0x0c, kKeepAlive = 0x18, kIdentify = 0x06;

/// Opcodes that only an admin queue has, among those that hosts send without a Connect in sight.
bool is_admin_only(std::uint8_t opcode) noexcept {
  return opcode == kKeepAlive || opcode == kIdentify || opcode == 0x0a;
}

}  // namespace

void NvmeParser::handle(const UpperMessage& message) {
  if (message.operation != wire::Operation::send) {
    if (!host_ || message.direction != *host_) table_.data(message);
    return;
  }
  const bool of_host = !host_ || message.direction == *host_;
  if (const auto capsule = of_host ? read_capsule(message.data, message.bytes) : std::nullopt) {
    host_ = message.direction;
    facts_.client = *host_;
    return handle_capsule(message, *capsule);
  }
  const bool of_target = !host_ || message.direction != *host_;
  const auto completion = of_target ? read_completion(message.data, message.bytes) : std::nullopt;
  if (!completion) {
    ++facts_.unreadable;
    return;
  }
  host_ = static_cast<std::uint8_t>(1 - message.direction);
  facts_.client = *host_;
  handle_completion(message, *completion);
}

QueueKind NvmeParser::queue_for(const Capsule& capsule) const noexcept {
  if (queue_ != QueueKind::unknown) return queue_;
  return is_admin_only(capsule.opcode) ? QueueKind::admin : QueueKind::io;
}

void NvmeParser::handle_capsule(const UpperMessage& message, const Capsule& capsule) {
  if (capsule.is_connect()) note_connect(capsule);
  if (queue_ == QueueKind::unknown && is_admin_only(capsule.opcode)) note_queue(QueueKind::admin);
  const QueueKind queue = queue_for(capsule);
  const bool is_admin = queue == QueueKind::admin && capsule.opcode != kFabrics;
  StorageCommand command{.direction = message.direction,
                         .operation = operation_name(capsule, queue),
                         .id = capsule.id,
                         .queue = queue_id_,
                         .bytes = capsule.length,
                         .waits_for_event = is_admin && capsule.opcode == kAsyncEvent,
                         .is_keep_alive = is_admin && capsule.opcode == kKeepAlive};
  if (command.is_keep_alive) note_keep_alive(command, message);
  const DataRegion region{capsule.address, capsule.length, capsule.r_key};
  const Leg leg{.passage = message.request};
  const std::size_t regions = capsule.keyed && capsule.length > 0 ? 1 : 0;
  table_.begin(command, {&region, regions}, {&leg, 1});
  if (is_admin && capsule.opcode == kAbort) ++facts_.aborts;
}

void NvmeParser::handle_completion(const UpperMessage& message, const CompletionEntry& completion) {
  if (queue_ == QueueKind::unknown && completion.queue_id != 0) {
    note_queue(QueueKind::io);
    queue_id_ = completion.queue_id;
  }
  table_.end({.id = completion.id,
              .passage = message.request,
              .status = completion.status,
              .failed = (completion.status & 0x7ff) != 0,
              .sq_head = completion.sq_head});
}

void NvmeParser::note_queue(QueueKind queue) {
  queue_ = queue;
  facts_.detail = queue == QueueKind::admin ? "admin queue" : "I/O queue";
}

void NvmeParser::note_connect(const Capsule& capsule) {
  note_queue(capsule.queue_id() == 0 ? QueueKind::admin : QueueKind::io);
  queue_id_ = capsule.queue_id();
  facts_.limit = capsule.queue_size();  // one entry of a ring stays free
  if (queue_ == QueueKind::admin && capsule.keep_alive_ms() != 0)
    facts_.keep_alive = std::chrono::milliseconds(capsule.keep_alive_ms());
}

/// A target ends the association when nothing comes within the timeout: commands of all its queues
/// count, where it says so. (Base specification 2.0, 3.9.4.1)
void NvmeParser::note_keep_alive(StorageCommand& command, const UpperMessage& message) {
  ++facts_.keep_alives;
  const auto silence = table_.silence_before(message.request->delivered);
  command.is_late = silence && facts_.keep_alive && *silence > *facts_.keep_alive;
}

}  // namespace lw::upper::nvme
