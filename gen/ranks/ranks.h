// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace lw::gen {

struct MpiModule;

/// The processes that mpirun started together, on one or more machines, or this process alone.
/// Ranks send each other messages; messages from one rank to another arrive in order. One object
/// per process; main thread only.
class Ranks {
 public:
  struct Message {
    int from = 0, kind = 0;  // kind: the sender's, 0 or more
    std::string text;
  };

  /// Joins the other ranks if mpirun started this process. Errors (environment): mpirun started it,
  /// but the module for Open MPI is not installed.
  static Result<Ranks> join();
  /// True if mpirun started this process.
  static bool expected() noexcept;
  /// Waits until all ranks have reached this point, unless they were abandoned.
  ~Ranks();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool leads() const noexcept { return rank_ == 0; }
  /// Sends a message, of less than 2 GiB, to another rank. May wait until the receiver polls.
  void send(int to, int kind, const std::string& text);
  /// Returns the next message if one has arrived.
  std::optional<Message> poll();
  /// Stops using the other ranks, without waiting for them at the end: one is dead. mpirun then
  /// ends those that still run.
  void abandon() noexcept { module_ = nullptr; }

 private:
  Ranks(const MpiModule* module, int rank, int size) : module_(module), rank_(rank), size_(size) {}
  const MpiModule* module_;  // null: this process alone
  int rank_, size_;
};

}  // namespace lw::gen
