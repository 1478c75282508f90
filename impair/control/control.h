// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
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
#include "impair/control/answer.h"
#include "impair/control/live_profile.h"
#include "impair/control/recent_text.h"
#include "impair/record/recording.h"

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
///   load and event: "begin_ns": when the scenario or the event begins, by CLOCK_MONOTONIC
///   {"do":"record","file":F}                          records both sides to F from now on; also
///                                                     "bytes": most bytes of a frame, "rotate":
///                                                     most bytes of one of several files, "ring":
///                                                     how many of these are kept, the last ones
///   {"do":"stop-recording"}                           ends the recording and closes its file
///
/// One change is in force before the next one is looked at; the answer to it has its number
/// (`change`). The answer has `ok`. If it is false, the answer also has `error` and `exit`. Any
/// thread. No request waits for another, but for the report that both show, and a recording for the
/// one before.
class Control {
 public:
  /// Functions of the run that requests use. A change takes effect completely, or is refused. `by`:
  /// the client, for the change log.
  struct Run {
    using By = const std::string&;
    std::function<Result<void>(std::span<const config::Edit>, By by)> set;
    std::function<Result<void>(const config::FileName& file, By by, Instant begin)> load;
    std::function<Result<void>(By by)> reset;
    std::function<Result<void>(By by)> undo;
    std::function<Result<void>(const config::ControlCommand&, By by, Instant begin)> command;
    std::function<Result<Preview>(std::span<const config::Edit>)> preview;
    std::function<InForce()> in_force;
    std::function<Report()> snapshot;
    std::function<Result<std::vector<std::string>>()> records;  // JSON, as in the ledger
    std::function<Result<void>(const std::string& file, const RecordingShape&)> record;
    std::function<Result<CaptureReport>()> stop_recording;
  };

  /// `remote`: the files that clients without full access may name; must outlive the run's profile.
  explicit Control(Run run, const config::ClientFiles& remote = kNoFiles)
      : run_(std::move(run)), remote_(&remote) {}

  /// Rights of a client. `read`: see the run. `change`: also change it, and record into its working
  /// folder. `full`: also record into any file, and name any file in a profile.
  enum class Access : std::uint8_t { read, change, full };

  /// Returns the answer, one line, to a request of `by`, as Run has it. Answers to `show` are
  /// reused for 20 ms, unless a change is requested.
  [[nodiscard]] SharedText answer(std::string_view request, Access access = Access::full,
                                  const std::string& by = "control");
  /// Returns the answer to a request of more than `most` bytes.
  static std::string too_long(std::size_t most);

 private:
  static const config::ClientFiles kNoFiles;

  /// A request, the files that its client may name (null: any), and the client.
  struct Request {
    const nlohmann::ordered_json& json;
    const config::ClientFiles* only;
    const std::string& by;
  };
  SharedText show();
  Result<Answer> preview(const Request& request) const;
  [[nodiscard]] Result<Answer> records() const;
  Result<Answer> change(const std::string& what, const Request& request);
  Result<void> act(const std::string& what, const Request& request);
  Result<Answer> record(const Request& request);
  Result<Answer> stop_recording();
  Result<config::ControlCommand> read_command(const Request& request);
  [[nodiscard]] Answer shown() const;

  Run run_;
  const config::ClientFiles* remote_;
  std::mutex changing_;  // held from the start of a change or recording until it is in force
  std::mutex show_;      // guards the next
  RecentText shown_;
  std::atomic<std::uint64_t> commands_ = 0;  // number of commands without a name
};

}  // namespace lw::impair
