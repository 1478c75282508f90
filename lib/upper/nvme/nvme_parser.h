// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "upper/nvme/nvme.h"
#include "upper/parser.h"

namespace lw::upper::nvme {

/// Reads the capsules of one queue: an NVMe over RDMA connection carries one queue.
class NvmeParser final : public Parser {
 public:
  NvmeParser(UpperFacts& facts, CommandTable& table) : facts_(facts), table_(table) {}
  void handle(const UpperMessage& message) override;

 private:
  void handle_capsule(const UpperMessage& message, const Capsule& capsule);
  void handle_completion(const UpperMessage& message, const CompletionEntry& completion);
  void note_connect(const Capsule& capsule);
  void note_queue(QueueKind queue);
  void note_keep_alive(StorageCommand& command, const UpperMessage& message);
  [[nodiscard]] QueueKind queue_for(const Capsule& capsule) const noexcept;

  UpperFacts& facts_;
  CommandTable& table_;
  std::optional<std::uint8_t> host_;  // the direction of the host's requests
  QueueKind queue_ = QueueKind::unknown;
  std::optional<std::uint16_t> queue_id_;
};

}  // namespace lw::upper::nvme
