// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/error.h"
#include "gen/otg/reply.h"
#include "net/socket.h"

namespace lw::gen::otg {

/// A folder for files of this user, under TMPDIR or /tmp. It is removed with the object.
class PrivateFolder {
 public:
  /// Error (environment): the system creates none.
  static Result<PrivateFolder> create();
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  PrivateFolder& operator=(PrivateFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Runs configurations, one at a time, in a process each: DPDK's environment exists once per
/// process. The processes are copies of the program as it was at start(), without its threads, and
/// end with it. Any thread may ask.
class EngineProcess {
 public:
  /// Call it before the program has threads. `folder`: for captures; it outlives the object. Error
  /// (environment): the system starts no process.
  static Result<EngineProcess> start(const std::string& folder);

  EngineProcess(EngineProcess&& other) noexcept : maker_(std::move(other.maker_)) {}
  EngineProcess& operator=(EngineProcess&&) = delete;

  /// Ends the process that runs, and starts one with this configuration. Returns its answer.
  Answer configure(const nlohmann::ordered_json& config);
  /// Ends the process that runs; there is no configuration then.
  void clear();
  /// Returns the process's answer to a request.
  Answer ask(const std::string& path, const nlohmann::ordered_json& body);

 private:
  explicit EngineProcess(net::Socket maker) : maker_(std::move(maker)) {}
  Result<net::Socket> make();
  Answer ask_engine(const std::string& path, const nlohmann::ordered_json& body);
  bool end();

  net::Socket maker_;  // of the process that starts the others
  std::mutex mutex_;
  std::optional<net::Socket> engine_;
};

}  // namespace lw::gen::otg
