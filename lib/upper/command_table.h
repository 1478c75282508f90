// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
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

/// A command that has begun. Its memory is used again for later ones.
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

/// What the commands of all connections share.
struct SharedCommands {
  std::size_t open = 0;
  std::optional<Instant> newest = {};  // when the last message that begins or ends one passed
  std::vector<std::unique_ptr<OpenCommand>> spare = {};  // their memory is used again
};

/// The commands of one connection: matches begin, data and end, and gives each command with the
/// parts of its latency when nothing can change them any more. No clock, no I/O.
class CommandTable {
 public:
  using OnCommand = std::function<void(const StorageCommand&)>;

  CommandTable(UpperFacts& facts, SharedCommands& shared, OnCommand on_command)
      : facts_(facts), shared_(shared), on_command_(std::move(on_command)) {}
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  /// Begins a command with the passages of the message that asks for it: at least one. A command
  /// with the same identifier that is still open ends without completion.
  void begin(const StorageCommand& command, std::span<const DataRegion> regions,
             std::span<const Leg> legs);
  /// Ends a command. Its begin may come later, where its packets had to wait.
  void end(const Reply& reply);
  /// Data: a WRITE or READ of the target. Returns the command whose memory it uses; null: none.
  OpenCommand* data(const UpperMessage& message);
  /// The open command with this identifier; null: none.
  [[nodiscard]] OpenCommand* find(std::uint64_t id);
  /// How long no command of any connection began or ended before a moment; nothing: none did
  /// before.
  [[nodiscard]] std::optional<Duration> silence_before(Instant now) const noexcept;
  /// A further message of a command.
  void add_leg(OpenCommand& open, Leg leg);
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return static_cast<std::uint32_t>(open_.size());
  }
  void finish();

 private:
  using OpenPtr = std::unique_ptr<OpenCommand>;
  using ById = std::unordered_map<std::uint64_t, OpenPtr>;

  OpenPtr make(const StorageCommand& command, std::span<const DataRegion> regions,
               std::span<const Leg> legs);
  void note_depth(StorageCommand& command);
  void note_exhausted(Instant now);
  void note_failure(const StorageCommand& command);
  [[nodiscard]] bool is_missed(const StorageCommand& command) const noexcept;
  void end_early(OpenCommand& open);
  OpenPtr remove(ById::iterator known);
  void close(ById::iterator known, const Reply& reply);
  void give_up(ById::iterator known);
  void give_up_oldest();
  void forget_closed();
  void finalize(OpenPtr open);
  void finalize_old();
  void forget_regions(const OpenCommand& open);

  UpperFacts& facts_;
  SharedCommands& shared_;
  OnCommand on_command_;
  ById open_;
  std::unordered_multimap<std::uint32_t, OpenCommand*> by_key_;  // by R_Key of their regions
  std::deque<std::pair<std::uint64_t, std::uint64_t>> begun_;    // serial and identifier, in order
  std::deque<OpenPtr> ended_;                                    // their times may still change
  std::deque<Reply> early_;  // replies to commands that have not begun yet
  std::uint64_t serial_ = 0;
  std::optional<Instant> exhausted_since_;  // all credits have been in use
};

}  // namespace lw::upper
