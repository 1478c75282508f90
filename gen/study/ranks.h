// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace lw::gen::experiment {

/// The processes that mpirun started together, on one or many machines, or this process alone.
/// They pass each other messages, which arrive in the order in which one rank sent them to another.
/// One object in a process; main thread only. ranks.cpp is the only file that knows MPI.
class Ranks {
 public:
  struct Message {
    int from = 0, kind = 0;  // kind: the sender's, 0 or more
    std::string text;
  };

  /// Joins the others if mpirun started this process. Errors (environment): mpirun did, but the
  /// program was built without Open MPI.
  static Result<Ranks> join();
  /// Waits until all ranks are here.
  ~Ranks();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool leads() const noexcept { return rank_ == 0; }
  /// May wait until the receiver polls.
  void send(int to, int kind, const std::string& text);
  /// The next message, if one has arrived.
  std::optional<Message> poll();

 private:
  Ranks(bool joined, int rank, int size) : joined_(joined), rank_(rank), size_(size) {}
  bool joined_;  // to be left at the end
  int rank_, size_;
};

}  // namespace lw::gen::experiment
