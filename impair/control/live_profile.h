// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/impair/profile.h"
#include "core/error.h"

namespace lw::impair {

/// The profile of a run, and its changes during the run. A change makes a complete new version,
/// which is read and validated as at the start. If it is invalid, nothing changes. One thread.
///
/// Buffers are sized when the run starts: a version that needs more (longer delays, larger frames)
/// is refused. Random draws keep the seed of the start.
class LiveProfile {
 public:
  struct Version {
    config::ImpairProfile profile;
    std::string text, name;                // text and name of the profile
    std::vector<config::Edit> edits = {};  // of the scenario, of --set, and on request
  };

  /// Reads a profile from a file; "-" is standard input. `seed` replaces the profile's. `changes`
  /// are those of --set, which unedited() keeps.
  static Result<Version> load(const std::string& file, std::optional<std::uint64_t> seed,
                              std::span<const std::string> changes = {});

  explicit LiveProfile(Version started) : started_(started.profile), now_(std::move(started)) {}

  /// Version with more edits. Like the following functions, it changes nothing: call keep() once
  /// the version is in force. Errors: the profile is invalid, or needs more room than the run has.
  [[nodiscard]] Result<Version> with(std::span<const config::Edit> edits) const;
  /// Version read from another file, without edits.
  [[nodiscard]] Result<Version> loaded(const std::string& file) const;
  /// Version without the edits on request. The edits of the scenario and of --set stay.
  [[nodiscard]] Result<Version> unedited() const;
  /// State to which back_to() returns. back_to() takes the edits on request from `point`, and keeps
  /// the present edits of the scenario, unless another profile was loaded since.
  struct Point {
    std::string text, name;
    std::vector<config::Edit> edits;
  };
  [[nodiscard]] Point point() const;
  /// Version of the time of `point`; see Point.
  [[nodiscard]] Result<Version> back_to(const Point& point) const;
  /// Version with the edits of a step, of the scenario or of a command. Does not validate the
  /// scenario again.
  [[nodiscard]] Result<Version> stepped(const config::ScenarioStep& step) const;
  /// Returns the steps of a command that begins now.
  [[nodiscard]] Result<std::vector<config::ScenarioStep>> on_command(
      const config::Command& command) const;
  /// Makes `version` the present one.
  void keep(Version version) { now_ = std::move(version); }

  [[nodiscard]] const Version& now() const noexcept { return now_; }

 private:
  [[nodiscard]] Result<Version> read(Version version) const;
  [[nodiscard]] Result<Version> finish(Version version,
                                       Result<config::ImpairProfile> profile) const;

  config::ImpairProfile started_;
  Version now_;
};

}  // namespace lw::impair
