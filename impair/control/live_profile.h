// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/impair/profile.h"
#include "config/impair/profile_source.h"
#include "core/error.h"
#include "impair/datapath/more_room.h"

namespace lw::impair {

/// A profile that a change would put in force.
struct Preview {
  config::ImpairProfile profile;
  std::optional<RoomReport> room = {};  // that the change would need
};

/// The profile in force after a number of changes of a run: changes and commands of clients, and
/// steps of the scenario and of commands, in the order in which they took effect.
struct InForce {
  std::uint64_t changes = 0;
  config::ImpairProfile profile;
  std::optional<RoomReport> room = {};  // that the last change of a client needed
};

/// The profile of a run, and its changes during the run. A change makes a complete new version,
/// which is read and validated as at the start. If it is invalid, nothing changes. A copy takes
/// little time: versions are shared and immutable. One thread per copy.
///
/// Memory is sized when the run starts. A version with longer delays than fit needs more, which the
/// caller makes before keep(), or is refused where it cannot grow; larger frames are refused.
/// Random draws keep the seed of the start.
class LiveProfile {
 public:
  struct Version {
    config::ImpairProfile profile;
    std::shared_ptr<const config::ProfileSource> source;
    std::vector<config::Edit> edits = {};  // of the scenario, of --set, and on request
  };

  /// Reads the profile of a run. `seed` replaces the profile's. `changes` are those of --set, which
  /// unedited() keeps.
  static Result<Version> load(const config::ProfileText& text, std::optional<std::uint64_t> seed,
                              std::span<const std::string> changes = {});
  /// Reads a profile from a text; `name` is its name in messages. `stop` ends this with an error.
  static Result<Version> parse(std::string_view text, config::FileName name,
                               std::vector<config::Edit> edits = {},
                               const std::stop_token& stop = {});

  /// Keeps all of `started` but its scenario. `grows`: the run can get more memory.
  explicit LiveProfile(Version started, bool grows = true);

  /// Version with more edits. Like the following functions, it changes nothing: call keep() once
  /// the version is in force. Errors: the profile is invalid, or needs more room than the run has.
  /// No version but that of loaded() has a scenario, or checks its steps again.
  [[nodiscard]] Result<Version> with(std::span<const config::Edit> edits) const;
  /// Version read from another file, without edits.
  [[nodiscard]] Result<Version> loaded(const config::FileName& file,
                                       const std::stop_token& stop = {}) const;
  /// Version without the edits on request. The edits of the scenario and of --set stay.
  [[nodiscard]] Result<Version> unedited() const;
  /// State to which back_to() returns. back_to() takes the edits on request from `point`, and keeps
  /// the present edits of the scenario, unless another profile was loaded since.
  struct Point {
    std::shared_ptr<const config::ProfileSource> source;
    std::vector<config::Edit> edits;
  };
  [[nodiscard]] Point point() const { return {now_->source, now_->edits}; }
  /// Version of the time of `point`; see Point.
  [[nodiscard]] Result<Version> back_to(const Point& point) const;
  /// Version with the edits of a step, of the scenario or of a command.
  [[nodiscard]] Result<Version> stepped(const config::ScenarioStep& step) const {
    return with(step.edits);
  }
  /// The steps of a command, and how many frames then wait in each direction at most.
  struct Steps {
    std::vector<config::ScenarioStep> all;
    std::uint64_t frames = 0;
  };
  /// Returns the steps of a command that begins now; `stop` ends this with an error.
  [[nodiscard]] Result<Steps> on_command(const config::ControlCommand& command,
                                         const std::stop_token& stop = {}) const;
  /// Returns what differs between the present version and `next`; first the file's name.
  [[nodiscard]] std::vector<config::KeyChange> differences(const Version& next) const;
  /// Frames that can wait in each direction of the run, and what they are like.
  [[nodiscard]] std::uint64_t room() const noexcept { return started_.frames_per_direction; }
  [[nodiscard]] const config::Capacity& capacity() const noexcept { return started_.capacity; }
  /// The run has room for more frames from now on.
  void set_room(std::uint64_t frames) noexcept { started_.frames_per_direction = frames; }
  /// Makes `version` the present one.
  void keep(Version version) { now_ = std::make_shared<const Version>(std::move(version)); }

  [[nodiscard]] const Version& now() const noexcept { return *now_; }
  /// now(), which stays valid after keep().
  [[nodiscard]] std::shared_ptr<const Version> shared() const noexcept { return now_; }

 private:
  /// What the run has allocated, and what its changes keep.
  struct Started {
    config::Capacity capacity;
    std::uint64_t seed = 0;
    bool log_all = false;
    std::uint64_t frames_per_direction = 0;
    Duration longest_delay{};
    bool grows = true;
  };
  [[nodiscard]] Result<Version> read(std::shared_ptr<const config::ProfileSource> source,
                                     std::vector<config::Edit> edits,
                                     config::Diagnostics::Texts texts) const;
  [[nodiscard]] Result<Version> fitted(Version version) const;
  [[nodiscard]] Result<void> check_fits(const config::ImpairProfile& next) const;
  [[nodiscard]] Result<void> check_room(const config::ImpairProfile& next) const;

  Started started_;
  std::shared_ptr<const Version> now_;
};

}  // namespace lw::impair
