// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "upper/command.h"
#include "upper/message.h"

namespace lw::upper {

/// Memory that a command names for its data.
struct DataRegion {
  std::uint64_t va = 0, length = 0;
  std::uint32_t r_key = 0;
  bool holds_message = false;  // a call or reply is in it, and its header first

  /// Whether a WRITE or READ begins within it.
  [[nodiscard]] bool has(const UpperMessage& message) const noexcept {
    return r_key == message.r_key && message.va >= va &&
           message.va - va < std::max<std::uint64_t>(length, 1);
  }
};

/// One passage of a command's messages, from one side to the other.
struct Leg {
  bool from_target = false;
  bool waited_for_credit = false;  // its sender had none before it
  bool is_reply = false;
  PassagePtr passage;
};

/// A command that has begun.
struct OpenCommand {
  StorageCommand command;
  std::vector<Leg> legs;
  std::vector<DataRegion> regions;
  std::uint64_t serial = 0;  // in the order of begin
};

/// What ends a command.
struct Reply {
  std::uint64_t id = 0;
  PassagePtr passage;
  std::optional<std::uint32_t> status = {};
  bool failed = false;
  std::uint8_t kind = 0;
  std::optional<std::uint16_t> sq_head = {};
};

/// The open commands of all connections together.
struct CommandBudget {
  std::size_t open = 0;
};

/// The commands of one connection: matches begin, data and end, and gives each command with the
/// parts of its latency when nothing can change them any more. No clock, no I/O.
class CommandTable {
 public:
  using Take = std::function<void(const StorageCommand&)>;

  CommandTable(UpperFacts& facts, CommandBudget& budget, Take take)
      : facts_(facts), budget_(budget), take_(std::move(take)) {}
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  /// Begins a command with the message that asks for it. A command with the same identifier that
  /// is still open ends without completion. Returns the new one, valid until the next call.
  OpenCommand& begin(StorageCommand command, std::vector<DataRegion> regions,
                     std::vector<Leg> legs);
  /// Ends a command. Its begin may come later, where its packets had to wait.
  void end(const Reply& reply);
  /// Data: a WRITE or READ of the target. Returns the command whose memory it uses; null: none.
  OpenCommand* data(const UpperMessage& message);
  /// The open command with this identifier; null: none.
  [[nodiscard]] OpenCommand* find(std::uint64_t id);
  /// A further message of a command.
  void add_leg(OpenCommand& open, Leg leg);
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return static_cast<std::uint32_t>(open_.size());
  }
  void finish();

 private:
  void close(OpenCommand& open, const Reply& reply);
  void give_up(std::uint64_t id);
  void finalize(OpenCommand& open);
  void finalize_old();
  void forget_regions(const OpenCommand& open);

  UpperFacts& facts_;
  CommandBudget& budget_;
  Take take_;
  std::unordered_map<std::uint64_t, OpenCommand> open_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> by_key_;  // R_Key: identifiers
  std::map<std::uint64_t, std::uint64_t> by_serial_;                      // identifiers
  std::deque<OpenCommand> ended_;  // their times may still change
  std::deque<Reply> early_;        // replies to commands that have not begun yet
  std::uint64_t serial_ = 0;
};

}  // namespace lw::upper
