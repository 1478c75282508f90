// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/impair/profile.h"
#include "core/error.h"
#include "impair/control/request_server.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Answers what `roce-impair ctl` asks of a run: a JSON object in, one out.
///
///   {"do":"show"}                                     the report so far, and the rules in force
///   {"do":"records"}                                  the newest records of the ledger
///   {"do":"set","rule":R,"keys":{"loss":"1%",...}}    changes keys of a rule; "" takes one away
///   {"do":"preview","rule":R,"keys":{...}}            what a set would put in force; changes
///   nothing
///   {"do":"load","file":PATH}                         another profile
///   {"do":"reset"}                                    undoes what `set` changed
///   {"do":"undo"}                                     undoes the last set, load or reset
///   {"do":"event","name":N}                           fires what the profile calls N
///   {"do":"event","flap":{...}}                       or what stands there: an at, a protection,
///                                                     a flap or an event
///   {"do":"record","file":F,"bytes":N}                records both sides to F from now on, of each
///                                                     frame N bytes at most; without N, all
///   {"do":"stop-recording"}                           ends the recording and closes its file
///
/// The answer has `ok`; where that is false, `error` and `exit`. Any thread: one request is
/// answered at a time.
class Control {
 public:
  /// What is asked of the run. Each change is put in force whole, or refused.
  struct Run {
    std::function<Result<void>(std::span<const config::Edit>)> set;
    std::function<Result<void>(const std::string& file)> load;
    std::function<Result<void>()> reset;
    std::function<Result<void>()> undo;
    std::function<Result<void>(const config::Command&)> command;
    std::function<Result<config::ImpairProfile>(std::span<const config::Edit>)> preview;
    std::function<config::ImpairProfile()> profile;  // what is in force
    std::function<Report()> snapshot;
    std::function<Result<std::vector<std::string>>()> records;  // as in the ledger, JSON each
    /// 0 bytes: all of each frame.
    std::function<Result<void>(const std::string& file, std::uint32_t bytes)> record;
    std::function<Result<CaptureReport>()> stop_recording;
  };

  explicit Control(Run run) : run_(std::move(run)) {}

  /// What a client may do: only look; change the run too, and record into the run's working folder;
  /// or record into any file.
  enum class Access : std::uint8_t { read, change, full };

  /// One line. Between two changes, `show` is answered anew every 20 ms at most.
  [[nodiscard]] SharedText answer(std::string_view request, Access access = Access::full);
  /// The answer to a request of more than `most` bytes.
  static std::string too_long(std::size_t most);

 private:
  Result<nlohmann::ordered_json> preview(const nlohmann::ordered_json& request) const;
  [[nodiscard]] Result<nlohmann::ordered_json> records() const;
  Result<void> act(const std::string& what, const nlohmann::ordered_json& request);
  [[nodiscard]] Result<nlohmann::ordered_json> record(const nlohmann::ordered_json& request,
                                                      Access access) const;
  [[nodiscard]] Result<nlohmann::ordered_json> stop_recording() const;
  Result<config::Command> read_command(const nlohmann::ordered_json& request);
  [[nodiscard]] nlohmann::ordered_json show() const;

  Run run_;
  std::mutex mutex_;  // guards the next
  RecentText shown_;
  std::uint64_t commands_ = 0;  // that had no name
};

}  // namespace lw::impair
