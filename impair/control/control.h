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
#include "impair/control/recent_text.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Answers the requests of `roce-impair ctl` to a run. Request and answer are one JSON object each.
///
///   {"do":"show"}                                     the report so far, and the rules in force
///   {"do":"records"}                                  the newest records of the ledger
///   {"do":"set","rule":R,"keys":{"loss":"1%",...}}    changes keys of a rule; "" removes a key
///   {"do":"preview","rule":R,"keys":{...}}            what a set would put in force; no change
///   {"do":"load","file":PATH}                         loads another profile
///   {"do":"reset"}                                    undoes what `set` changed
///   {"do":"undo"}                                     undoes the last set, load or reset
///   {"do":"event","name":N}                           fires the item N of the profile
///   {"do":"event","flap":{...}}                       fires the item given here: an at, a
///                                                     protection, a flap or an event
///   {"do":"record","file":F,"bytes":N}                records both sides to F from now on, at most
///                                                     N bytes of each frame; without N, all
///   {"do":"stop-recording"}                           ends the recording and closes its file
///
/// The answer has `ok`. If it is false, the answer also has `error` and `exit`. Any thread:
/// requests are answered one after another.
class Control {
 public:
  /// Functions of the run that requests use. A change takes effect completely, or is refused.
  struct Run {
    std::function<Result<void>(std::span<const config::Edit>)> set;
    std::function<Result<void>(const std::string& file)> load;
    std::function<Result<void>()> reset;
    std::function<Result<void>()> undo;
    std::function<Result<void>(const config::Command&)> command;
    std::function<Result<config::ImpairProfile>(std::span<const config::Edit>)> preview;
    std::function<config::ImpairProfile()> profile;  // the profile in force
    std::function<Report()> snapshot;
    std::function<Result<std::vector<std::string>>()> records;  // JSON, as in the ledger
    /// 0 bytes: all of each frame.
    std::function<Result<void>(const std::string& file, std::uint32_t bytes)> record;
    std::function<Result<CaptureReport>()> stop_recording;
  };

  explicit Control(Run run) : run_(std::move(run)) {}

  /// Rights of a client. `read`: see the run. `change`: also change it, and record into its working
  /// folder. `full`: also record into any file.
  enum class Access : std::uint8_t { read, change, full };

  /// Returns the answer, one line. Answers to `show` are reused for 20 ms, unless a change is
  /// requested.
  [[nodiscard]] SharedText answer(std::string_view request, Access access = Access::full);
  /// Returns the answer to a request of more than `most` bytes.
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
  std::uint64_t commands_ = 0;  // number of commands without a name
};

}  // namespace lw::impair
